//! The first message of a connection.

use super::{HEADER_BYTES, HELLO, MAX_BUSES, MAX_NAME_BYTES, VERSION, is_text, number, text};
use crate::stream::fault;
use crate::{DecodeError, Fault, Origin};

const MAGIC: [u8; 6] = *b"CANDOR";

/// Body without buses.
pub(super) const FIXED_BYTES: usize = 37;
/// Longest body.
pub(super) const MAX_BYTES: usize = FIXED_BYTES + MAX_BUSES * (2 + MAX_NAME_BYTES);

/// A gateway and its buses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The gateway.
    pub origin: Origin,
    /// A number that changes when the sequence numbers of the sender start over, such as the time of its start.
    pub epoch: u64,
    /// Number of the frame that the sender will send first.
    pub next: u64,
    /// The sender closes the connection if it receives nothing for this long, in milliseconds. 0 means never.
    pub silence_ms: u32,
    /// The sender's buses, 1 to 16.
    pub buses: Vec<Bus>,
}

/// A bus of a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Number of the bus in records of the sender. No other of its buses has it.
    pub number: u8,
    /// 1 to 15 printable ASCII characters without `<` and `>`. A bus of both sides has the same name.
    pub name: String,
}

impl Hello {
    /// Appends the message. Buses beyond 16, and names that are empty or not possible, are left out.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend([HELLO, VERSION, 0, 0]);
        bytes.extend(MAGIC);
        bytes.extend([0, 0]);
        bytes.extend(self.origin.0.get().to_be_bytes());
        bytes.extend(self.epoch.to_be_bytes());
        bytes.extend(self.next.to_be_bytes());
        bytes.extend(self.silence_ms.to_be_bytes());
        let is_possible = |bus: &&Bus| (1..=MAX_NAME_BYTES).contains(&bus.name.len()) && bus.name.bytes().all(is_text);
        let buses: Vec<&Bus> = self.buses.iter().filter(is_possible).take(MAX_BUSES).collect();
        bytes.push(u8::try_from(buses.len()).unwrap_or(0));
        for bus in buses {
            bytes.extend([bus.number, u8::try_from(bus.name.len()).unwrap_or(0)]);
            bytes.extend(bus.name.as_bytes());
        }
        let len = u16::try_from(bytes.len() - start - HEADER_BYTES).unwrap_or(0);
        bytes[start + 2..start + HEADER_BYTES].copy_from_slice(&len.to_be_bytes());
    }
}

/// Reads a body of at least [`FIXED_BYTES`].
pub(super) fn read_hello(at: u64, body: &[u8]) -> Result<Hello, DecodeError> {
    let (fixed, mut rest) = body.split_at(FIXED_BYTES.min(body.len()));
    let field = |from: usize, to: usize| number(fixed.get(from..to).unwrap_or_default());
    if let Some(wrong) = fixed.iter().zip(MAGIC).position(|(found, expected)| *found != expected) {
        return fault(at, wrong, Fault::Magic(fixed[wrong]));
    }
    if let Some(wrong) = (6..8).find(|wrong| fixed.get(*wrong) != Some(&0)) {
        return fault(at, wrong, Fault::Reserved(fixed.get(wrong).copied().unwrap_or_default()));
    }
    let Some(origin) = Origin::new(field(8, 16)) else { return fault(at, 8, Fault::NoOrigin) };
    let silence_ms = u32::try_from(field(32, 36)).unwrap_or_default();
    let count = fixed.get(36).copied().unwrap_or_default();
    if !(1..=MAX_BUSES).contains(&usize::from(count)) {
        return fault(at, 36, Fault::BusCount(count));
    }
    let mut buses: Vec<Bus> = Vec::with_capacity(count.into());
    for _ in 0..count {
        let offset = body.len() - rest.len();
        let [number, len, more @ ..] = rest else { return fault(at, body.len(), Fault::Truncated(2 - rest.len())) };
        if buses.iter().any(|bus| bus.number == *number) {
            return fault(at, offset, Fault::BusTwice(*number));
        }
        let size = usize::from(*len);
        if !(1..=MAX_NAME_BYTES).contains(&size) {
            return fault(at, offset + 1, Fault::BusName(*len));
        }
        let Some((name, more)) = more.split_at_checked(size) else {
            return fault(at, body.len(), Fault::Truncated(size - more.len()));
        };
        buses.push(Bus { number: *number, name: text(at + offset as u64 + 2, name)? });
        rest = more;
    }
    if !rest.is_empty() {
        return fault(at, body.len() - rest.len(), Fault::Trailing(rest.len()));
    }
    Ok(Hello { origin, epoch: field(16, 24), next: field(24, 32), silence_ms, buses })
}
