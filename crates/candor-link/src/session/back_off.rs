//! Pauses between attempts to connect.

use std::time::Duration;

use candor_core::random::SplitMix64;

/// Pauses that double with every failure, up to a limit. Half of each is random, so that peers do not come back at once
/// after a failure of their server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    first: Duration,
    most: Duration,
    failures: u32,
}

impl BackOff {
    /// Pauses from this one up to that.
    #[must_use]
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, failures: 0 }
    }

    /// The next pause: between half of `first · 2^n` and all of it.
    pub(crate) fn next(&mut self, random: &mut SplitMix64) -> Duration {
        let doubled = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(doubled).min(self.most);
        self.failures = self.failures.saturating_add(1);
        // Up to an hour fits into 32 bits.
        let us = usize::try_from(whole.as_micros()).unwrap_or(usize::MAX - 1);
        let half = us / 2;
        Duration::from_micros((half + random.below(us - half + 1)) as u64)
    }

    /// A connection that lasted longer than the longest pause starts over; a shorter one is a failure.
    pub(crate) fn was_up(&mut self, time: Duration) {
        if time >= self.most {
            self.failures = 0;
        }
    }
}
