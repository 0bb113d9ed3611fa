//! Numbers in lines of text.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK};
use candor_core::frame::{CANFD_MAX_DLEN, FD_LENGTHS, Frame, FrameFormat, RawId};

use crate::{Place, ReadError};

/// `12.345` in units of 10^-`places`, where `places` counts from the unit of the text: seconds in ns with 9, milliseconds in ns
/// with 6. Digits beyond are left out.
pub(crate) fn scaled(text: &str, places: usize) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let mut value: i64 = whole.parse().ok()?;
    let digits = part.bytes().chain(std::iter::repeat(b'0')).take(places);
    for digit in digits {
        value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    Some(value)
}

/// An identifier in its range.
pub(crate) fn identifier(id: u32, is_extended: bool) -> Result<RawId, String> {
    match (id, is_extended) {
        (0..=CAN_EFF_MASK, true) => Ok(RawId(id | CAN_EFF_FLAG)),
        (0..=CAN_SFF_MASK, false) => Ok(RawId(id)),
        _ => Err(format!("the identifier {id:X} does not fit into {} bits", if is_extended { 29 } else { 11 })),
    }
}

/// A classic frame with this DLC and these data bytes, of which a remote frame needs none.
pub(crate) fn classic(id: RawId, dlc: u8, is_remote: bool, data: &[u8]) -> Result<Frame, String> {
    if dlc > 15 {
        return Err(format!("a DLC of {dlc}; at most 15 is possible"));
    }
    let len = dlc.min(8);
    let id = RawId(id.0 | if is_remote { CAN_RTR_FLAG } else { 0 });
    let mut frame = Frame { id, len, len8_dlc: if dlc > 8 { dlc } else { 0 }, ..Frame::EMPTY };
    if !is_remote {
        fill(&mut frame, data)?;
    }
    Ok(frame)
}

/// A CAN FD frame of this length with these data bytes.
pub(crate) fn fd(id: RawId, len: u8, flags: u8, data: &[u8]) -> Result<Frame, String> {
    if usize::from(len) > CANFD_MAX_DLEN {
        return Err(format!("a length of {len} bytes; at most {CANFD_MAX_DLEN} are possible"));
    }
    let flags = flags | candor_core::frame::CANFD_FDF;
    let mut frame = Frame { id, len, flags, format: FrameFormat::Fd, ..Frame::EMPTY };
    fill(&mut frame, data)?;
    Ok(frame)
}

fn fill(frame: &mut Frame, data: &[u8]) -> Result<(), String> {
    let payload = frame.payload_mut();
    let Some(data) = data.get(..payload.len()) else {
        return Err(format!("{} of {} data bytes are there", data.len(), payload.len()));
    };
    payload.copy_from_slice(data);
    Ok(())
}

/// The payload length of a DLC of CAN FD.
pub(crate) fn fd_length(dlc: u8) -> Result<u8, String> {
    FD_LENGTHS.get(usize::from(dlc)).copied().ok_or_else(|| format!("a DLC of {dlc}; at most 15 is possible"))
}

/// Returns true if all of a line that has no end is there: its data bytes are the last column, so the frame shows that they are.
pub(crate) fn is_whole(frame: &Frame) -> bool {
    frame.id.carries_data() && frame.len > 0
}

/// The first words of a line, for an error.
pub(crate) fn excerpt(line: &str) -> String {
    const MOST: usize = 40;
    let start: String = line.chars().filter(|one| !one.is_control()).take(MOST).collect();
    let more = if line.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("{start}{more}")
}

/// The error of a line, which is cut if it is the last one and has no end.
pub(crate) fn wrong(at: Place, why: String, is_ended: bool) -> ReadError {
    if is_ended { ReadError::Bad { at, why } } else { ReadError::Cut { at, what: "a line" } }
}
