use std::time::Duration;

use candor_core::arbitrary::{any_frame, wire_frame};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::invariants;

const CAPTURES: &str = include_str!("../../tests/captures/cannelloni.txt");

fn bytes_of(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Lines of this kind, as words.
fn captures(kind: &str) -> Vec<Vec<&'static str>> {
    let lines: Vec<Vec<&str>> = CAPTURES.lines().map(|line| line.split(' ').collect()).collect();
    let lines: Vec<Vec<&str>> = lines.into_iter().filter(|words| words[0] == kind).collect();
    assert!(!lines.is_empty());
    lines
}

fn stream(bytes: &[u8]) -> Vec<u8> {
    [GREETING.as_slice(), bytes].concat()
}

#[test]
fn frames_of_cannelloni_are_read_and_written_with_the_same_bytes() {
    for words in captures("frame") {
        let (frame, bytes): (Frame, _) = (words[1].parse().unwrap(), bytes_of(words[2]));
        assert_eq!(invariants::decode::<Tcp>(&[&stream(&bytes)]), (vec![frame], None), "{}", words[2]);
        // cannelloni passes on what the kernel gives it, and old kernels do not set FDF.
        let mut written = Vec::new();
        write(&frame, &mut written).unwrap();
        let mut expected = bytes;
        if frame.format == FrameFormat::Fd {
            expected[5] |= CANFD_FDF;
        }
        assert_eq!(written, expected);
    }
}

#[test]
fn a_datagram_with_all_these_frames_is_read() {
    let [ref words] = captures("packet")[..] else { panic!() };
    let bytes = bytes_of(words[2]);
    let datagram = Datagram::parse(&bytes).unwrap();
    assert_eq!(datagram.sequence.to_string(), words[1]);
    let frames: Vec<Frame> = captures("frame").iter().map(|words| words[1].parse().unwrap()).collect();
    assert_eq!(datagram.frames().collect::<Vec<_>>(), frames);
}

#[test]
fn recorded_datagrams_have_the_gaps_that_their_user_reports() {
    let mut window = Window::default();
    let arrivals: Vec<Arrival> = captures("datagram")
        .iter()
        .map(|words| {
            let bytes = bytes_of(words[3]);
            let datagram = Datagram::parse(&bytes).unwrap();
            assert_eq!(datagram.sequence.to_string(), words[1]);
            assert_eq!(datagram.frames().collect::<Vec<_>>(), [words[2].parse().unwrap()]);
            let mut written = Vec::new();
            Packet::new(datagram.sequence, &mut written).push(&datagram.frames().next().unwrap()).unwrap();
            assert_eq!(written, bytes);
            window.arrived(Duration::ZERO, datagram.sequence)
        })
        .collect();
    let missing = |missing| Arrival::New { missing };
    assert_eq!(arrivals, [missing(0), missing(0), missing(1), missing(1)]);
}

#[test]
fn errors_name_the_byte_the_value_and_the_limit() {
    let says = |bytes: &[u8]| invariants::decode::<Tcp>(&[bytes]).1.unwrap().to_string();
    assert_eq!(says(b"CANNELLONIv2"), "byte 11: 0x32 in the greeting, which must be CANNELLONIv1");
    let says = |hex: &str| says(&stream(&bytes_of(hex)));
    assert_eq!(says("0000012309"), "byte 16: a classic frame with 9 bytes; at most 8 are possible");
    assert_eq!(says("0000012300000001237f"), "byte 21: a classic frame with 127 bytes; at most 8 are possible");
    assert_eq!(says("00000123c1"), "byte 16: an FD frame with 65 bytes; at most 64 are possible");
    let remote = "byte 12: an FD frame with the flags of 0x40000123; FD has neither remote frames nor error messages";
    assert_eq!(says("4000012380"), remote);
    let says = |hex: &str| Datagram::parse(&bytes_of(hex)).unwrap_err().to_string();
    assert_eq!(says(""), "byte 0: the end, but 5 more bytes are needed");
    assert_eq!(says("0100000000"), "byte 0: version 1 of the protocol; 2 is known");
    assert_eq!(says("0201000000"), "byte 1: operation 1; only 0 (data) is known");
    assert_eq!(says("02000000010000012302"), "byte 10: the end, but 2 more bytes are needed");
    assert_eq!(says("02000000010000012300ffff"), "byte 10: 2 bytes after the end");
}

/// CVE-2026-37539: a length above 64 made cannelloni write beyond its frame.
#[test]
fn no_length_writes_beyond_the_frame() {
    for len in 0..=u8::MAX {
        let mut bytes = vec![0, 0, 1, 0x23, len, 0];
        bytes.extend([0xFF; 260]);
        let (frames, error) = invariants::decode::<Tcp>(&[&stream(&bytes)]);
        let is_possible = len <= 8 || (0x80..=0x80 + 64).contains(&len);
        assert_eq!(frames.first().is_some_and(|frame| frame.len == len & 0x7F), is_possible, "{len}");
        assert!(is_possible || error.is_some_and(|error| error.at == 16), "{len}: {error:?}");
    }
}

