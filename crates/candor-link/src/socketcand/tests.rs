use candor_core::arbitrary::{any_frame, wire_frame};
use candor_core::frame::{FrameFormat, RawId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{Cannot, Clock, invariants};

fn read(text: &str) -> Result<Message, String> {
    let (mut items, error) = invariants::decode::<Messages>(&[text.as_bytes()]);
    match (items.pop(), error) {
        (Some(item), None) if items.is_empty() => item.message.map_err(|error| error.to_string()),
        (None, Some(error)) => Err(format!("ends: {error}")),
        other => panic!("{text}: {other:?}"),
    }
}

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

const fn stamp(ns: u64) -> Stamp {
    Stamp { ns, clock: Clock::Realtime }
}

/// The examples of doc/protocol.md in socketcand.
#[test]
fn examples_of_the_specification_are_read() {
    assert_eq!(read("< hi >"), Ok(Message::Hi));
    assert_eq!(read("< open can0 >"), Ok(Message::Open("can0".to_owned())));
    assert_eq!(read("< send 123 0 >"), Ok(Message::Send(frame("123#"))));
    assert_eq!(read("< send 1AAAAAAA 2 1 f1 >"), Ok(Message::Send(frame("1AAAAAAA#01F1"))));
    let stamped = Message::Frame { frame: frame("123#1A220344"), stamp: stamp(23_424_242_000) };
    assert_eq!(read("< frame 123 23.424242 1A220344 >"), Ok(stamped));
    assert_eq!(read("< rawmode >"), Ok(Message::RawMode));
    assert_eq!(read("< echo >"), Ok(Message::Echo));
    assert_eq!(read("< bcmmode >"), Ok(Message::Other("bcmmode".to_owned())));
    assert_eq!(read("< add 1 0 123 8 11 22 33 44 55 66 77 88 >"), Ok(Message::Other("add".to_owned())));
}

#[test]
fn messages_of_the_program_are_read() {
    // A frame without data, as its printf writes it.
    let empty = Message::Frame { frame: frame("00000123#"), stamp: stamp(1_700_000_000_000_001_000) };
    assert_eq!(read("< frame 00000123 1700000000.000001  >"), Ok(empty));
    let of_driver = Message::ErrorMessage { class: 0x204, stamp: stamp(5_000_007_000) };
    assert_eq!(read("< error 204 5.000007 >"), Ok(of_driver));
    assert_eq!(read("< error unknown command >"), Ok(Message::Error("unknown command".to_owned())));
    assert_eq!(read(" \n< error configuring interface can0 > \n"), {
        Ok(Message::Error("configuring interface can0".to_owned()))
    });
    assert_eq!(read("<open can0>"), Ok(Message::Open("can0".to_owned())));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let wrong = |text, says: &str| assert_eq!(read(text), Err(says.to_owned()), "{text}");
    let range = "at most 7FF with 11 bits and 1FFFFFFF with 29 bits are possible";
    wrong("< send 800 0 >", &format!("byte 7: identifier 800; {range}"));
    wrong("< send 20000000 0 >", &format!("byte 7: identifier 20000000; {range}"));
    let digits = "an identifier must have 1 to 3 (11 bits) or 8 (29 bits) hexadecimal digits";
    wrong("< send 1234 0 >", &format!("byte 7: {digits}"));
    wrong("< send +12 0 >", &format!("byte 7: {digits}"));
    wrong("< send 123 9 >", "byte 11: a length that is not a decimal number from 0 to 8");
    wrong("< send 123 +1 1 >", "byte 11: a length that is not a decimal number from 0 to 8");
    wrong("< send 123 2 11 >", "byte 11: 1 data bytes; the length is 2");
    wrong("< send 123 1 111 >", "byte 13: a data byte that is not a number of one or two hexadecimal digits");
    wrong("< send 123 >", "byte 2: 1 words; 2 are needed");
    wrong("< frame 123 x 11 >", "byte 12: a stamp that is not seconds below 2^34 with up to nine decimals");
    wrong("< frame 123 1.0 111 >", "byte 18: a data byte that is not a number of one or two hexadecimal digits");
    wrong("< frame 123 1.0 112233445566778899 >", "byte 16: 9 data bytes; the length is 8");
    wrong("< hi there >", "byte 2: 1 words; at most 0 are possible");
    wrong("< open 1234567890123456 >", "byte 7: a bus name of 16 bytes; 1 to 15 are possible");
}

#[test]
fn what_is_not_a_message_ends_the_connection() {
    let wrong = |text: &str, says: &str| assert_eq!(read(text), Err(format!("ends: {says}")), "{text}");
    wrong("hi >", "byte 0: 0x68 between messages, which start with <");
    wrong("< h\u{7} >", "byte 3: 0x07 in a text; printable ASCII characters without < and > are possible");
    wrong("< < >", "byte 2: 0x3c in a text; printable ASCII characters without < and > are possible");
    wrong(&format!("< {}", "x".repeat(255)), "byte 256: a message of more than 256 bytes");
    let longest = format!("< {} >", "x".repeat(252));
    assert_eq!(longest.len(), MAX_MESSAGE_BYTES);
    assert!(matches!(read(&longest), Ok(Message::Other(_))));
}

#[test]
fn only_classic_data_frames_are_written() {
    let refused = |text: &str| write_send(&frame(text), &mut Vec::new()).unwrap_err();
    assert_eq!(refused("123##111"), Cannot::Fd);
    assert_eq!(refused("123#R2"), Cannot::Remote);
    assert_eq!(refused("20000004#0000000000000000"), Cannot::ErrorMessage);
    assert_eq!(refused("123#1122334455667788_9"), Cannot::RawDlc);
    let mut bytes = Vec::new();
    write_send(&frame("123#0A"), &mut bytes).unwrap();
    write_frame(&frame("00000123#0AFF"), Some(stamp(1_000_002_999)), &mut bytes).unwrap();
    assert_eq!(bytes, b"< send 123 1 a >< frame 00000123 1.000002 0AFF >");
}

/// A message as split and parsed by the standard library, and frames by the reader of candor-core. `None` if it is wrong.
fn oracle(inside: &str) -> Option<Message> {
    let words: Vec<&str> = inside.split_ascii_whitespace().collect();
    let frame = |id: &str, data: String| -> Option<Frame> {
        let has_digits = matches!(id.len(), 1..=3 | 8) && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        let text = format!("{id:0>3}#{data}");
        text.parse::<Frame>()
            .ok()
            .filter(|frame| has_digits && frame.id.carries_data() && !data.contains(['R', '_', '#']))
    };
    let seconds = |text: &str| -> Option<Stamp> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.chars().all(|one| one.is_ascii_digit());
        (digits(whole) && digits(part) && part.len() < 10).then_some(())?;
        let whole: u64 = whole.parse().ok().filter(|whole| *whole < 1 << 34)?;
        Some(stamp(whole * 1_000_000_000 + format!("{part:0<9}").parse::<u64>().unwrap()))
    };
    let error = || Message::Error(inside.replacen("error", "", 1).trim().to_owned());
    match words[..] {
        ["hi"] => Some(Message::Hi),
        ["ok"] => Some(Message::Ok),
        ["echo"] => Some(Message::Echo),
        ["rawmode"] => Some(Message::RawMode),
        ["open", bus] if bus.len() <= 15 => Some(Message::Open(bus.to_owned())),
        ["send", id, length, ref data @ ..] => {
            let is_number = length.chars().all(|digit| digit.is_ascii_digit());
            let length = length.parse::<usize>().ok().filter(|_| is_number)?;
            let is_possible = data.len() == length && data.iter().all(|byte| matches!(byte.len(), 1 | 2));
            let data: String = data.iter().map(|byte| format!("{byte:0>2}")).collect();
            frame(id, data).filter(|_| is_possible).map(Message::Send)
        }
        ["frame", id, time, ref data @ ..] if data.len() < 2 => {
            let frame = frame(id, data.concat())?;
            Some(Message::Frame { frame, stamp: seconds(time)? })
        }
        ["error", class, time] if time.contains('.') && seconds(time).is_some() => {
            let is_hex = class.bytes().all(|digit| digit.is_ascii_hexdigit());
            match u32::from_str_radix(class, 16) {
                Ok(class) if is_hex && class < 1 << 29 => {
                    Some(Message::ErrorMessage { class, stamp: seconds(time).unwrap() })
                }
                _ => Some(error()),
            }
        }
        ["error", ..] => Some(error()),
        ["hi" | "ok" | "echo" | "rawmode" | "open" | "send" | "frame", ..] => None,
        [] => Some(Message::Other(String::new())),
        [command, ..] => Some(Message::Other(command.to_owned())),
    }
}

