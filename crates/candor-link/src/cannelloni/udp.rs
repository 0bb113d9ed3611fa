//! Datagrams of cannelloni.

use candor_core::frame::Frame;

use super::{UDP_OP_DATA, UDP_VERSION, read, write};
use crate::stream::{Step, fault};
use crate::{Cannot, DecodeError, Fault};

/// Longest datagram in bytes: what UDP over IPv4 can carry.
pub const MAX_DATAGRAM_BYTES: usize = 65_507;

const HEADER_BYTES: usize = 5;

/// A datagram, checked to its end.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'b> {
    /// Number of the datagram, which starts over after 255.
    pub sequence: u8,
    /// Number of frames. 0 is possible.
    pub count: u16,
    frames: &'b [u8],
}

impl<'b> Datagram<'b> {
    /// Reads and checks a whole datagram. Positions in errors count from its start.
    ///
    /// # Errors
    /// If a byte is wrong, missing or left over. No frame of such a datagram is given out.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, DecodeError> {
        let Some(([version, operation, sequence, high, low], frames)) = bytes.split_first_chunk() else {
            return fault(0, bytes.len(), Fault::Truncated(HEADER_BYTES - bytes.len()));
        };
        if *version != UDP_VERSION {
            return fault(0, 0, Fault::VersionUdp(*version));
        }
        if *operation != UDP_OP_DATA {
            return fault(0, 1, Fault::Operation(*operation));
        }
        let count = u16::from_be_bytes([*high, *low]);
        let mut rest = frames;
        for _ in 0..count {
            let at = bytes.len() - rest.len();
            match read(at as u64, rest)? {
                Step::Item(_, len) => rest = rest.get(len..).unwrap_or_default(),
                Step::Needs(needs) => return fault(0, bytes.len(), Fault::Truncated(needs - rest.len())),
                Step::Skip(_) => {}
            }
        }
        if !rest.is_empty() {
            return fault(0, bytes.len() - rest.len(), Fault::Trailing(rest.len()));
        }
        Ok(Self { sequence: *sequence, count, frames })
    }

    /// The frames in their order.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + use<'b> {
        let mut rest = self.frames;
        std::iter::from_fn(move || match read(0, rest) {
            Ok(Step::Item(frame, len)) => {
                rest = rest.get(len..).unwrap_or_default();
                Some(frame)
            }
            // Only the end: every frame was checked.
            _ => None,
        })
    }
}

/// A datagram in the making, in a buffer of the caller.
#[derive(Debug)]
pub struct Packet<'b> {
    bytes: &'b mut Vec<u8>,
    start: usize,
    count: u16,
}

impl<'b> Packet<'b> {
    /// Starts a datagram at the end of the buffer.
    pub fn new(sequence: u8, bytes: &'b mut Vec<u8>) -> Self {
        let start = bytes.len();
        bytes.extend([UDP_VERSION, UDP_OP_DATA, sequence, 0, 0]);
        Self { bytes, start, count: 0 }
    }

    /// Length so far in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Whether there is no frame in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// As [`write()`]; the datagram is unchanged then.
    pub fn push(&mut self, frame: &Frame) -> Result<(), Cannot> {
        write(frame, self.bytes)?;
        self.count = self.count.saturating_add(1);
        self.bytes[self.start + 3..self.start + HEADER_BYTES].copy_from_slice(&self.count.to_be_bytes());
        Ok(())
    }
}
