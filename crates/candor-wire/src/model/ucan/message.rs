//! Messages of ucan, in both directions.
//!
//! ```text
//!  byte 0       2     3          4            8
//!       │length │type │subtype   │can id      │data, or the length of a remote frame│
//!   out │       │ 2   │slot      │            │                                     │  send
//!   in  │       │ 2   │0         │            │                                     │  received, or an error frame
//!   in  │       │ 1   │0         │slot│flags│slot│flags│…      flags: 1 sent, 0 not │  completed
//! ```
//!
//! Little endian. The length is that of the whole message and determines that of the data. A transfer to the host carries
//! several messages, each at an offset divisible by 4.

use std::num::NonZeroU8;

use candor_core::frame::{CAN_MAX_DLEN, CANFD_MAX_DLEN, Frame, FrameFormat};

use crate::exchange::Channel;
use crate::model::{Content, ErrorReport, Malformed, Message, Outgoing, on_the_wire};

/// Bytes before the content (`UCAN_IN_HDR_SIZE`).
const HEADER: usize = 4;
/// `UCAN_OUT_TX`.
const SEND: u8 = 2;
/// `UCAN_IN_TX_COMPLETE`.
const COMPLETED: u8 = 1;
/// `UCAN_IN_RX`.
const RECEIVED: u8 = 2;
const ERROR_BYTES: usize = HEADER + 4 + CAN_MAX_DLEN;

/// Decodes a frame of the driver.
pub(super) fn decode(bytes: &[u8], depth: NonZeroU8) -> Result<Outgoing, Malformed> {
    let (&[len_low, len_high, kind, slot, i0, i1, i2, i3], data) = bytes.split_first_chunk::<8>().ok_or(Malformed)?;
    let length = usize::from(u16::from_le_bytes([len_low, len_high]));
    if length != bytes.len() || kind != SEND || slot >= depth.get() || data.len() > CAN_MAX_DLEN {
        return Err(Malformed);
    }
    let id = on_the_wire(u32::from_le_bytes([i0, i1, i2, i3]), false);
    let mut frame = Frame {
        format: FrameFormat::Classic,
        id,
        len: u8::try_from(data.len()).map_err(|_too_long| Malformed)?,
        len8_dlc: 0,
        flags: 0,
        data: [0; CANFD_MAX_DLEN],
    };
    if id.is_rtr() {
        let &[dlc] = data else { return Err(Malformed) };
        frame.len = dlc.min(8);
    } else {
        frame.data[..data.len()].copy_from_slice(data);
    }
    Ok(Outgoing::Frame { channel: Channel(0), slot: slot.into(), frame })
}

/// Size of a message to the driver, including the overflow message after it.
pub(super) fn size(message: &Message) -> usize {
    let size = match &message.content {
        Content::Error(_) => ERROR_BYTES,
        Content::Failed { .. } | Content::Sent { .. } => HEADER + 2,
        Content::Received(frame) => HEADER + 4 + received_bytes(frame),
    };
    if message.overflow { size.next_multiple_of(4) + ERROR_BYTES } else { size }
}

/// Appends a message to the driver, and the overflow message after it.
pub(super) fn encode(message: &Message, into: &mut Vec<u8>) {
    let start = into.len();
    match &message.content {
        Content::Error(report) => encode_error(*report, into),
        Content::Failed { slot } => encode_completion(*slot, 0, into),
        Content::Received(frame) => encode_received(frame, into),
        Content::Sent { slot, .. } => encode_completion(*slot, 1, into),
    }
    if message.overflow {
        into.resize(start + (into.len() - start).next_multiple_of(4), 0);
        encode_error(ErrorReport::Overflow, into);
    }
}

/// Data bytes of a received frame; for a remote frame one byte, its length.
const fn received_bytes(frame: &Frame) -> usize {
    match frame.len {
        _ if frame.id.is_rtr() => 1,
        len @ 0..8 => len as usize,
        _ => 8,
    }
}

fn encode_received(frame: &Frame, into: &mut Vec<u8>) {
    let bytes = received_bytes(frame);
    encode_header(HEADER + 4 + bytes, RECEIVED, into);
    into.extend(frame.id.0.to_le_bytes());
    if frame.id.is_rtr() {
        into.push(frame.len.min(8));
    } else {
        into.extend_from_slice(&frame.data[..bytes]);
    }
}

fn encode_error(report: ErrorReport, into: &mut Vec<u8>) {
    let (id, data) = report.frame();
    encode_header(ERROR_BYTES, RECEIVED, into);
    into.extend(id.to_le_bytes());
    into.extend(data);
}

fn encode_completion(slot: u32, flags: u8, into: &mut Vec<u8>) {
    encode_header(HEADER + 2, COMPLETED, into);
    into.extend([u8::try_from(slot).unwrap_or(u8::MAX), flags]);
}

fn encode_header(length: usize, kind: u8, into: &mut Vec<u8>) {
    into.extend(u16::try_from(length).unwrap_or(0).to_le_bytes());
    into.extend([kind, 0]);
}
