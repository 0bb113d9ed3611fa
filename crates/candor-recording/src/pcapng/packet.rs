//! A frame as a packet of link type 227.
//!
//! ```text
//!  identifier and flags, big-endian │ length │ FD flags │ 0 │ raw DLC │ payload
//!         4                             1         1       1     1
//! ```

use candor_core::frame::{CAN_MAX_DLEN, CANFD_FDF, CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat, RawId};

/// Bytes before the payload.
pub(super) const HEADER: usize = 8;
/// In the byte after the priority of a CAN XL frame, which others have for their length.
const CANXL_XLF: u8 = 0x80;

/// The header, and how many bytes of payload follow.
#[inline]
pub(super) fn header(frame: &Frame) -> ([u8; HEADER], usize) {
    let [a, b, c, d] = frame.id.0.to_be_bytes();
    let (flags, raw_dlc) = match frame.format {
        FrameFormat::Classic if frame.raw_dlc() > 8 => (0, frame.raw_dlc()),
        FrameFormat::Classic => (0, 0),
        FrameFormat::Fd => (frame.flags | CANFD_FDF, 0),
    };
    // A remote frame has a length and no data.
    let data = if frame.id.is_rtr() && !frame.id.is_err() { 0 } else { frame.payload().len() };
    ([a, b, c, d, frame.len, flags, 0, raw_dlc], data)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Frame,
    Xl,
}

/// Reads a packet into `frame`. Bytes of the payload that are not there are 0.
pub(super) fn read(packet: &[u8], frame: &mut Frame) -> Result<Found, String> {
    let Some(([a, b, c, d, len, flags, _, raw_dlc], payload)) = packet.split_first_chunk::<HEADER>() else {
        return Err(format!("a packet of {} bytes is shorter than the header of a CAN frame, 8", packet.len()));
    };
    if len & CANXL_XLF != 0 {
        return Ok(Found::Xl);
    }
    let is_fd = packet.len() == CANFD_MTU || flags & CANFD_FDF != 0;
    let (format, most) = if is_fd { (FrameFormat::Fd, CANFD_MAX_DLEN) } else { (FrameFormat::Classic, CAN_MAX_DLEN) };
    if usize::from(*len) > most {
        return Err(format!("a frame with a length of {len} bytes; at most {most} are possible"));
    }
    let id = RawId(u32::from_be_bytes([*a, *b, *c, *d]));
    let has_data = is_fd || id.is_err() || !id.is_rtr();
    let mut data = [0; CANFD_MAX_DLEN];
    let there = if has_data { payload.len().min(usize::from(*len)) } else { 0 };
    data[..there].copy_from_slice(&payload[..there]);
    let is_raw_dlc = !is_fd && usize::from(*len) == CAN_MAX_DLEN && (9..=15).contains(raw_dlc);
    *frame = Frame {
        id,
        len: *len,
        flags: if is_fd { flags | CANFD_FDF } else { 0 },
        format,
        len8_dlc: if is_raw_dlc { *raw_dlc } else { 0 },
        data,
    };
    Ok(Found::Frame)
}
