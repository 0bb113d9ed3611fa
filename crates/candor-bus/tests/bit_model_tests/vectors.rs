//! Lengths and check sequences against vectors of other implementations, and the receiver against the encoder.

use candor_core::frame::{CANFD_BRS, CANFD_ESI, Frame, RawId};

use crate::bit_model::{CRC15, ErrorKind, Heard, Level, Part, Receiver, append_fd_check, classic_crc_input, encode};
use crate::watch::{bus, delivered, frame};

/// Frame, bits with interframe space, check sequence. Confirmed by a bit model and a tool that are not candor's, but
/// for the remote frames with a length, which that tool has wrong.
const CLASSIC: [(&str, u64, u32); 19] = [
    ("000#", 53, 0x0000),
    ("7FF#", 50, 0x272F),
    ("123#", 48, 0x6858),
    ("123#0000", 67, 0x6373),
    ("42A#01", 58, 0x641A),
    ("010#EE", 62, 0x7FE0),
    ("000#7C3C", 72, 0x1EA0),
    ("555#CCCCCCCCCCCCCCCC", 112, 0x3C10),
    ("123#11223344DEADBEEF", 113, 0x0C68),
    ("000#0000000000000000", 127, 0x145B),
    ("7FF#FFFFFFFFFFFFFFFF", 126, 0x4C89),
    ("078#3C3C3C3C3C7C3C3C", 132, 0x1E9F),
    ("00000000#", 74, 0x4610),
    ("1FFFFFFF#", 74, 0x1C88),
    ("12345678#1122334455667788", 134, 0x04C2),
    ("1F0E0F80#3C3C3C3C3C3C3C3C", 156, 0x00EB),
    ("00000000#0000000000000000", 150, 0x3DAF),
    ("18DAF110#020100CCCCCCCCCC", 137, 0x41F9),
    ("123#R", 48, 0x1B9D),
];

/// As above, for a length that is only in the data length code.
const CODE_ONLY: [(&str, u64, Option<u32>); 5] = [
    ("123#R8", 48, Some(0x6F9A)),
    ("12345678#R4", 67, Some(0x479D)),
    ("123#1122334455667788", 112, None),
    ("123#1122334455667788_9", 111, None),
    ("123#1122334455667788_F", 111, None),
];

/// Identifier (extended above 0x7FF), flags, payload as (repeated bytes, times), bits with interframe space.
type FdVector = (u32, u8, &'static [u8], usize, u64);

const COUNTING: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut place = 0;
    while place < 64 {
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        let value = place as u8;
        bytes[place] = value;
        place += 1;
    }
    bytes
};

const EFF: u32 = 0x8000_0000;

const FD: [FdVector; 19] = [
    (0x123, 0, &[], 0, 63),
    // Ends in five zeros: the fixed stuff bit takes the place of the dynamic one.
    (0x123, CANFD_BRS, &[], 0, 62),
    (0x555, CANFD_BRS, &[0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xE0], 1, 126),
    (0x7FF, CANFD_BRS | CANFD_ESI, &[], 0, 64),
    (0x100, CANFD_BRS, &[0], 1, 73),
    (0x123, CANFD_BRS, &[0], 8, 139),
    (0x123, CANFD_BRS, COUNTING.split_at(8).0, 1, 135),
    (0x123, CANFD_BRS, &[0xFF], 16, 215),
    (0x123, CANFD_BRS, COUNTING.split_at(16).0, 1, 203),
    (0x123, CANFD_BRS, COUNTING.split_at(20).0, 1, 242),
    (0x123, CANFD_BRS, &[0x55], 64, 579),
    (0x7FF, CANFD_BRS, &[0xFF], 64, 684),
    (0, CANFD_BRS, &[0], 64, 683),
    (0x123, CANFD_BRS, &[0x0F, 0x87, 0xC3, 0xE1], 16, 659),
    (0x078, CANFD_ESI, &[0x0F], 64, 710),
    (EFF | 0x1FFF_FFFF, CANFD_BRS, &[0xFF], 1, 96),
    (EFF | 0x1234_5678, CANFD_BRS, COUNTING.split_at(12).0, 1, 188),
    (EFF | 0x1234_5678, CANFD_BRS | CANFD_ESI, &COUNTING, 1, 624),
    (EFF, 0, &[0], 64, 705),
];

fn fd_frame(&(id, flags, bytes, times, _): &FdVector) -> Frame {
    Frame::fd(RawId(id), flags, &bytes.repeat(times)).expect("at most 64 bytes")
}

/// All vectors: what stands in the failure message, the frame, its bits with interframe space.
fn vectors() -> Vec<(String, Frame, u64)> {
    let classic = CLASSIC.iter().map(|&(text, bits, _)| (text.to_owned(), frame(text), bits));
    let code_only = CODE_ONLY.iter().map(|&(text, bits, _)| (text.to_owned(), frame(text), bits));
    let fd = FD.iter().map(|vector| (format!("{vector:?}"), fd_frame(vector), vector.4));
    classic.chain(code_only).chain(fd).collect()
}

