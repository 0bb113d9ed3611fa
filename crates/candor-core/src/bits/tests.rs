use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::frame::{CAN_RTR_FLAG, CANFD_BRS, RawId};

mod model;

fn classic(text: &str) -> Frame {
    text.parse().unwrap()
}

fn fd(id: u32, flags: u8, payload: &[u8]) -> Frame {
    Frame::fd(RawId(id), flags, payload).unwrap()
}

const BRS: u8 = CANFD_BRS;

#[test]
fn golden_vectors() {
    for line in include_str!("vectors.txt").lines().filter(|line| !line.starts_with('#')) {
        let [frame, nominal, data, stuff, crc] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let frame: Frame = frame.parse().unwrap();
        let [nominal, data, stuff] = [nominal, data, stuff].map(|number| number.parse().unwrap());
        let bits = FrameBits::of(&frame);
        assert_eq!(bits, FrameBits { nominal, data, stuff }, "{line}");
        assert_eq!(bits.total(), nominal + data, "{line}");
        assert_eq!(bits.without_intermission().total(), nominal + data - 3, "{line}");
        if crc != "-" || frame.format == FrameFormat::Fd {
            assert_eq!(crc15(&frame), u16::from_str_radix(crc, 16).ok(), "{line}");
        }
    }
}

#[test]
fn fd_lengths_are_rounded_up_to_a_valid_length() {
    for (len, wire) in [(0, 0), (8, 8), (9, 12), (12, 12), (13, 16), (33, 48), (64, 64), (200, 64)] {
        assert_eq!(fd_wire_len(len), wire);
    }
    let padded = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0];
    assert_eq!(FrameBits::of(&fd(0x123, BRS, &padded[..9])), FrameBits::of(&fd(0x123, BRS, &padded)));
}

#[test]
fn bits_have_the_rules_of_their_fields() {
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
fn durations_are_rounded() {
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

/// The bounds of the formula, 55 and 65, are never reached.
#[test]
fn maxima_of_short_standard_frames() {
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
    fn lengths_are_within_the_formulas(frame in arbitrary::wire_frame()) {
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
    fn malformed_frames_are_counted(frame in arbitrary::any_frame()) {
        prop_assert!(FrameBits::of(&frame).total() <= 736);
    }
}

fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

proptest! {
    /// The exact bus time of any frames is within the bounds from their counters.
    #[test]
    fn bus_time_is_within_the_bounds(
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
fn bounds_are_the_shortest_and_the_longest_frame() {
    let nominal = rate(1_000_000);
    let classic = Occupancy::of(1, 8, FrameFormat::Classic, nominal, None);
    assert_eq!(classic, Occupancy { least_ns: 111_000, most_ns: 160_000 });
    let fd = Occupancy::of(2, 128, FrameFormat::Fd, nominal, Some(rate(4_000_000)));
    // 47 bits and 64 bytes at the faster rate, and 96 bits and 640.
    assert_eq!(fd, Occupancy { least_ns: 2 * (29 + 128) * 1000 + 2 * 33 * 250, most_ns: 2 * (96 + 640) * 1000 });
    // Unrealistic numbers do not overflow.
    assert_eq!(Occupancy::of(u64::MAX, u64::MAX, FrameFormat::Fd, rate(1), None).most_ns, u64::MAX);
}
