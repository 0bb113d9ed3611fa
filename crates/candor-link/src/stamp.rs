//! Times of frames, and where frames come from.

use std::num::NonZeroU64;

/// A time and its clock. Times of different clocks cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since the start of the clock.
    pub ns: u64,
    /// The clock.
    pub clock: Clock,
}

/// The clock of a [`Stamp`], always of the host that received the frame from its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_REALTIME`: since 1970-01-01 00:00 UTC, with the steps of the host's clock.
    Realtime,
    /// `CLOCK_MONOTONIC`: since the host started.
    Monotonic,
    /// A counter of the CAN adapter.
    Adapter,
}

/// The gateway that received a frame from a bus. Every gateway needs its own, so that a frame that comes back is
/// recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin(pub NonZeroU64);

impl Origin {
    /// `None` for 0.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}