#[test]
fn frames_take_as_long_as_the_vectors_say() {
    for (name, frame, bits) in vectors() {
        let mut bus = bus(2);
        bus.submit(20, 0, 7, frame);
        let log = bus.run_until(1000);
        // The table counts the three bits of the intermission.
        assert_eq!(delivered(&log), [(0, 7, 20, 20 + bits - 3, vec![1])], "{name}");
    }
}

#[test]
fn the_second_frame_starts_behind_the_intermission() {
    for (name, frame, bits) in vectors() {
        let mut bus = bus(2);
        bus.submit(0, 0, 1, frame);
        bus.submit(0, 0, 2, frame);
        let starts: Vec<u64> = delivered(&bus.run_until(2000)).into_iter().map(|delivery| delivery.2).collect();
        assert_eq!(starts, [0, bits], "{name}");
    }
}

#[test]
fn check_sequences_are_those_of_the_vectors() {
    let code_only = CODE_ONLY.iter().filter_map(|&(text, _, check)| Some((text, check?)));
    for (text, check) in CLASSIC.iter().map(|&(text, _, check)| (text, check)).chain(code_only) {
        assert_eq!(CRC15.over(classic_crc_input(&frame(text))), check, "{text}");
    }
}

#[test]
fn a_receiver_reads_the_frame_that_was_sent() {
    for (name, frame, bits) in vectors() {
        let wire = encode(&frame, false);
        assert_eq!(u64::try_from(wire.len()), Ok(bits - 3), "{name}");
        let mut receiver = Receiver::new();
        let heard: Vec<Heard> = wire.iter().map(|bit| receiver.hear(bit.level)).collect();
        let (last, before) = heard.split_last().expect("a frame has bits");
        assert_eq!(*last, Heard::End, "{name}");
        let (accepted, before) = before.split_last().expect("a frame has bits");
        assert_eq!(*accepted, Heard::Accepted(Box::new(frame)), "{name}");
        assert!(before.iter().all(|heard| *heard == Heard::More), "{name}");
    }
}

#[test]
fn every_single_wrong_bit_before_the_last_of_the_end_is_found() {
    for (name, frame, _) in vectors() {
        let wire = encode(&frame, false);
        for wrong in 0..wire.len() - 1 {
            if wire[wrong].part == Part::AckSlot || wrong == 0 {
                // The slot is not judged by who does not fill it, and without a start there is no frame.
                continue;
            }
            let mut receiver = Receiver::new();
            let levels = wire.iter().enumerate().map(|(i, bit)| if i == wrong { !bit.level } else { bit.level });
            // A frame that seems longer now runs into the idle bus.
            let levels = levels.chain([Level::Recessive; 600]);
            let end = levels.map(|level| receiver.hear(level)).find(|heard| *heard != Heard::More);
            let Some(Heard::Wrong(kind)) = end else { panic!("{name} with bit {wrong} wrong: {end:?}") };
            if wire[wrong].part == Part::FixedForm {
                assert_eq!(kind, ErrorKind::Form, "{name} with bit {wrong} wrong");
            }
        }
    }
}

#[test]
fn a_wrong_check_sequence_is_not_acknowledged_and_shows_behind_the_ack_delimiter() {
    // 123#55: bit 22 is the third data bit, 0; its neighbours are 1, so no stuff bit comes or goes.
    let mut wire: Vec<Level> = encode(&frame("123#55"), false).into_iter().map(|bit| bit.level).collect();
    wire[22] = !wire[22];
    let mut receiver = Receiver::new();
    let ack_delimiter = wire.len() - 8;
    for &level in &wire[..ack_delimiter] {
        assert!(!receiver.acknowledges());
        assert_eq!(receiver.hear(level), Heard::More);
    }
    assert_eq!(receiver.hear(wire[ack_delimiter]), Heard::Wrong(ErrorKind::Crc));
}

#[test]
fn a_wrong_fixed_stuff_bit_is_a_form_error() {
    // 27 bits of stuff count and CRC17 end before delimiter, slot, delimiter and end of frame; its first is fixed.
    let mut wire: Vec<Level> = encode(&frame("123##100"), false).into_iter().map(|bit| bit.level).collect();
    let first = wire.len() - 10 - 27;
    wire[first] = !wire[first];
    let mut receiver = Receiver::new();
    let heard = wire.iter().map(|&level| receiver.hear(level)).position(|heard| heard == Heard::Wrong(ErrorKind::Form));
    assert_eq!(heard, Some(first));
}

#[test]
fn a_wrong_stuff_count_is_found_though_the_check_sequence_is_right() {
    // 0 00100100011 RRS 0 IDE 0 FDF 1 res 0 BRS 1 ESI 0 DLC 0001 data 00000 s 000: one stuff bit.
    let good = encode(&frame("123##100"), false);
    let data_end = good.len() - 10 - 27;
    for (claimed, verdict) in [(1, None), (3, Some(Heard::Wrong(ErrorKind::Crc)))] {
        let mut wire = good[..data_end].to_vec();
        append_fd_check(&mut wire, claimed, false);
        wire.extend_from_slice(&good[good.len() - 10..]);
        let mut receiver = Receiver::new();
        let wrong = wire.iter().map(|bit| receiver.hear(bit.level)).find(|heard| matches!(heard, Heard::Wrong(_)));
        assert_eq!(wrong, verdict, "{claimed}");
    }
}
