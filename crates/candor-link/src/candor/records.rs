//! Batches, and the frames in them.

use candor_core::frame::Frame;

use super::layout::{HEADER_BYTES as PACKET_HEADER_BYTES, MAX_PACKET_BYTES, packet, read_packet};
use super::{BATCH, HEADER_BYTES, MAX_BATCH_BYTES, VERSION, number};
use crate::stream::{Step, fault};
use crate::{Cannot, Clock, DecodeError, Fault, Origin, Stamp};

pub(super) const BATCH_HEADER_BYTES: usize = 10;
/// Bytes of a record before its packet.
pub(super) const RECORD_HEADER_BYTES: usize = 20;

/// A frame, and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The gateway that received the frame from a bus.
    pub origin: Origin,
    /// When it did.
    pub stamp: Option<Stamp>,
    /// Number of links that the frame crossed before this one.
    pub hops: u8,
    /// The bus, a number of the sender's hello.
    pub bus: u8,
    /// The frame.
    pub frame: Frame,
}

/// A batch in the making, in a buffer of the caller.
#[derive(Debug)]
pub struct Batch<'b> {
    bytes: &'b mut Vec<u8>,
    start: usize,
    frames: u16,
}

impl<'b> Batch<'b> {
    /// Starts a batch at the end of the buffer.
    pub fn new(sequence: u64, bytes: &'b mut Vec<u8>) -> Self {
        let start = bytes.len();
        bytes.extend([BATCH, VERSION, 0, 0]);
        bytes.extend(sequence.to_be_bytes());
        bytes.extend([0, 0]);
        Self { bytes, start, frames: 0 }
    }

    /// Length so far in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Whether there is no frame in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Ends the batch. One without a frame is taken back.
    pub fn finish(self) {
        if self.is_empty() {
            self.bytes.truncate(self.start);
        }
    }

    /// Whether any frame fits.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        let body = self.bytes.len() - self.start - HEADER_BYTES;
        body + RECORD_HEADER_BYTES + MAX_PACKET_BYTES <= MAX_BATCH_BYTES
    }

    /// Appends a frame, whose sequence number follows that of the one before it. [`has_room`](Self::has_room) must be
    /// true.
    ///
    /// # Errors
    /// [`Cannot::Malformed`]; the batch is unchanged then.
    pub fn push(&mut self, record: &Record) -> Result<(), Cannot> {
        let start = self.bytes.len();
        self.bytes.extend(record.origin.0.get().to_be_bytes());
        let (ns, clock) = match record.stamp {
            None => (0, 0),
            Some(Stamp { ns, clock: Clock::Realtime }) => (ns, 1),
            Some(Stamp { ns, clock: Clock::Monotonic }) => (ns, 2),
            Some(Stamp { ns, clock: Clock::Adapter }) => (ns, 3),
        };
        self.bytes.extend(ns.to_be_bytes());
        self.bytes.extend([clock, record.hops, record.bus, 0]);
        if let Err(cannot) = packet(&record.frame, self.bytes) {
            self.bytes.truncate(start);
            return Err(cannot);
        }
        let len = self.bytes.len() - start - RECORD_HEADER_BYTES;
        self.bytes[start + RECORD_HEADER_BYTES - 1] = u8::try_from(len).unwrap_or(u8::MAX);
        self.frames = self.frames.saturating_add(1);
        let body = self.bytes.len() - self.start - HEADER_BYTES;
        let body = u16::try_from(body).unwrap_or(u16::MAX).to_be_bytes();
        self.bytes[self.start + 2..self.start + HEADER_BYTES].copy_from_slice(&body);
        self.bytes[self.start + 12..self.start + 14].copy_from_slice(&self.frames.to_be_bytes());
        Ok(())
    }
}

/// Reads the first record of these bytes.
pub(super) fn read_record(at: u64, bytes: &[u8]) -> Result<Step<Record>, DecodeError> {
    let needs = Ok(Step::Needs(RECORD_HEADER_BYTES + PACKET_HEADER_BYTES));
    let Some((origin, rest)) = bytes.split_first_chunk::<8>() else { return needs };
    let Some(origin) = Origin::new(number(origin)) else { return fault(at, 0, Fault::NoOrigin) };
    let Some((ns, rest)) = rest.split_first_chunk::<8>() else { return needs };
    let [clock, rest @ ..] = rest else { return needs };
    let clock = match clock {
        0 => None,
        1 => Some(Clock::Realtime),
        2 => Some(Clock::Monotonic),
        3 => Some(Clock::Adapter),
        other => return fault(at, 16, Fault::Clock(*other)),
    };
    let [hops, bus, len, rest @ ..] = rest else { return needs };
    let size = usize::from(*len);
    if !(PACKET_HEADER_BYTES..=MAX_PACKET_BYTES).contains(&size) {
        let needs = size.clamp(PACKET_HEADER_BYTES, MAX_PACKET_BYTES);
        return fault(at, 19, Fault::RecordLength { found: size, needs });
    }
    let Some(packet) = rest.get(..size) else { return Ok(Step::Needs(RECORD_HEADER_BYTES + size)) };
    let frame = read_packet(at + RECORD_HEADER_BYTES as u64, packet)?;
    let stamp = clock.map(|clock| Stamp { ns: number(ns), clock });
    Ok(Step::Item(Record { origin, stamp, hops: *hops, bus: *bus, frame }, RECORD_HEADER_BYTES + size))
}
