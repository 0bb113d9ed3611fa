//! The usual lines of a log, in one pass over their bytes. All others are left to [`super::Line::parse`].

use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_MAX_DLEN, CAN_SFF_MASK, CANFD_FDF, CANFD_MAX_DLEN, FrameFormat, RawId,
};

use crate::{Buses, Clock, Direction, Record};

/// Longest line that is read here, in bytes: time, name, identifier, 64 bytes and direction.
pub(super) const MOST_BYTES: usize = 32 + 64 + 16 + 2 * CANFD_MAX_DLEN;

/// Digits of seconds: until 2286.
const MOST_SECONDS: usize = 10;

const NOT_HEX: u8 = 0xFF;

/// The value of each hexadecimal digit.
const HEX: [u8; 256] = {
    let mut table = [NOT_HEX; 256];
    let mut digit = 0_u8;
    while digit < 16 {
        let letter = digit.wrapping_sub(10);
        if digit < 10 {
            table[(b'0' + digit) as usize] = digit;
        } else {
            table[(b'A' + letter) as usize] = digit;
            table[(b'a' + letter) as usize] = digit;
        }
        digit += 1;
    }
    table
};

/// Reads the line at the beginning of `bytes` and returns its length with its end. `None`, with the record in any state, for a
/// line that is unusual or wrong.
#[inline]
pub(super) fn read(bytes: &[u8], buses: &mut Buses, record: &mut Record) -> Option<usize> {
    let (at_ns, rest) = time(bytes)?;
    let space = rest.iter().take(MOST_BYTES).position(|byte| *byte <= b' ')?;
    let (name, rest) = rest.split_at(space);
    let rest = rest.strip_prefix(b" ")?;
    let (id, is_long, rest) = identifier(rest)?;
    let frame = &mut record.frame;
    let (rest, most) = match rest {
        [b'#', flags, rest @ ..] => {
            let flags = HEX[usize::from(*flags)];
            if flags == NOT_HEX {
                return None;
            }
            (frame.format, frame.flags) = (FrameFormat::Fd, flags | CANFD_FDF);
            (rest, CANFD_MAX_DLEN)
        }
        _ => {
            (frame.format, frame.flags) = (FrameFormat::Classic, 0);
            (rest, CAN_MAX_DLEN)
        }
    };
    frame.id = match (is_long, id) {
        (false, id) if id <= CAN_SFF_MASK => RawId(id),
        (true, id) if id <= CAN_EFF_MASK => RawId(id | CAN_EFF_FLAG),
        (true, id) if id & !CAN_EFF_MASK == CAN_ERR_FLAG => RawId(id),
        _ => return None,
    };
    frame.len8_dlc = 0;
    frame.data = [0; CANFD_MAX_DLEN];
    let mut len = 0;
    let (pairs, _) = rest.as_chunks::<2>();
    for (byte, [high, low]) in frame.data[..most].iter_mut().zip(pairs) {
        let (high, low) = (HEX[usize::from(*high)], HEX[usize::from(*low)]);
        if (high | low) & 0xF0 != 0 {
            break;
        }
        *byte = high << 4 | low;
        len += 1;
    }
    frame.len = u8::try_from(len).ok()?;
    let end = rest.get(2 * len..)?;
    let (direction, after) = match end {
        [b'\n', ..] => (None, 1),
        [b' ', b'R', b'\n', ..] => (Some(Direction::Received), 3),
        [b' ', b'T', b'\n', ..] => (Some(Direction::Sent), 3),
        _ => return None,
    };
    record.bus = buses.index(name)?;
    (record.at_ns, record.clock, record.direction) = (at_ns, Clock::of(at_ns), direction);
    Some(bytes.len() - end.len() + after)
}

/// `(1700000000.123456) ` in ns.
#[inline]
fn time(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let rest = bytes.strip_prefix(b"(")?;
    let (seconds, digits) = number(rest);
    if !(1..=MOST_SECONDS).contains(&digits) {
        return None;
    }
    let rest = rest[digits..].strip_prefix(b".")?;
    let (part, digits) = number(rest);
    let part_ns = match digits {
        6 => part * 1000,
        9 => part,
        _ => return None,
    };
    Some((seconds.checked_mul(1_000_000_000)?.checked_add(part_ns)?, rest[digits..].strip_prefix(b") ")?))
}

/// Up to 16 digits, and how many there are.
#[inline]
fn number(bytes: &[u8]) -> (i64, usize) {
    let (mut value, mut digits) = (0_i64, 0);
    for byte in bytes.iter().take(16) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + i64::from(digit);
        digits += 1;
    }
    (value, digits)
}

/// Three or eight digits and `#`.
#[inline]
fn identifier(bytes: &[u8]) -> Option<(u32, bool, &[u8])> {
    let (digits, is_long) = match bytes {
        [_, _, _, b'#', ..] => (3, false),
        [_, _, _, _, _, _, _, _, b'#', ..] => (8, true),
        _ => return None,
    };
    let mut id = 0;
    let mut all = 0;
    for byte in &bytes[..digits] {
        let digit = HEX[usize::from(*byte)];
        all |= digit;
        id = id << 4 | u32::from(digit & 0xF);
    }
    (all & 0xF0 == 0).then(|| (id, is_long, &bytes[digits + 1..]))
}
