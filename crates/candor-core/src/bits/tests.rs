use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_BRS, CANFD_ESI, RawId};

mod model;

fn classic(text: &str) -> Frame {
    text.parse().unwrap()
}

fn fd(id: u32, flags: u8, payload: &[u8]) -> Frame {
    Frame::fd(RawId(id), flags, payload).unwrap()
}

/// frame | unstuffed | stuff bits | exact | CRC-15; all but the remote frames with a DLC agree with a second
/// implementation.
#[test]
fn classic_vectors() {
    for (text, unstuffed, stuff, exact, crc) in [
        ("000#", 47, 6, 53, 0x0000),
        ("7FF#", 47, 3, 50, 0x272F),
        ("123#", 47, 1, 48, 0x6858),
        ("123#0000", 63, 4, 67, 0x6373),
        ("42A#01", 55, 3, 58, 0x641A),
        ("010#EE", 55, 7, 62, 0x7FE0),
        ("000#7C3C", 63, 9, 72, 0x1EA0),
        ("555#CCCCCCCCCCCCCCCC", 111, 1, 112, 0x3C10),
        ("123#11223344DEADBEEF", 111, 2, 113, 0x0C68),
        ("000#0000000000000000", 111, 16, 127, 0x145B),
        ("7FF#FFFFFFFFFFFFFFFF", 111, 15, 126, 0x4C89),
        ("078#3C3C3C3C3C7C3C3C", 111, 21, 132, 0x1E9F),
        ("00000000#", 67, 7, 74, 0x4610),
        ("1FFFFFFF#", 67, 7, 74, 0x1C88),
        ("12345678#1122334455667788", 131, 3, 134, 0x04C2),
        ("1F0E0F80#3C3C3C3C3C3C3C3C", 131, 25, 156, 0x00EB),
        ("00000000#0000000000000000", 131, 19, 150, 0x3DAF),
        ("18DAF110#020100CCCCCCCCCC", 131, 6, 137, 0x41F9),
        ("123#R", 47, 1, 48, 0x1B9D),
        ("123#R8", 47, 1, 48, 0x6F9A),
        ("12345678#R4", 67, 0, 67, 0x479D),
    ] {
        let frame = classic(text);
        let bits = FrameBits::of(&frame);
        assert_eq!(bits, FrameBits { nominal: exact, data: 0, stuff }, "{text}");
        assert_eq!(bits.total() - stuff, unstuffed, "{text}");
        assert_eq!(bits.without_intermission().total(), exact - 3, "{text}");
        assert_eq!(crc15(&frame), Some(crc), "{text}");
    }
}

#[test]
fn the_raw_dlc_changes_bits_but_not_the_length() {
    for (text, exact) in
        [("123#1122334455667788", 112), ("123#1122334455667788_9", 111), ("123#1122334455667788_F", 111)]
    {
        assert_eq!(FrameBits::of(&classic(text)).total(), exact, "{text}");
    }
}

const BRS: u8 = CANFD_BRS;
const ESI: u8 = CANFD_ESI;
const EFF: u32 = CAN_EFF_FLAG;

/// frame | unstuffed | dynamic stuff bits | exact | nominal + data
#[test]
fn fd_vectors() {
    let counting: [u8; 64] = std::array::from_fn(|index| u8::try_from(index).unwrap());
    let pattern: Vec<u8> = [0x0F, 0x87, 0xC3, 0xE1].repeat(16);
    let aa_e0 = [0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xE0];
    for (frame, unstuffed, stuff, exact, nominal, data) in [
        (fd(0x123, 0, &[]), 62, 1, 63, 63, 0),
        (fd(0x123, BRS, &[]), 62, 0, 62, 29, 33),
        (fd(0x555, BRS, &aa_e0), 126, 0, 126, 29, 97),
        (fd(0x7FF, BRS | ESI, &[]), 62, 2, 64, 31, 33),
        (fd(0x100, BRS, &[0]), 70, 3, 73, 31, 42),
        (fd(0x123, BRS, &[0; 8]), 126, 13, 139, 29, 110),
        (fd(0x123, BRS, &counting[..8]), 126, 9, 135, 29, 106),
        (fd(0x123, BRS, &[0xFF; 16]), 190, 25, 215, 29, 186),
        (fd(0x123, BRS, &counting[..16]), 190, 13, 203, 29, 174),
        (fd(0x123, BRS, &counting[..20]), 227, 15, 242, 29, 213),
        (fd(0x123, BRS, &[0x55; 64]), 579, 0, 579, 29, 550),
        (fd(0x7FF, BRS, &[0xFF; 64]), 579, 105, 684, 31, 653),
        (fd(0x000, BRS, &[0; 64]), 579, 104, 683, 31, 652),
        (fd(0x123, BRS, &pattern), 579, 80, 659, 29, 630),
        (fd(0x078, ESI, &[0x0F; 64]), 579, 131, 710, 710, 0),
        (fd(EFF | 0x1FFF_FFFF, BRS, &[0xFF]), 89, 7, 96, 54, 42),
        (fd(EFF | 0x1234_5678, BRS, &counting[..12]), 177, 11, 188, 48, 140),
        (fd(EFF | 0x1234_5678, BRS | ESI, &counting), 598, 26, 624, 48, 576),
        (fd(EFF, 0, &[0; 64]), 598, 107, 705, 705, 0),
    ] {
        let bits = FrameBits::of(&frame);
        assert_eq!(bits, FrameBits { nominal, data, stuff }, "{frame}");
        assert_eq!((bits.total(), bits.total() - stuff), (exact, unstuffed), "{frame}");
        assert_eq!(crc15(&frame), None);
    }
}

