use std::io::Cursor;

use candor_core::arbitrary;
use candor_core::frame::Frame;
use proptest::prelude::*;

use super::*;
use crate::invariants::Shared;
use crate::{Buses, Clock, Direction, Format, ReadRecords as _, Record, Sink};

fn read_all(bytes: &[u8]) -> (Vec<(String, Record)>, Result<(), String>) {
    let mut reader = Reader::new(Cursor::new(bytes));
    let (mut records, mut record) = (Vec::new(), Record::EMPTY);
    loop {
        match reader.read(&mut record) {
            Ok(true) => records.push((reader.buses().name(record.bus).to_owned(), record)),
            Ok(false) => return (records, Ok(())),
            Err(error) => return (records, Err(error.to_string())),
        }
    }
}

fn frames(texts: &[&str]) -> Vec<Frame> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// A section with two interfaces and a packet for each frame, in turn.
fn capture(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    section(&mut bytes);
    interface(&mut bytes, "can0", None, "");
    interface(&mut bytes, "body", Some(125_000), "");
    for (at, frame) in (0..).zip(frames) {
        let direction = [None, Some(Direction::Received), Some(Direction::Sent)][at as usize % 3];
        packet_block(&mut bytes, at % 2, 1_700_000_000_000_000_000 + u64::from(at), frame, direction, "");
    }
    bytes
}

#[test]
fn packets_have_the_layout_of_the_specification() {
    let mut bytes = Vec::new();
    for frame in frames(&["123#112233", "12345678##5112233", "123#R4", "123#1122334455667788_9"]) {
        packet_block(&mut bytes, 3, 0x0102_0304_0506_0708, &frame, Some(Direction::Sent), "");
    }
    let text: Vec<String> =
        bytes.chunks(4).map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let packet = |len: &str, block: &str, data: &str| {
        format!("06000000 {block} 03000000 04030201 08070605 {len} {len} {data} 02000400 02000000 00000000 {block}")
    };
    let wanted = [
        packet("0b000000", "38000000", "00000123 03000000 11223300"),
        packet("0b000000", "38000000", "92345678 03050000 11223300"),
        packet("08000000", "34000000", "40000123 04000000"),
        packet("10000000", "3c000000", "00000123 08000009 11223344 55667788"),
    ];
    assert_eq!(text.join(" "), wanted.join(" "));
}

#[test]
fn a_cut_capture_is_read_up_to_the_cut() {
    let all = frames(&["123#1122", "12345678##5AABB", "123#R4", "20000004#0001000000000000"]);
    let bytes = capture(&all);
    let mut begins = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        begins.push(at);
        at += u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    }
    for cut in 0..=bytes.len() {
        let (records, end) = read_all(&bytes[..cut]);
        let whole = begins.iter().skip(1).chain([&bytes.len()]).filter(|end| **end <= cut).count();
        assert_eq!(records.len(), whole.saturating_sub(3), "cut at {cut}");
        match begins.contains(&cut) || cut == bytes.len() {
            true => assert_eq!(end, Ok(())),
            false => assert_eq!(end, Err(format!("byte {}: the file ends within a block", begins[whole]))),
        }
    }
    let (records, _) = read_all(&bytes);
    let found: Vec<_> = records.iter().map(|(bus, one)| (bus.as_str(), one.direction, one.clock)).collect();
    let wanted = [
        ("can0", None, Clock::Unix),
        ("body", Some(Direction::Received), Clock::Unix),
        ("can0", Some(Direction::Sent), Clock::Unix),
        ("body", None, Clock::Unix),
    ];
    assert_eq!(found, wanted);
    assert!(records.iter().map(|(_, one)| one.frame).eq(all));
}

