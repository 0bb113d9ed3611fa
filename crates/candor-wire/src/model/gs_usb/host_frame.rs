//! `struct gs_host_frame`, in both directions.
//!
//! ```text
//!  byte 0        4        8     9         10      11    12                  20 or 76
//!       │echo id │can id  │dlc  │channel  │flags  │pad  │data, 8 or 64 bytes│stamp in us, 4 bytes, to the host only│
//! ```
//!
//! Little endian. The echo id is the driver's slot, returned when the frame was sent; 0xffff_ffff marks a frame of another
//! node. Payloads have their full size; the driver leaves the bytes after the length uninitialised.

use candor_core::frame::{
    CAN_MAX_DLEN, CANFD_BRS, CANFD_ESI, CANFD_FDF, CANFD_MAX_DLEN, FD_LENGTHS, Frame, FrameFormat, fd_dlc,
};

use super::is_fd;
use crate::exchange::Channel;
use crate::model::{Content, Malformed, Message, on_the_wire, stamp_us};

/// `sizeof(struct gs_host_frame)` up to the payload.
const HEADER: usize = 12;
/// `GS_HOST_FRAME_ECHO_ID_RX`: not an echo.
const NO_ECHO: u32 = u32::MAX;
/// `GS_CAN_FLAG_*`.
const FLAG_OVERFLOW: u8 = 0x01;
const FLAG_FD: u8 = 0x02;
const FLAG_BRS: u8 = 0x04;
const FLAG_ESI: u8 = 0x08;

pub(super) fn decode(bytes: &[u8]) -> Result<(Channel, u32, Frame), Malformed> {
    let (header, payload) = bytes.split_first_chunk::<HEADER>().ok_or(Malformed)?;
    let &[e0, e1, e2, e3, i0, i1, i2, i3, dlc, channel, flags, _pad] = header;
    let slot = u32::from_le_bytes([e0, e1, e2, e3]);
    if slot == NO_ECHO || dlc > 15 {
        return Err(Malformed);
    }
    let is_fd = flags & FLAG_FD != 0;
    let id = on_the_wire(u32::from_le_bytes([i0, i1, i2, i3]), is_fd);
    let len = if is_fd { FD_LENGTHS[usize::from(dlc)] } else { dlc.min(8) };
    let mut frame = Frame {
        format: if is_fd { FrameFormat::Fd } else { FrameFormat::Classic },
        id,
        len,
        len8_dlc: if !is_fd && dlc > 8 { dlc } else { 0 },
        flags: 0,
        data: [0; CANFD_MAX_DLEN],
    };
    if is_fd {
        frame.flags = CANFD_FDF;
        frame.flags |= if flags & FLAG_BRS != 0 { CANFD_BRS } else { 0 };
        frame.flags |= if flags & FLAG_ESI != 0 { CANFD_ESI } else { 0 };
    }
    if !id.is_rtr() {
        let data = payload.get(..usize::from(len)).ok_or(Malformed)?;
        frame.data[..data.len()].copy_from_slice(data);
    }
    Ok((Channel(channel), slot, frame))
}

pub(super) fn size(message: &Message, is_stamped: bool) -> usize {
    let payload = if is_fd(&message.content) { CANFD_MAX_DLEN } else { CAN_MAX_DLEN };
    HEADER + payload + if is_stamped { 4 } else { 0 }
}

/// Appends a message to the driver.
pub(super) fn encode(message: &Message, is_stamped: bool, into: &mut Vec<u8>) {
    match &message.content {
        Content::Received(frame) => encode_frame(message, NO_ECHO, frame, into),
        Content::Sent { slot, frame } => encode_frame(message, *slot, frame, into),
        Content::Error(report) => {
            let (id, data) = report.frame();
            encode_header(message, NO_ECHO, id, 8, 0, into);
            into.extend_from_slice(&data);
        }
        // The transfer fails instead: Aborts::FailTransfer.
        Content::Failed { .. } => return,
    }
    if is_stamped {
        into.extend_from_slice(&stamp_us(message.at).to_le_bytes());
    }
}

fn encode_frame(message: &Message, echo: u32, frame: &Frame, into: &mut Vec<u8>) {
    match frame.format {
        FrameFormat::Classic => {
            encode_header(message, echo, frame.id.0, frame.raw_dlc(), 0, into);
            into.extend_from_slice(&frame.data[..CAN_MAX_DLEN]);
        }
        FrameFormat::Fd => {
            let mut flags = FLAG_FD;
            flags |= if frame.flags & CANFD_BRS != 0 { FLAG_BRS } else { 0 };
            flags |= if frame.flags & CANFD_ESI != 0 { FLAG_ESI } else { 0 };
            encode_header(message, echo, frame.id.0, fd_dlc(frame.len), flags, into);
            into.extend_from_slice(&frame.data);
        }
    }
}

fn encode_header(message: &Message, echo: u32, id: u32, dlc: u8, flags: u8, into: &mut Vec<u8>) {
    let flags = flags | if message.overflow { FLAG_OVERFLOW } else { 0 };
    into.extend_from_slice(&echo.to_le_bytes());
    into.extend_from_slice(&id.to_le_bytes());
    into.extend_from_slice(&[dlc, message.channel.0, flags, 0]);
}