#[test]
fn fd_lengths_are_rounded_up_to_a_dlc() {
    for (len, wire) in [(0, 0), (8, 8), (9, 12), (12, 12), (13, 16), (33, 48), (64, 64), (200, 64)] {
        assert_eq!(fd_wire_len(len), wire);
    }
    let padded = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0];
    assert_eq!(FrameBits::of(&fd(0x123, BRS, &padded[..9])), FrameBits::of(&fd(0x123, BRS, &padded)));
}

#[test]
fn every_bit_has_its_rule() {
    let rules = |frame: &Frame| {
        let bits = WireBits::of(frame);
        let letter = |bit| match bits.rule(bit) {
            BitRule::Acknowledge => 'k',
            BitRule::Arbitration => 'a',
            BitRule::FixedStuff => 'f',
            BitRule::Free => 'c',
            BitRule::Recessive => 'r',
            BitRule::Stuffed => 's',
        };
        (0..bits.len()).map(letter).collect::<String>()
    };
    let tail = "rkrrrrrrrr";
    // SOF, 11 bits, RTR; IDE, r0, DLC, CRC with their stuff bits.
    assert_eq!(rules(&classic("555#")), format!("{}{}{tail}", "a".repeat(13), "s".repeat(6 + 15 + 1)));
    assert_eq!(rules(&classic("12345678#R4")), format!("{}{}{tail}", "a".repeat(33), "s".repeat(6 + 15)));
    let crc17 = "fcccc".repeat(5) + "fc";
    // A stuff bit in the identifier; IDE, FDF, res, BRS, ESI, DLC.
    let frame = fd(0x7FF, BRS, &[]);
    assert_eq!(rules(&frame), format!("{}{}{crc17}{tail}", "a".repeat(13 + 2), "s".repeat(9)));
    assert_eq!(WireBits::of(&frame).fd_format(), Some(16));
    assert_eq!(WireBits::of(&frame).switch(), Some(19));
    assert_eq!(WireBits::of(&frame).before(25), (19, 6));
    assert_eq!(WireBits::of(&classic("555#")).switch(), None);
    // One stuff bit before the last bit of the identifier.
    assert_eq!(WireBits::of(&classic("100#00")).first_difference(&WireBits::of(&classic("101#00"))), Some(12));
}

#[test]
fn times() {
    let rate = |bits_per_second| BitRate::from_bits_per_second(bits_per_second).unwrap();
    let bits = FrameBits::of(&fd(0x123, BRS, &[0x55; 64]));
    assert_eq!(bits.wire_time_ns(rate(500_000), Some(rate(2_000_000))), 333_000);
    assert_eq!(bits.wire_time_ns(rate(500_000), None), 1_158_000);
    let bits = FrameBits { nominal: 111, data: 0, stuff: 0 };
    assert_eq!(bits.wire_time_ns(rate(1_000_000), Some(rate(8_000_000))), 111_000);
    assert_eq!(bits.wire_time_ns(rate(83_333), None), 1_332_005, "1332005.328… ns");
    assert_eq!(FrameBits { nominal: 1, ..bits }.wire_time_ns(rate(u32::MAX), None), 0);
    assert_eq!(FrameBits { nominal: 1, ..bits }.wire_time_ns(rate(2_000_000_000), None), 1, "a half is rounded up");
    let huge = FrameBits { nominal: u32::MAX / 2, data: u32::MAX / 2, stuff: 0 };
    assert_eq!(huge.wire_time_ns(rate(1), Some(rate(1))), 4_294_967_294_000_000_000);
}