#[test]
fn frames_that_the_protocol_does_not_have_are_refused() {
    let refused = |frame: Frame| {
        let mut bytes = Vec::new();
        let error = write(&frame, &mut bytes).unwrap_err();
        assert!(bytes.is_empty());
        error
    };
    assert_eq!(refused("123#1122334455667788_F".parse().unwrap()), Cannot::RawDlc);
    assert_eq!(refused(Frame { len: 9, ..Frame::EMPTY }), Cannot::Malformed);
    assert_eq!(refused(Frame { id: RawId(0x800), ..Frame::EMPTY }), Cannot::Malformed);
    assert_eq!(refused(Frame { id: RawId(0x4000_0001), format: FrameFormat::Fd, ..Frame::EMPTY }), Cannot::Malformed);
}

/// The frames of a stream, and the position of the mistake at which it ends.
fn oracle(bytes: &[u8]) -> (Vec<Frame>, Option<u64>) {
    let (frames, error) = with_ends(bytes);
    (frames.into_iter().map(|(frame, _)| frame).collect(), error)
}

/// The same, step by step with indices, and with the end of each frame.
fn with_ends(bytes: &[u8]) -> (Vec<(Frame, usize)>, Option<u64>) {
    for (at, expected) in b"CANNELLONIv1".iter().enumerate() {
        match bytes.get(at) {
            None => return (Vec::new(), None),
            Some(found) if found != expected => return (Vec::new(), Some(at as u64)),
            Some(_) => {}
        }
    }
    let (mut frames, mut at) = (Vec::new(), 12);
    while at + 5 <= bytes.len() {
        let id = (0..4).map(|place| u32::from(bytes[at + place]) << (24 - 8 * place)).sum::<u32>();
        let (is_fd, len) = (bytes[at + 4] >= 128, bytes[at + 4] % 128);
        let is_remote = id & 0x4000_0000 != 0;
        if is_fd && (is_remote || id & 0x2000_0000 != 0) {
            return (frames, Some(at as u64));
        }
        if len > if is_fd { 64 } else { 8 } {
            return (frames, Some(at as u64 + 4));
        }
        let start = at + if is_fd { 6 } else { 5 };
        let end = start + if is_remote { 0 } else { usize::from(len) };
        if end > bytes.len() {
            break;
        }
        let mut frame = Frame::EMPTY;
        (frame.id, frame.len) = (RawId(id), len);
        if is_fd {
            (frame.format, frame.flags) = (FrameFormat::Fd, bytes[at + 5] | 4);
        }
        for (place, byte) in bytes[start..end].iter().enumerate() {
            frame.data[place] = *byte;
        }
        frames.push((frame, end));
        at = end;
    }
    (frames, None)
}

/// What the oracle must find: a frame without what the protocol leaves out.
fn on_the_wire(frame: &Frame) -> Frame {
    let mut frame = *frame;
    if frame.id.is_rtr() {
        frame.data = [0; 64];
    }
    let (used, len) = (usize::from(frame.len), frame.data.len());
    frame.data[used.min(len)..].fill(0);
    frame.len8_dlc = 0;
    if frame.format == FrameFormat::Fd {
        frame.flags |= CANFD_FDF;
    }
    frame
}

/// Streams of frames, with some bytes changed.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let frames = vec(any_frame(), 0..12).prop_map(|frames| {
        let mut bytes = GREETING.to_vec();
        let written = frames.iter().filter(|frame| write(frame, &mut bytes).is_ok()).count();
        assert!(written <= frames.len());
        bytes
    });
    (frames, vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)).prop_map(|(mut bytes, changes)| {
        let len = bytes.len();
        changes.iter().for_each(|(at, byte)| bytes[at.index(len)] = *byte);
        bytes
    })
}

