//! A second implementation: writes the frame as text, field by field as in the figures of the standard, stuffs the
//! text, and counts its characters.

use crate::bits::FrameBits;
use crate::frame::{Frame, FrameFormat};

/// Bit counts, CRC of a classic frame, and the levels of the frame without its intermission.
pub(super) fn count(frame: &Frame) -> (FrameBits, Option<u16>, String) {
    match frame.format {
        FrameFormat::Classic => classic(frame),
        FrameFormat::Fd => fd(frame),
    }
}

fn classic(frame: &Frame) -> (FrameBits, Option<u16>, String) {
    let rtr = if frame.id.is_rtr() { "1" } else { "0" };
    let id = frame.id.bits();
    let dlc = if frame.len8_dlc > 8 { frame.len8_dlc } else { frame.len };
    let mut bits = if frame.id.is_eff() {
        let id = format!("{id:029b}");
        format!("0{}11{}{rtr}00{dlc:04b}", &id[..11], &id[11..])
    } else {
        format!("0{id:011b}{rtr}00{dlc:04b}")
    };
    if rtr == "0" {
        for byte in frame.payload() {
            bits += &format!("{byte:08b}");
        }
    }
    let crc = remainder(&bits, "1100010110011001");
    let unstuffed = format!("{bits}{crc}");
    let stuffed = stuff(&unstuffed);
    let stuff_bits = stuffed.len() - unstuffed.len();
    let whole = format!("{stuffed}1 11 1111111 111").replace(' ', "");
    let counted = FrameBits { nominal: number(whole.len()), data: 0, stuff: number(stuff_bits) };
    (counted, Some(u16::from_str_radix(&crc, 2).unwrap()), without_intermission(&whole))
}

fn fd(frame: &Frame) -> (FrameBits, Option<u16>, String) {
    let id = frame.id.bits();
    let brs = frame.flags & 1;
    let esi = frame.flags >> 1 & 1;
    let arbitration = if frame.id.is_eff() {
        let id = format!("{id:029b}");
        format!("0{}11{}010{brs}", &id[..11], &id[11..])
    } else {
        format!("0{id:011b}0010{brs}")
    };
    let dlc = match frame.len {
        len @ 0..=8 => len,
        12 => 9,
        16 => 10,
        20 => 11,
        24 => 12,
        32 => 13,
        48 => 14,
        64 => 15,
        other => panic!("{other} is not a length of CAN FD"),
    };
    let mut unstuffed = format!("{arbitration}{esi}{dlc:04b}");
    for byte in frame.payload() {
        unstuffed += &format!("{byte:08b}");
    }
    let mut stuffed = stuff(&unstuffed);
    if stuffed.len() > 5 && stuff(&unstuffed[..unstuffed.len() - 1]).len() + 2 == stuffed.len() {
        stuffed.pop();
    }
    let stuff_bits = stuffed.len() - unstuffed.len();
    let switch_at = stuff(&arbitration).len();

    let gray = ["000", "001", "011", "010", "110", "111", "101", "100"][stuff_bits % 8];
    let parity = if gray.matches('1').count() % 2 == 1 { "1" } else { "0" };
    let divisor = if frame.len > 16 { "1100000010100010011001" } else { "110110100001011011" };
    // The CRC register starts with a one and zeros, as if the first bit, which is always dominant, were recessive.
    let crc = remainder(&format!("1{}{gray}{parity}", &stuffed[1..]), divisor);
    let mut whole = stuffed.clone();
    for four in format!("{gray}{parity}{crc}").as_bytes().chunks(4) {
        whole.push(if whole.ends_with('0') { '1' } else { '0' });
        whole += std::str::from_utf8(four).unwrap();
    }
    whole.push('1');
    let data = if brs == 1 { whole.len() - switch_at } else { 0 };
    whole += "11";
    whole += "1111111";
    whole += "111";
    let counted = FrameBits { nominal: number(whole.len() - data), data: number(data), stuff: number(stuff_bits) };
    (counted, None, without_intermission(&whole))
}

fn without_intermission(whole: &str) -> String {
    whole[..whole.len() - 3].to_owned()
}

fn stuff(bits: &str) -> String {
    let mut out = String::new();
    for bit in bits.chars() {
        out.push(bit);
        if out.ends_with("00000") {
            out.push('1');
        } else if out.ends_with("11111") {
            out.push('0');
        }
    }
    out
}

/// Long division of polynomials, with the bits shifted up by the degree.
fn remainder(bits: &str, divisor: &str) -> String {
    let degree = divisor.len() - 1;
    let mut rest: Vec<u8> = bits.bytes().chain(std::iter::repeat_n(b'0', degree)).collect();
    for start in 0..bits.len() {
        if rest[start] == b'1' {
            for (digit, by) in rest[start..].iter_mut().zip(divisor.bytes()) {
                *digit = if *digit == by { b'0' } else { b'1' };
            }
        }
    }
    String::from_utf8(rest[bits.len()..].to_vec()).unwrap()
}

fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap()
}