/// The formula bounds, 55 and 65, are never reached.
#[test]
fn true_maxima_of_short_standard_frames() {
    let longest = |payloads: &[Vec<u8>]| {
        let frames = (0..=0x7FF).flat_map(|id| payloads.iter().map(move |data| Frame::classic(RawId(id), data)));
        frames.map(|frame| FrameBits::of(&frame.unwrap()).total()).max()
    };
    assert_eq!(longest(&[vec![]]), Some(53));
    assert_eq!(longest(&(0..=255).map(|byte| vec![byte]).collect::<Vec<_>>()), Some(62));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn agrees_with_the_bit_model(frame in arbitrary::wire_frame()) {
        let (bits, crc, written) = model::count(&frame);
        prop_assert_eq!(FrameBits::of(&frame), bits, "{}", frame);
        let levels = WireBits::of(&frame);
        let text: String = (0..levels.len()).map(|bit| if levels.is_recessive(bit) { '1' } else { '0' }).collect();
        prop_assert_eq!(text, written, "{}", frame);
        prop_assert_eq!(levels.before(levels.len()), (bits.without_intermission().nominal, bits.data));
        if let Some(crc) = crc {
            prop_assert_eq!(crc15(&frame), Some(crc));
        }
    }

    #[test]
    fn stays_within_the_formulas(frame in arbitrary::wire_frame()) {
        let eff = frame.id.is_eff();
        let rtr = frame.id.0 & CAN_RTR_FLAG != 0;
        let n = if rtr { 0 } else { u32::from(frame.len) };
        let (shortest, longest) = match (frame.format, eff) {
            (FrameFormat::Classic, false) => (47 + 8 * n, 55 + 10 * n),
            (FrameFormat::Classic, true) => (67 + 8 * n, 80 + 10 * n),
            (FrameFormat::Fd, false) if n <= 16 => (62 + 8 * n, 67 + 10 * n),
            (FrameFormat::Fd, false) => (67 + 8 * n, 72 + 10 * n),
            (FrameFormat::Fd, true) if n <= 16 => (81 + 8 * n, 90 + 10 * n),
            (FrameFormat::Fd, true) => (86 + 8 * n, 95 + 10 * n),
        };
        let bits = FrameBits::of(&frame);
        prop_assert_eq!(bits.total() - bits.stuff, shortest);
        prop_assert!((shortest..=longest).contains(&bits.total()));
    }

    #[test]
    fn malformed_frames_are_counted_too(frame in arbitrary::any_frame()) {
        prop_assert!(FrameBits::of(&frame).total() <= 736);
    }
}

fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

proptest! {
    /// Whatever the frames are, the time that they take is between the bounds of those who only counted them.
    #[test]
    fn frames_that_were_counted_last_between_the_bounds(
        frames in prop::collection::vec(arbitrary::wire_frame(), 0..20),
        data in prop::option::of(1_000_000_u32..8_000_000),
    ) {
        let (nominal, data) = (rate(500_000), data.map(rate));
        let payload = |frame: &Frame| if frame.id.is_rtr() { 0 } else { fd_or_classic_len(frame) };
        let count = |format: FrameFormat| {
            let frames = || frames.iter().filter(move |frame| format == FrameFormat::Fd || frame.format == format);
            let bytes: usize = frames().map(payload).sum();
            let bits = frames().map(FrameBits::of);
            let time: u64 = bits.map(|bits| bits.wire_time_ns(nominal, data)).sum();
            (Occupancy::of(frames().count() as u64, bytes as u64, format, nominal, data), time)
        };
        for (bounds, time) in [count(FrameFormat::Classic), count(FrameFormat::Fd)] {
            // Each time was rounded to a nanosecond.
            prop_assert!(bounds.least_ns <= time + 20 && time <= bounds.most_ns + 20, "{bounds:?} {time}");
        }
    }
}

fn fd_or_classic_len(frame: &Frame) -> usize {
    match frame.format {
        FrameFormat::Classic => frame.payload().len(),
        FrameFormat::Fd => fd_wire_len(frame.payload().len()),
    }
}

#[test]
fn the_bounds_are_those_of_the_shortest_and_the_longest_frame() {
    let nominal = rate(1_000_000);
    let classic = Occupancy::of(1, 8, FrameFormat::Classic, nominal, None);
    assert_eq!(classic, Occupancy { least_ns: 111_000, most_ns: 160_000 });
    let fd = Occupancy::of(2, 128, FrameFormat::Fd, nominal, Some(rate(4_000_000)));
    // 47 bits and 64 bytes at the faster rate, and 96 bits and 640.
    assert_eq!(fd, Occupancy { least_ns: 2 * (29 + 128) * 1000 + 2 * 33 * 250, most_ns: 2 * (96 + 640) * 1000 });
    // Numbers that no interface has do not overflow.
    assert_eq!(Occupancy::of(u64::MAX, u64::MAX, FrameFormat::Fd, rate(1), None).most_ns, u64::MAX);
}
