//! candor's own protocol. docs/link-protocol.md has every byte.
//!
//! ```text
//!  message: kind │ version 1 │ length │ body          hello, then batches and keep-alives, perhaps a close message
//!            1        1          2
//!  batch:   sequence of the first frame │ count │ records
//!                       8                    2
//!  record:  origin │ stamp │ clock │ hops │ bus │ length │ frame as a packet of link type 227
//!             8        8       1       1     1       1      8 to 72
//! ```

mod hello;
mod layout;
mod records;

pub use hello::{Bus, Hello};
pub use layout::{MAX_PACKET_BYTES, packet, read_packet};
pub use records::{Batch, Record};

use hello::read_hello;
use records::{BATCH_HEADER_BYTES, RECORD_HEADER_BYTES, read_record};

use crate::stream::{Grammar, Step, fault};
use crate::{DecodeError, Fault};

/// Version of the protocol, in every message.
pub const VERSION: u8 = 1;
/// Longest body of a batch in bytes.
pub const MAX_BATCH_BYTES: usize = 16_384;
/// Most buses in a hello.
pub const MAX_BUSES: usize = 16;
/// Longest name of a bus in bytes.
pub const MAX_NAME_BYTES: usize = 15;
/// Longest text of a close message in bytes.
pub const MAX_TEXT_BYTES: usize = 200;

const HEADER_BYTES: usize = 4;
const HELLO: u8 = 1;
const BATCH: u8 = 2;
const KEEP_ALIVE: u8 = 3;
const CLOSE: u8 = 4;
const KEEP_ALIVE_BYTES: usize = 8;

/// What a peer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The first message of a connection.
    Hello(Hello),
    /// A frame of a batch.
    Frame {
        /// Number of the frame in the epoch of the sender.
        sequence: u64,
        /// The frame, and what belongs to it.
        record: Record,
    },
    /// Nothing to send.
    KeepAlive {
        /// Number of the frame that the peer will send next.
        next: u64,
    },
    /// The peer closes the connection, for this reason.
    Close(String),
}

/// A connection: hello, then other messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Protocol {
    is_greeted: bool,
    batch: Option<Rest>,
}

/// The rest of a batch.
#[derive(Clone, Copy, Debug)]
struct Rest {
    sequence: u64,
    /// At least 1.
    frames: u16,
    bytes: usize,
}

impl Grammar for Protocol {
    type Item = Item;

    fn read(&mut self, at: u64, bytes: &[u8]) -> Result<Step<Item>, DecodeError> {
        if let Some(rest) = self.batch {
            return self.record(at, bytes, rest);
        }
        let [kind, rest @ ..] = bytes else { return Ok(Step::Needs(HEADER_BYTES)) };
        let (least, most) = match *kind {
            HELLO => (hello::FIXED_BYTES, hello::MAX_BYTES),
            BATCH => (BATCH_HEADER_BYTES, MAX_BATCH_BYTES),
            KEEP_ALIVE => (KEEP_ALIVE_BYTES, KEEP_ALIVE_BYTES),
            CLOSE => (0, MAX_TEXT_BYTES),
            other => return fault(at, 0, Fault::Kind(other)),
        };
        match *kind {
            HELLO if self.is_greeted => return fault(at, 0, Fault::SecondHello),
            HELLO => {}
            kind if !self.is_greeted && kind != CLOSE => return fault(at, 0, Fault::NoHello(kind)),
            _ => {}
        }
        let [version, rest @ ..] = rest else { return Ok(Step::Needs(HEADER_BYTES)) };
        if *version != VERSION {
            return fault(at, 1, Fault::Version(*version));
        }
        let [high, low, body @ ..] = rest else { return Ok(Step::Needs(HEADER_BYTES)) };
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        if !(least..=most).contains(&len) {
            return fault(at, 2, Fault::BodyLength { found: len, least, most });
        }
        let body_at = at + HEADER_BYTES as u64;
        if *kind == BATCH {
            return self.start_batch(body_at, body, len);
        }
        let Some(body) = body.get(..len) else { return Ok(Step::Needs(HEADER_BYTES + len)) };
        let item = match *kind {
            HELLO => Item::Hello(read_hello(body_at, body)?),
            KEEP_ALIVE => Item::KeepAlive { next: number(body) },
            _ => Item::Close(text(body_at, body)?),
        };
        self.is_greeted |= *kind == HELLO;
        Ok(Step::Item(item, HEADER_BYTES + len))
    }
}

impl Protocol {
    fn start_batch(&mut self, at: u64, body: &[u8], len: usize) -> Result<Step<Item>, DecodeError> {
        let Some(([first @ .., high, low], _)) = body.split_first_chunk::<BATCH_HEADER_BYTES>() else {
            return Ok(Step::Needs(HEADER_BYTES + BATCH_HEADER_BYTES));
        };
        let sequence = number(first);
        let frames = u16::from_be_bytes([*high, *low]);
        if sequence.checked_add(frames.into()).is_none() {
            return fault(at, 0, Fault::SequenceEnd(sequence));
        }
        if frames == 0 {
            return fault(at, 8, Fault::BatchEmpty);
        }
        self.batch = Some(Rest { sequence, frames, bytes: len - BATCH_HEADER_BYTES });
        Ok(Step::Skip(HEADER_BYTES + BATCH_HEADER_BYTES))
    }

    fn record(&mut self, at: u64, bytes: &[u8], rest: Rest) -> Result<Step<Item>, DecodeError> {
        let Rest { sequence, frames, bytes: left } = rest;
        let shortest = RECORD_HEADER_BYTES + layout::HEADER_BYTES;
        let needs = usize::from(frames) * shortest;
        if needs > left {
            return fault(at, 0, Fault::BatchLength { needs, left });
        }
        let (record, len) = match read_record(at, bytes.get(..left).unwrap_or(bytes))? {
            Step::Item(record, len) => (record, len),
            Step::Needs(needs) if needs > left => return fault(at, 0, Fault::BatchLength { needs, left }),
            Step::Needs(needs) => return Ok(Step::Needs(needs)),
            Step::Skip(len) => return Ok(Step::Skip(len)),
        };
        let left = left - len;
        if frames == 1 && left > 0 {
            return fault(at, len, Fault::Trailing(left));
        }
        self.batch = (frames > 1).then(|| Rest { sequence: sequence + 1, frames: frames - 1, bytes: left });
        Ok(Step::Item(Item::Frame { sequence, record }, len))
    }
}

/// Appends a keep-alive.
pub fn write_keep_alive(next: u64, bytes: &mut Vec<u8>) {
    bytes.extend([KEEP_ALIVE, VERSION, 0, 8]);
    bytes.extend(next.to_be_bytes());
}

/// Appends a close message. Characters that a text cannot have are left out, and a long text is cut.
pub fn write_close(reason: &str, bytes: &mut Vec<u8>) {
    let text: Vec<u8> = reason.bytes().filter(|byte| is_text(*byte)).take(MAX_TEXT_BYTES).collect();
    let len = u8::try_from(text.len()).unwrap_or(u8::MAX);
    bytes.extend([CLOSE, VERSION, 0, len]);
    bytes.extend(&text[..len.into()]);
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn text(at: u64, bytes: &[u8]) -> Result<String, DecodeError> {
    match bytes.iter().position(|byte| !is_text(*byte)) {
        Some(wrong) => fault(at, wrong, Fault::Character(bytes[wrong])),
        None => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

const fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'<' | b'>')
}

#[cfg(test)]
mod tests;
