use proptest::prelude::*;

use super::FrameTextErrorKind as Kind;
use super::*;
use crate::arbitrary;

fn classic(id: u32, payload: &[u8]) -> Frame {
    Frame::classic(RawId(id), payload).unwrap()
}

#[test]
fn reads_every_form() {
    let eight = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
    for (text, expected) in [
        ("123#", classic(0x123, &[])),
        ("123#1122", classic(0x123, &[0x11, 0x22])),
        ("7ff#11.2233.44", classic(0x7FF, &[0x11, 0x22, 0x33, 0x44])),
        ("12345678#ab", classic(0x9234_5678, &[0xAB])),
        ("00000123#", classic(0x8000_0123, &[])),
        ("20000004#0011", classic(0x2000_0004, &[0x00, 0x11])),
        ("123#R", classic(0x4000_0123, &[])),
        ("12345678#r0", classic(0xD234_5678, &[])),
        ("123#R4", Frame { len: 4, ..classic(0x4000_0123, &[]) }),
        ("123#R8_9", Frame { len: 8, len8_dlc: 9, ..classic(0x4000_0123, &[]) }),
        ("123#1122334455667788_E", Frame { len8_dlc: 14, ..classic(0x123, &eight) }),
        ("123##0", Frame::fd(RawId(0x123), 0, &[]).unwrap()),
        ("123##1AABB", Frame::fd(RawId(0x123), 1, &[0xAA, 0xBB]).unwrap()),
        ("123##5AABB", Frame::fd(RawId(0x123), 1, &[0xAA, 0xBB]).unwrap()),
        ("12345678##3.11.22", Frame::fd(RawId(0x9234_5678), 3, &[0x11, 0x22]).unwrap()),
    ] {
        assert_eq!(text.parse(), Ok(expected), "{text}");
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    let long = format!("123##1{}", "00".repeat(65));
    for (text, kind, range) in [
        ("", Kind::MissingDelimiter, 0..0),
        ("1231122", Kind::MissingDelimiter, 0..7),
        ("#11", Kind::IdDigits { digits: 0 }, 0..0),
        ("1234#", Kind::IdDigits { digits: 4 }, 0..4),
        ("45123#81:00:12345678#1122", Kind::CanXl, 0..5),
        ("x23#", Kind::NotHex { found: 'x' }, 0..1),
        ("1ß3#", Kind::NotHex { found: 'ß' }, 1..3),
        ("800#", Kind::StandardIdTooBig { id: 0x800 }, 0..3),
        ("40000000#", Kind::ExtendedIdTooBig { id: 0x4000_0000 }, 0..8),
        ("80000123#", Kind::ExtendedIdTooBig { id: 0x8000_0123 }, 0..8),
        ("20000004#R", Kind::RemoteErrorFrame, 9..10),
        ("123#R9", Kind::RemoteLength, 5..6),
        ("123#R8_8", Kind::RawDlc, 6..8),
        ("123#R4_9", Kind::RawDlcWithoutEightBytes { bytes: 4 }, 5..8),
        ("123#R8_99", Kind::TrailingText, 8..9),
        ("123#1122334455667788_", Kind::RawDlc, 20..21),
        ("123#11_9", Kind::RawDlcWithoutEightBytes { bytes: 1 }, 4..8),
        ("123##", Kind::MissingFlags, 5..5),
        ("123##x", Kind::MissingFlags, 5..6),
        ("123##111_9", Kind::TrailingText, 8..10),
        ("123#1", Kind::HalfByte, 4..5),
        ("123#11.", Kind::HalfByte, 6..7),
        ("123#1.1", Kind::HalfByte, 4..5),
        ("123#11 22", Kind::NotHex { found: ' ' }, 6..7),
        ("123#112233445566778899", Kind::TooLong { max: 8 }, 20..22),
        (long.as_str(), Kind::TooLong { max: 64 }, 134..136),
    ] {
        assert_eq!(text.parse::<Frame>(), Err(FrameTextError { kind, range }), "{text}");
    }
}

#[test]
fn prints_like_candump() {
    for (text, printed) in [
        ("123#11.22", "123#1122"),
        ("12345678#", "12345678#"),
        ("123#r0", "123#R"),
        ("123#R8_f", "123#R8_F"),
        ("123#1122334455667788_9", "123#1122334455667788_9"),
        ("123##1aabb", "123##5AABB"),
        ("20000004#0000000000000000", "20000004#0000000000000000"),
    ] {
        assert_eq!(text.parse::<Frame>().unwrap().to_string(), printed);
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(frame in arbitrary::wire_frame()) {
        prop_assert_eq!(frame.to_string().parse(), Ok(frame));
    }

    #[test]
    fn printing_a_malformed_frame_makes_a_frame(frame in arbitrary::any_frame()) {
        let read = frame.to_string().parse::<Frame>();
        prop_assert!(read.is_ok(), "{}", frame);
        prop_assert_eq!(read.unwrap().to_string(), frame_without_lost_bits(frame).to_string());
    }

    #[test]
    fn never_panics(text in "([0-9A-F]{3}|[0-9]{8})?#?[#R_.0-9A-F]{0,20}\\PC{0,3}") {
        let _ = text.parse::<Frame>().map_err(|error| (error.to_string(), text[error.range].len()));
    }
}

/// FDF is always read as set.
fn frame_without_lost_bits(mut frame: Frame) -> Frame {
    if frame.format == FrameFormat::Fd {
        frame.flags |= CANFD_FDF;
    }
    frame
}
