//! Sends frames one after the other and measures each `write()`.

use std::time::Duration;

use candor_core::frame::{CAN_EFF_FLAG, CANFD_MTU, Frame, RawId};
use candor_io::can::CanSocket;
use candor_io::clock::{self, MonotonicNs};
use candor_io::errno::ENOBUFS;
use candor_lab::stats::{LatencyNs, Series};

use crate::cmd::method::Failed;

/// Pause after a refused frame.
const AGAIN_NS: i64 = 200_000;
/// Refusals after which the interface is considered stuck.
const MOST_REFUSED: usize = 1_000_000;
const PAYLOAD: [u8; 8] = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];

/// The frames to send, as with `cangen -I`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Identifiers {
    /// All 11-bit identifiers in turn; extended: the same numbers with 29 bits.
    Counted {
        is_extended: bool,
    },
    Fixed(Frame),
}

pub(super) struct Sent {
    /// Duration of each successful `write()`, without the overhead of the clock.
    pub(super) writes: Series,
    /// Refused calls (`ENOBUFS`).
    pub(super) refused: usize,
}

impl Identifiers {
    /// A frame of eight bytes with this identifier.
    pub(super) fn fixed(id: u32, is_extended: bool) -> Self {
        Self::Fixed(of_eight_bytes(id, is_extended))
    }

    /// The frame with this number.
    pub(super) fn frame(&self, number: usize) -> Frame {
        match self {
            Self::Counted { is_extended } => {
                of_eight_bytes(u32::try_from(number & 0x7FF).unwrap_or_default(), *is_extended)
            }
            Self::Fixed(frame) => *frame,
        }
    }

    /// The frame, or the first of them.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Counted { .. } => format!("{} and on", self.frame(0)),
            Self::Fixed(frame) => frame.to_string(),
        }
    }
}

fn of_eight_bytes(id: u32, is_extended: bool) -> Frame {
    let flag = if is_extended { CAN_EFF_FLAG } else { 0 };
    Frame::classic(RawId(id | flag), &PAYLOAD).expect("a classic frame has room for eight bytes")
}

/// Sends frames with a gap before each. Retries refused frames.
pub(super) fn send(socket: &CanSocket, identifiers: &Identifiers, gap: Duration, count: usize) -> Result<Sent, Failed> {
    let gap_ns = i64::try_from(gap.as_nanos())?;
    let (mut samples, mut refused) = (Vec::with_capacity(count), 0);
    for number in 0..count {
        let mut bytes = [0; CANFD_MTU];
        let frame = identifiers.frame(number);
        let length = frame.to_kernel(&mut bytes);
        if gap_ns > 0 {
            let MonotonicNs(now) = clock::monotonic()?;
            clock::sleep_until(MonotonicNs(now + gap_ns))?;
        }
        loop {
            let (MonotonicNs(first), MonotonicNs(start)) = (clock::monotonic()?, clock::monotonic()?);
            match socket.write(&bytes[..length]) {
                Ok(()) => {
                    let MonotonicNs(end) = clock::monotonic()?;
                    samples.push(LatencyNs(end - start - (start - first)));
                    break;
                }
                Err(error) if error.raw_os_error() == Some(ENOBUFS) && refused < MOST_REFUSED => {
                    refused += 1;
                    clock::sleep_until(MonotonicNs(start + AGAIN_NS))?;
                }
                Err(error) => return Err(format!("Cannot send {frame}: {error}").into()),
            }
        }
    }
    let writes = Series::new(samples).ok_or("--frames must be 1 or more")?;
    Ok(Sent { writes, refused })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_match_cangen() {
        let counted = |is_extended| Identifiers::Counted { is_extended };
        assert_eq!(counted(false).frame(0x7FF).to_string(), "7FF#0011223344556677");
        assert_eq!(counted(false).frame(0x800), counted(false).frame(0));
        assert_eq!(counted(true).frame(0x801).to_string(), "00000001#0011223344556677");
        assert_eq!(Identifiers::fixed(0x123, false).name(), "123#0011223344556677");
        assert_eq!(counted(true).name(), "00000000#0011223344556677 and on");
    }
}
