//! Durations.

use core::fmt;
use core::time::Duration;

/// A duration, or a time since the critical instant, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ns(pub u64);

impl Ns {
    /// Whole milliseconds. The longest duration if there are too many.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Whole microseconds. The longest duration if there are too many.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// The next whole microsecond, for tables: equal times stay equal, and no bound is shown as shorter than it is.
    #[must_use]
    pub const fn up_to_us(self) -> Self {
        Self(self.0.div_ceil(1000).saturating_mul(1000))
    }

    /// The time from `earlier`; 0 if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<Duration> for Ns {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Ns {
    /// Milliseconds with as many of six decimals as needed, at least three: `1.250 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, below) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if below % 1_000 == 0 { write!(f, "{ms}.{:03} ms", below / 1_000) } else { write!(f, "{ms}.{below:06} ms") }
    }
}
