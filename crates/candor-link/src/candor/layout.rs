//! Frames as packets of link type 227.
//!
//! ```text
//!  identifier and flags │ length │ FD flags │ 0 │ raw DLC │ data
//!          4                1         1       1      1      0 to 64
//! ```
//!
//! The identifier is big-endian. Remote frames have a length and no data. FD frames have the flag FDF.
//!
//! # Source
//! [LINKTYPE_CAN_SOCKETCAN](https://www.tcpdump.org/linktypes/LINKTYPE_CAN_SOCKETCAN.html).

use candor_core::frame::{CAN_MAX_DLEN, CANFD_FDF, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};

use crate::stream::fault;
use crate::{Cannot, DecodeError, Fault, check};

/// Longest packet in bytes.
pub const MAX_PACKET_BYTES: usize = HEADER_BYTES + CANFD_MAX_DLEN;

/// Bytes before the data.
pub(super) const HEADER_BYTES: usize = 8;

/// In the length: a CAN XL frame.
const XLF: u8 = 0x80;

/// Appends a frame.
///
/// # Errors
/// [`Cannot::Malformed`]. Nothing is written then.
pub fn packet(frame: &Frame, bytes: &mut Vec<u8>) -> Result<(), Cannot> {
    check::well_formed(frame)?;
    let (flags, raw_dlc) = match frame.format {
        FrameFormat::Classic => (0, if frame.raw_dlc() == frame.len { 0 } else { frame.raw_dlc() }),
        FrameFormat::Fd => (frame.flags | CANFD_FDF, 0),
    };
    bytes.extend(frame.id.0.to_be_bytes());
    bytes.extend([frame.len, flags, 0, raw_dlc]);
    if !frame.id.is_rtr() {
        bytes.extend(frame.payload());
    }
    Ok(())
}

/// Reads a packet that ends with its frame.
///
/// # Errors
/// If a byte is wrong, missing or left over. `at` is the position of its first byte.
pub fn read_packet(at: u64, packet: &[u8]) -> Result<Frame, DecodeError> {
    let Some(([a, b, c, d, len, flags, reserved, raw_dlc], payload)) = packet.split_first_chunk::<HEADER_BYTES>()
    else {
        return fault(at, packet.len(), Fault::Truncated(HEADER_BYTES - packet.len()));
    };
    let id = RawId(u32::from_be_bytes([*a, *b, *c, *d]));
    if len & XLF != 0 {
        return fault(at, 4, Fault::Xl);
    }
    let is_fd = flags & CANFD_FDF != 0;
    let length = usize::from(*len);
    let (format, flags) = if is_fd { (FrameFormat::Fd, *flags) } else { (FrameFormat::Classic, 0) };
    match format {
        FrameFormat::Fd if !id.carries_data() => return fault(at, 0, Fault::FdFlags(id.0)),
        FrameFormat::Fd if length > CANFD_MAX_DLEN => return fault(at, 4, Fault::FdLength(*len)),
        FrameFormat::Classic if length > CAN_MAX_DLEN => return fault(at, 4, Fault::ClassicLength(*len)),
        _ => {}
    }
    if *reserved != 0 {
        return fault(at, 6, Fault::Reserved(*reserved));
    }
    let has_raw_dlc = *raw_dlc != 0;
    if has_raw_dlc && (is_fd || length != CAN_MAX_DLEN || !(9..=15).contains(raw_dlc)) {
        return fault(at, 7, Fault::RawDlc(*raw_dlc));
    }
    let size = if id.is_rtr() { 0 } else { length };
    if payload.len() != size {
        return fault(at, 0, Fault::RecordLength { found: packet.len(), needs: HEADER_BYTES + size });
    }
    let mut frame = Frame { id, len: *len, flags, format, len8_dlc: *raw_dlc, ..Frame::EMPTY };
    frame.data[..size].copy_from_slice(payload);
    Ok(frame)
}
