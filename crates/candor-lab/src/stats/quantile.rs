//! Which share of a series is meant.

use std::fmt;

/// A share of a series in parts per million, at most the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile(u32);

impl Quantile {
    /// Half of the series.
    pub const P50: Self = Self(500_000);
    /// Nine tenths.
    pub const P90: Self = Self(900_000);
    /// 99 of 100.
    pub const P99: Self = Self(990_000);
    /// The whole: the longest of these frames.
    pub const MAX: Self = Self(1_000_000);

    /// A quantile in parts per million, or `None` above the whole.
    #[must_use]
    pub const fn from_ppm(ppm: u32) -> Option<Self> {
        if ppm <= 1_000_000 { Some(Self(ppm)) } else { None }
    }

    /// This quantile in parts per million.
    #[must_use]
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// The place of this quantile among so many sorted samples, from 0 (nearest rank).
    #[must_use]
    pub fn place(self, count: usize) -> usize {
        usize::try_from(self.rank(count) - 1).unwrap_or(usize::MAX).min(count.saturating_sub(1))
    }

    /// Which of so many sorted samples this quantile is, from 1 (nearest rank).
    pub(super) const fn rank(self, count: usize) -> u64 {
        let rank = (count as u64 * self.0 as u64).div_ceil(1_000_000);
        if rank == 0 { 1 } else { rank }
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", f64::from(self.0) / 1e4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_nearest_rank() {
        let place = |ppm, count| Quantile::from_ppm(ppm).unwrap().place(count);
        assert_eq!([place(500_000, 4), place(500_000, 5), place(1_000_000, 4), place(0, 4)], [1, 2, 3, 0]);
        assert_eq!(place(990_000, 0), 0);
    }

    #[test]
    fn quantiles_have_the_names_that_people_give_them() {
        let named = [500_000, 999_000, 999_999, 0, 1_000_000].map(|ppm| Quantile::from_ppm(ppm).unwrap().to_string());
        assert_eq!(named, ["p50", "p99.9", "p99.9999", "p0", "p100"]);
    }
}
