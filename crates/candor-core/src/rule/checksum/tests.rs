use std::sync::LazyLock;

use super::*;
use crate::frame::RawId;
use crate::rule::{Modifications, Operand, Verdict, change};

/// CRC-8 with polynomial 0x1D, most significant bit first.
static TABLE: LazyLock<[u8; 256]> = LazyLock::new(|| {
    let remainder = |byte: u8| (0..8).fold(byte, |crc, _| if crc & 0x80 == 0 { crc << 1 } else { crc << 1 ^ 0x1D });
    std::array::from_fn(|index| remainder(u8::try_from(index).unwrap()))
});

fn span(from: i8, to: i8, result: i8) -> ChecksumSpan {
    ChecksumSpan { from, to, result }
}

fn xor(span: ChecksumSpan, init: u8) -> Checksums {
    Checksums { xor: Some(XorChecksum { span, init }), crc8: None }
}

fn crc8(span: ChecksumSpan, profile: Crc8Profile) -> Checksums {
    let crc8 = Crc8Checksum { span, init: 0xFF, final_xor: 0xFF, table: *TABLE, profile };
    Checksums { crc8: Some(crc8), xor: None }
}

/// A modification that changes nothing, so that checksums are computed.
fn no_op() -> Modifications {
    Modifications { or: Operand { data: Some([0; 64]), ..Operand::default() }, ..Modifications::default() }
}

fn after(checksums: &Checksums, modifications: &Modifications, text: &str) -> String {
    let mut frame: Frame = text.parse().unwrap();
    assert_eq!(change(&mut frame, modifications, checksums), Verdict::Send);
    frame.to_string()
}

/// Seen in a guest with Debian's 6.1 kernel.
#[test]
fn golden_vectors_of_xor() {
    for (checksum, before, expected) in [
        (xor(span(0, 6, 7), 0), "123#0102040810204000", "123#010204081020407F"),
        (xor(span(0, -2, -1), 0), "123#01020400", "123#01020407"),
        (xor(span(0, -2, -1), 0), "123#", "123#"),
        (xor(span(-8, -2, -1), 0xA5), "123#0102040810204000", "123#01020408102040DA"),
        (xor(span(-8, -2, -1), 0xA5), "123#01020400", "123#01020400"),
    ] {
        assert_eq!(after(&checksum, &no_op(), before), expected);
    }
}

/// Seen in a guest with Debian's 6.1 kernel, relative positions by a model.
#[test]
fn golden_vectors_of_crc8() {
    let counting: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
    let seven = "123#0102030405060700";
    for (checksum, before, expected) in [
        (crc8(span(0, 6, 7), Crc8Profile::None), seven, "123#0102030405060744"),
        (crc8(span(0, -2, -1), Crc8Profile::None), "123#01020300", "123#010203C1"),
        (crc8(span(1, -1, 0), Crc8Profile::None), seven, "123#E002030405060700"),
        (crc8(span(1, -1, 0), Crc8Profile::None), "123#01020300", "123#26020300"),
        (crc8(span(0, 6, 7), Crc8Profile::Byte(0x2F)), seven, "123#0102030405060760"),
        (crc8(span(0, 6, 7), Crc8Profile::ByteByCounter(counting)), seven, "123#0102030405060766"),
        (crc8(span(0, 6, 7), Crc8Profile::IdXor), seven, "123#01020304050607E1"),
    ] {
        assert_eq!(after(&checksum, &no_op(), before), expected);
    }
}

#[test]
fn the_identifier_profile_takes_the_identifier_that_is_sent() {
    let set = Operand { id: Some(0x456), ..Operand::default() };
    let modifications = Modifications { set, ..Modifications::default() };
    let checksum = crc8(span(0, 6, 7), Crc8Profile::IdXor);
    assert_eq!(after(&checksum, &modifications, "123#0102030405060700"), "456#01020304050607B8");
}

#[test]
fn xor_covers_the_crc() {
    let both = Checksums { xor: xor(span(0, 6, 7), 0).xor, ..crc8(span(0, 5, 6), Crc8Profile::None) };
    assert_eq!(after(&both, &no_op(), "123#0102030405060000"), "123#010203040506F7F0");
}

#[test]
fn without_a_modification_there_is_no_checksum() {
    assert_eq!(after(&xor(span(0, 6, 7), 0), &Modifications::default(), "123#01"), "123#01");
}

#[test]
fn absolute_positions_are_not_bounded_by_the_length() {
    let mut frame: Frame = "123#0102".parse().unwrap();
    change(&mut frame, &no_op(), &xor(span(0, 6, 7), 0));
    assert_eq!((frame.len, frame.data[7]), (2, 3), "written, though nobody sees it");
}

#[test]
fn positions_that_no_job_can_have_are_left_alone() {
    for outside in [span(8, 0, 0), span(0, 8, 0), span(0, 0, 8), span(0, 0, 127)] {
        assert_eq!(after(&xor(outside, 0x55), &no_op(), "123#0102"), "123#0102");
    }
    assert_ne!(after(&xor(span(8, 8, 8), 0x55), &no_op(), "123##100112233445566778899"), "123##500112233445566778899");
}

/// All positions and lengths against a walk with signed indices.
#[test]
fn every_span_of_classic_frames() {
    let data = [0x11, 0x22, 0x43, 0x84, 0xA5, 0x06, 0xF7, 0x28];
    for len in 0..=8_u8 {
        let mut frame = Frame::classic(RawId(0x123), &data).unwrap();
        frame.len = len;
        for code in 0..16 * 16 * 16_i16 {
            let position = |shift: u32| i8::try_from((code >> shift & 15) - 8).unwrap();
            let span = span(position(0), position(4), position(8));
            for checksums in [xor(span, 0x5A), crc8(span, Crc8Profile::Byte(7))] {
                let mut computed = frame;
                checksums.apply(&mut computed);
                assert_eq!(computed, by_signed_walk(&checksums, frame), "{span:?} of {len}");
            }
        }
    }
}

fn by_signed_walk(checksums: &Checksums, mut frame: Frame) -> Frame {
    let span = checksums.xor.map(|xor| xor.span).or_else(|| checksums.crc8.map(|crc8| crc8.span)).unwrap();
    let absolute = |position: i8| i32::from(position) + if position < 0 { i32::from(frame.len) } else { 0 };
    let (from, to, result) = (absolute(span.from), absolute(span.to), absolute(span.result));
    if from < 0 || to < 0 || result < 0 {
        return frame;
    }
    let mut index = from;
    let mut xor = 0x5A;
    let mut crc = 0xFF;
    loop {
        let byte = frame.data[usize::try_from(index).unwrap()];
        xor ^= byte;
        crc = TABLE[usize::from(crc ^ byte)];
        if index == to {
            break;
        }
        index += (to - from).signum();
    }
    crc = TABLE[usize::from(crc ^ 7)];
    frame.data[usize::try_from(result).unwrap()] = if checksums.xor.is_some() { xor } else { crc ^ 0xFF };
    frame
}