proptest! {
    #[test]
    fn frames_come_back(frames in vec(prop_oneof![wire_frame(), any_frame()], 0..20), sequence: u8) {
        let mut tcp = GREETING.to_vec();
        let mut udp = Vec::new();
        let mut packet = Packet::new(sequence, &mut udp);
        let possible: Vec<Frame> = frames
            .iter()
            .filter(|frame| {
                let (one, other) = (write(frame, &mut tcp), packet.push(frame));
                assert_eq!(one, other);
                one.is_ok()
            })
            .map(on_the_wire)
            .collect();
        prop_assert_eq!(invariants::decode::<Tcp>(&[&tcp]), (possible.clone(), None));
        let datagram = Datagram::parse(&udp).unwrap();
        prop_assert_eq!(datagram.sequence, sequence);
        prop_assert_eq!(datagram.frames().collect::<Vec<_>>(), possible);
    }

    #[test]
    fn streams_mean_what_the_oracle_says(bytes in streams(), cut: prop::sample::Index) {
        let (frames, error) = invariants::decode::<Tcp>(&[&bytes]);
        prop_assert_eq!((frames, error.map(|error| error.at)), oracle(&bytes));
        let part = &bytes[..cut.index(bytes.len() + 1)];
        let (frames, error) = invariants::decode::<Tcp>(&[part]);
        prop_assert_eq!((frames, error.map(|error| error.at)), oracle(part));
    }

    #[test]
    fn a_datagram_is_read_as_a_stream_of_the_same_frames(bytes in streams(), count in 0..14_u16) {
        let frames = &bytes[12.min(bytes.len())..];
        let datagram = [&[2, 0, 9][..], &count.to_be_bytes(), frames].concat();
        let (expected, error) = with_ends(&[GREETING.as_slice(), frames].concat());
        // The header is 5 bytes long, the greeting 12.
        let (start, end) = (5, datagram.len() as u64);
        let found = Datagram::parse(&datagram);
        let Some(expected) = expected.get(..count.into()) else {
            let at = error.map_or(end, |at| at - 12 + start);
            prop_assert_eq!(found.map(|_| ()).unwrap_err().at, at);
            return Ok(());
        };
        let last = expected.last().map_or(start, |(_, end)| *end as u64 - 12 + start);
        match found {
            Ok(datagram) => {
                prop_assert_eq!(last, end);
                let expected: Vec<Frame> = expected.iter().map(|(frame, _)| *frame).collect();
                prop_assert_eq!(datagram.frames().collect::<Vec<_>>(), expected);
            }
            Err(DecodeError { at, fault }) => {
                prop_assert_eq!((at, fault), (last, Fault::Trailing(usize::try_from(end - last).unwrap())));
            }
        }
    }

    #[test]
    fn anything_is_survived(bytes in vec(any::<u8>(), 0..300)) {
        invariants::check_cannelloni(&bytes);
    }

    #[test]
    fn changed_streams_are_survived(bytes in streams()) {
        invariants::check_cannelloni(&bytes);
        invariants::check_cannelloni(&bytes[12..]);
    }

    /// The peer sends numbers 0, 1, 2, …; the network drops, repeats and delays.
    #[test]
    fn missing_datagrams_are_counted(fates in vec((0..10_u8, 0..12_usize), 1..600), first: u8) {
        let mut sent: Vec<(usize, u64)> = Vec::new();
        for (number, (fate, delay)) in (0_u64..).zip(&fates) {
            let at = 2 * usize::try_from(number).unwrap();
            match fate {
                0 => {}
                1 => sent.extend([(at, number), (at + 1, number)]),
                2 => sent.push((at + 2 * delay, number)),
                _ => sent.push((at, number)),
            }
        }
        sent.sort_unstable();
        let mut window = Window::default();
        let (mut lost, mut delivered) = (0_i64, Vec::new());
        for (_, number) in &sent {
            let sequence = u8::try_from((number + u64::from(first)) % 256).unwrap();
            match window.arrived(Duration::ZERO, sequence) {
                Arrival::New { missing } => lost += i64::from(missing),
                Arrival::Late => lost -= 1,
                Arrival::Repeated => continue,
                Arrival::Restarted => prop_assert!(false, "no time passed"),
            }
            delivered.push(*number);
        }
        // Each once, and those between the first that arrived and the last that are not there are lost.
        let mut once: Vec<u64> = sent.iter().map(|(_, number)| *number).collect();
        once.sort_unstable();
        once.dedup();
        let mut all = delivered.clone();
        all.sort_unstable();
        prop_assert_eq!(&all, &once);
        let Some((start, end)) = delivered.first().zip(all.last()) else { return Ok(()) };
        let known = all.iter().filter(|number| *number >= start).count();
        let gap = end - start + 1 - known as u64;
        prop_assert_eq!(lost, i64::try_from(gap).unwrap());
    }
}

#[test]
fn numbers_that_go_back_after_a_silence_are_a_restart() {
    let at = |ms| Duration::from_millis(ms);
    let mut window = Window::default();
    for sequence in 0..20 {
        assert_eq!(window.arrived(at(0), sequence), Arrival::New { missing: 0 });
    }
    assert_eq!(window.arrived(at(500), 10), Arrival::Repeated);
    assert_eq!(window.arrived(at(1501), 10), Arrival::Restarted);
    assert_eq!(window.arrived(at(1502), 11), Arrival::New { missing: 0 });
    // After a silence, and ahead: they were lost.
    assert_eq!(window.arrived(at(60_000), 14), Arrival::New { missing: 2 });
}
