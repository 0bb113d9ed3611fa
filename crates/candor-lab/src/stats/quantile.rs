//! Shares: of a series, and of the cases that an interval covers.

use std::fmt;

/// A share in parts per million, at most 1 000 000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile(pub(super) u32);

impl Quantile {
    pub const P50: Self = Self(500_000);
    pub const P90: Self = Self(900_000);
    pub const P99: Self = Self(990_000);
    /// The longest of these frames.
    pub const MAX: Self = Self(1_000_000);

    /// Index of the quantile among sorted samples (nearest rank).
    pub fn place(self, count: usize) -> usize {
        usize::try_from(self.rank(count) - 1).unwrap_or(usize::MAX).min(count.saturating_sub(1))
    }

    /// Rank among sorted samples, from 1 (nearest rank).
    pub(super) fn rank(self, count: usize) -> u64 {
        (count as u64 * u64::from(self.0)).div_ceil(1_000_000).max(1)
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", f64::from(self.0) / 1e4)
    }
}

/// Confidence of an interval in parts per million, between 0 and 1 000 000 exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(pub(super) u32);

impl Confidence {
    pub const P95: Self = Self(950_000);

    /// Probability of a miss, on both sides together.
    pub(super) fn miss(self) -> f64 {
        f64::from(1_000_000 - self.0) / 1e6
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", f64::from(self.0) / 1e4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_nearest_ranks() {
        let places = [(500_000, 4), (500_000, 5), (1_000_000, 4), (0, 4), (990_000, 0)];
        assert_eq!(places.map(|(ppm, count)| Quantile(ppm).place(count)), [1, 2, 3, 0, 0]);
    }

    #[test]
    fn quantiles_are_named_by_their_percentage() {
        let named = [500_000, 999_000, 999_999, 0, 1_000_000].map(|ppm| Quantile(ppm).to_string());
        assert_eq!(named, ["p50", "p99.9", "p99.9999", "p0", "p100"]);
    }
}