/// Messages that are nearly right.
fn texts() -> impl Strategy<Value = String> {
    let command = select(["hi", "ok", "open", "send", "frame", "error", "echo", "rawmode", "bcmmode", ""].as_slice());
    let number = select(
        ["0", "1", "2", "8", "9", "12", "1F", "123", "7ff", "800", "1234", "12345678", "1FFFFFFF", "20000000"]
            .as_slice(),
    );
    let odd = select(
        ["can0", "1.5", "0.000001", "17179869183.999999", "1122", "112", "g1", "+1", "-1", "R", "1_9"].as_slice(),
    );
    let word = prop_oneof![4 => number, 2 => odd];
    (command, vec((word, select([" ", "  "].as_slice())), 0..12)).prop_map(|(command, words)| {
        let rest: Vec<String> = words.iter().map(|(word, space)| format!("{word}{space}")).collect();
        format!("{command} {}", rest.concat())
    })
}

proptest! {
    #[test]
    fn frames_come_back(one in prop_oneof![wire_frame(), any_frame()], us in 0..1_u64 << 44) {
        let stamp = stamp(us * 1000);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let written = write_send(&one, &mut sent);
        prop_assert_eq!(written, write_frame(&one, Some(stamp), &mut received));
        if written.is_err() {
            prop_assert!(sent.is_empty() && received.is_empty());
            return Ok(());
        }
        prop_assert_eq!(one.format, FrameFormat::Classic);
        let frame = Frame::classic(RawId(one.id.0), one.payload()).unwrap();
        let read = |bytes: &[u8]| read(std::str::from_utf8(bytes).unwrap());
        prop_assert_eq!(read(&sent), Ok(Message::Send(frame)));
        prop_assert_eq!(read(&received), Ok(Message::Frame { frame, stamp }));
    }

    #[test]
    fn messages_mean_what_the_oracle_says(texts in vec(texts(), 1..6)) {
        let stream: String = texts.iter().map(|text| format!("< {text} >\n")).collect();
        let (items, error) = invariants::decode::<Messages>(&[stream.as_bytes()]);
        prop_assert_eq!(error, None);
        prop_assert_eq!(items.len(), texts.len());
        for (item, text) in items.iter().zip(&texts) {
            prop_assert_eq!(item.message.clone().ok(), oracle(text), "{}", text);
        }
    }

    #[test]
    fn anything_is_survived(bytes in vec(any::<u8>(), 0..300)) {
        invariants::check_socketcand(&bytes);
    }

    #[test]
    fn nearly_right_messages_are_survived(texts in vec(texts(), 1..20)) {
        let stream: String = texts.iter().map(|text| format!("< {text} >")).collect();
        invariants::check_socketcand(stream.as_bytes());
    }
}
