//! The protocols of cannelloni.
//!
//! ```text
//!  UDP datagram: version 2 │ operation 0 │ sequence │ count │ frames       TCP: "CANNELLONIv1" │ frames
//!                    1           1            1         2
//!  frame: identifier and flags │ length, 0x80 in FD frames │ FD flags, in FD frames only │ data
//!                  4                      1                             1                  0 to 64
//! ```
//!
//! Numbers are big-endian. Remote frames have a length and no data. Both sides of a TCP connection greet. The sequence
//! number counts datagrams; cannelloni itself does not read it.
//!
//! # Source
//! [`doc/udp_format.md`](https://github.com/mguentner/cannelloni/blob/a7776f8/doc/udp_format.md),
//! [`doc/tcp_protocol.md`](https://github.com/mguentner/cannelloni/blob/a7776f8/doc/tcp_protocol.md) and
//! [`parser.cpp`](https://github.com/mguentner/cannelloni/blob/a7776f8/parser.cpp) of cannelloni 2.1.2.

mod udp;
mod window;

pub use udp::{Datagram, MAX_DATAGRAM_BYTES, Packet};
pub use window::{Arrival, Window};

use candor_core::frame::{CAN_MAX_DLEN, CANFD_FDF, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};

use crate::stream::{Grammar, Step, fault};
use crate::{Cannot, DecodeError, Fault, check};

/// Version of the UDP protocol.
pub const UDP_VERSION: u8 = 2;
/// The only operation of the UDP protocol that is in use.
pub const UDP_OP_DATA: u8 = 0;
/// First bytes of a TCP connection, in both directions.
pub const GREETING: [u8; 12] = *b"CANNELLONIv1";
/// Longest frame in bytes.
pub const MAX_FRAME_BYTES: usize = 6 + CANFD_MAX_DLEN;

/// In the length: the frame is an FD frame.
const FD: u8 = 0x80;

/// A TCP connection: a greeting, then frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp {
    is_greeted: bool,
}

impl Tcp {
    /// Whether the greeting is complete.
    #[must_use]
    pub const fn is_greeted(&self) -> bool {
        self.is_greeted
    }
}

impl Grammar for Tcp {
    type Item = Frame;

    fn read(&mut self, at: u64, bytes: &[u8]) -> Result<Step<Frame>, DecodeError> {
        if self.is_greeted {
            return read(at, bytes);
        }
        if let Some(wrong) = bytes.iter().zip(GREETING).position(|(found, expected)| *found != expected) {
            return fault(at, wrong, Fault::Greeting(bytes[wrong]));
        }
        if bytes.len() < GREETING.len() {
            return Ok(Step::Needs(GREETING.len()));
        }
        self.is_greeted = true;
        Ok(Step::Skip(GREETING.len()))
    }
}

/// Appends a frame.
///
/// # Errors
/// [`Cannot::Malformed`] and [`Cannot::RawDlc`]. Nothing is written then.
pub fn write(frame: &Frame, bytes: &mut Vec<u8>) -> Result<(), Cannot> {
    check::well_formed(frame)?;
    if frame.raw_dlc() != frame.len {
        return Err(Cannot::RawDlc);
    }
    bytes.extend(frame.id.0.to_be_bytes());
    match frame.format {
        FrameFormat::Classic => bytes.push(frame.len),
        FrameFormat::Fd => bytes.extend([frame.len | FD, frame.flags]),
    }
    if !frame.id.is_rtr() {
        bytes.extend(frame.payload());
    }
    Ok(())
}

/// Number of bytes of a frame.
pub(crate) fn size(frame: &Frame) -> usize {
    let header = if frame.format == FrameFormat::Fd { 6 } else { 5 };
    header + if frame.id.is_rtr() { 0 } else { frame.payload().len() }
}

/// Reads the first frame of these bytes.
fn read(at: u64, bytes: &[u8]) -> Result<Step<Frame>, DecodeError> {
    let Some(([a, b, c, d, coded], rest)) = bytes.split_first_chunk() else { return Ok(Step::Needs(5)) };
    let id = RawId(u32::from_be_bytes([*a, *b, *c, *d]));
    let len = coded & !FD;
    if coded & FD == 0 {
        if usize::from(len) > CAN_MAX_DLEN {
            return fault(at, 4, Fault::ClassicLength(len));
        }
        let size = if id.is_rtr() { 0 } else { usize::from(len) };
        let Some(payload) = rest.get(..size) else { return Ok(Step::Needs(5 + size)) };
        let mut frame = Frame { id, len, ..Frame::EMPTY };
        frame.data[..size].copy_from_slice(payload);
        return Ok(Step::Item(frame, 5 + size));
    }
    if !id.carries_data() {
        return fault(at, 0, Fault::FdFlags(id.0));
    }
    let size = usize::from(len);
    if size > CANFD_MAX_DLEN {
        return fault(at, 4, Fault::FdLength(len));
    }
    let Some((flags, payload)) = rest.split_first() else { return Ok(Step::Needs(6 + size)) };
    let Some(payload) = payload.get(..size) else { return Ok(Step::Needs(6 + size)) };
    let mut frame = Frame { id, len, flags: flags | CANFD_FDF, format: FrameFormat::Fd, ..Frame::EMPTY };
    frame.data[..size].copy_from_slice(payload);
    Ok(Step::Item(frame, 6 + size))
}

#[cfg(test)]
mod tests;