/// A big-endian section with times in 1/1024 s and an offset; and after it a little-endian one.
#[test]
fn sections_of_both_byte_orders_are_read() {
    let mut bytes = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let len = u32::try_from(body.len() + 12).unwrap().to_be_bytes();
        bytes.extend([&kind.to_be_bytes()[..], &len, body, &len].concat());
    };
    block(SECTION_HEADER, &[0x1A, 0x2B, 0x3C, 0x4D, 0, 1, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    let name = [0, 2, 0, 3, b'b', b'u', b's', 0];
    let resolution = [0, 9, 0, 1, 0x8A, 0, 0, 0];
    let offset = [0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0, 100];
    block(1, &[&[0, 227, 0, 0, 0, 0, 0, 0][..], &name, &resolution, &offset, &[0, 0, 0, 0]].concat());
    block(1, &[0, 1, 0, 0, 0, 0, 0, 0]); // Ethernet
    let packet = |interface| [&[0, 0, 0, interface, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0, 0, 0, 9][..]].concat();
    let frame = [0, 0, 1, 0x23, 1, 0, 0, 0, 0x77, 0, 0, 0];
    block(6, &[packet(0), frame.to_vec()].concat());
    block(6, &[packet(1), frame.to_vec()].concat());
    block(0x0BAD, &[1, 2, 3, 4]);
    bytes.extend(capture(&frames(&["124#"])));
    let mut reader = Reader::new(&bytes[..]);
    let mut record = Record::EMPTY;
    assert!(reader.read(&mut record).unwrap());
    assert_eq!((record.at_ns, record.frame.to_string().as_str()), (100_500_000_000, "123#77"));
    assert_eq!(reader.buses().name(record.bus), "bus");
    assert!(reader.read(&mut record).unwrap());
    assert_eq!((reader.buses().name(record.bus), record.frame.to_string().as_str()), ("can0", "124#"));
    assert!(!reader.read(&mut record).unwrap());
    let skipped: Vec<_> = reader.skipped().iter().collect();
    assert_eq!(skipped, [("packets that are no CAN frames (other link types)", 1)]);
}

#[test]
fn damage_is_named_with_its_byte() {
    let whole = capture(&frames(&["123#1122"]));
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        read_all(&bytes).1.unwrap_err()
    };
    assert_eq!(changed(0, 1), "byte 0: the file begins with 0x0a0d0d01; pcapng begins with 0x0a0d0d0a");
    assert_eq!(changed(9, 1), "byte 0: a section has the byte-order magic 0x1a2b014d");
    let begin = whole.len() - 44;
    let at = |what: &str| format!("byte {begin}: {what}");
    assert_eq!(changed(begin + 4, 45), at("a block has a length of 45 bytes, not a multiple of 4 from 12"));
    assert_eq!(changed(whole.len() - 4, 40), at("a block has a length of 44 bytes before it and 40 after it"));
    assert_eq!(changed(begin + 8, 7), at("a packet is of interface 7; 2 have been described"));
    assert_eq!(changed(begin + 20, 99), at("a packet has 99 bytes, more than its block"));
    assert_eq!(changed(begin + 32, 9), at("a frame with a length of 9 bytes; at most 8 are possible"));
    assert_eq!(changed(begin + 15, 0xFF), at("the time 18417361816799281152 of a packet is after the year 2262"));
}

#[test]
fn can_xl_frames_are_counted() {
    let mut bytes = capture(&frames(&["123#1122"]));
    let at = bytes.len() - 44 + 32;
    bytes[at] = 0x81;
    let mut reader = Reader::new(&bytes[..]);
    assert!(!reader.read(&mut { Record::EMPTY }).unwrap());
    assert_eq!(reader.skipped().iter().collect::<Vec<_>>(), [("CAN XL frames left out", 1)]);
}

proptest! {
    #[test]
    fn frames_are_read_as_they_were_written(all in prop::collection::vec(arbitrary::wire_frame(), 0..20)) {
        let shared = Shared::default();
        let mut buses = Buses::new();
        let names = ["can0", "body"].map(|name| buses.index(name.as_bytes()).unwrap());
        let mut sink = Sink::new(Format::Pcapng, shared.clone());
        let mut wanted = Vec::new();
        for (at, frame) in (0..).zip(all) {
            let bus = names[usize::from(at % 4 == 3)];
            let record = Record { at_ns: at, clock: Clock::Start, bus, direction: None, frame };
            sink.write(&record, &buses).unwrap();
            wanted.push((buses.name(bus).to_owned(), frame));
        }
        prop_assert!(sink.finish().unwrap().is_empty());
        let (records, end) = read_all(&shared.take());
        prop_assert_eq!(end, Ok(()));
        let found: Vec<_> = records.into_iter().map(|(bus, record)| (bus, record.frame)).collect();
        prop_assert_eq!(found, wanted);
    }
}
