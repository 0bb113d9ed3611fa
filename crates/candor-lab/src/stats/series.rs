//! Order statistics and the latency profile of the 2011 paper.

use super::{LatencyNs, Quantile};

/// A series of latencies, sorted once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series(Vec<LatencyNs>);

impl Series {
    /// Sorts the latencies; `None` when there are none, since nothing can be said of an empty series.
    #[must_use]
    pub fn new(mut latencies: Vec<LatencyNs>) -> Option<Self> {
        latencies.sort_unstable();
        (!latencies.is_empty()).then_some(Self(latencies))
    }

    /// How many latencies there are, at least one.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> LatencyNs {
        self.0[0]
    }

    /// The largest of these samples. It bounds nothing.
    #[must_use]
    pub fn max(&self) -> LatencyNs {
        self.0[self.0.len() - 1]
    }

    /// The smallest sample that is not exceeded by this share of the series (nearest rank, no interpolation, so the
    /// answer is always a latency that was measured).
    #[must_use]
    pub fn quantile(&self, quantile: Quantile) -> LatencyNs {
        self.at_rank(quantile.rank(self.count()))
    }

    /// The sample that has this place, from 1, in the order of length.
    pub(super) fn at_rank(&self, rank: u64) -> LatencyNs {
        let index = usize::try_from(rank.saturating_sub(1)).unwrap_or(usize::MAX).min(self.0.len() - 1);
        self.0[index]
    }

    /// The latency profile: for every latency that occurs, how many samples reach or exceed it.
    ///
    /// # Source
    /// 2011 gateway timing paper, section 2.3: for points (t1, m1) and (t2, m2), m1 - m2 frames lie in [t1, t2), and
    /// the last point says how many frames had the worst latency.
    #[must_use]
    pub fn profile(&self) -> Vec<ProfilePoint> {
        let mut points: Vec<ProfilePoint> = Vec::new();
        for (index, &latency) in self.0.iter().enumerate() {
            if points.last().is_none_or(|last| last.latency != latency) {
                points.push(ProfilePoint { latency, at_least: self.0.len() - index });
            }
        }
        points
    }
}

/// One step of a latency profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfilePoint {
    /// A latency that occurs in the series.
    pub latency: LatencyNs,
    /// How many samples have this latency or a longer one.
    pub at_least: usize,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(values: &[i64]) -> Series {
        Series::new(values.iter().map(|&value| LatencyNs(value)).collect()).unwrap()
    }

    #[test]
    fn nothing_is_said_of_no_samples() {
        assert_eq!(Series::new(Vec::new()), None);
    }

    #[test]
    fn one_sample_is_every_quantile() {
        let one = series(&[42]);
        for ppm in [0, 1, 500_000, 999_999, 1_000_000] {
            assert_eq!(one.quantile(Quantile::from_ppm(ppm).unwrap()), LatencyNs(42));
        }
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let ten = series(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(ten.quantile(Quantile::P50), LatencyNs(5));
        assert_eq!(ten.quantile(Quantile::P90), LatencyNs(9));
        assert_eq!(ten.quantile(Quantile::P99), LatencyNs(10));
        assert_eq!((ten.min(), ten.max(), ten.count()), (LatencyNs(1), LatencyNs(10), 10));
        assert_eq!(Quantile::from_ppm(1_000_001), None);
    }

    #[test]
    fn a_profile_counts_backwards() {
        let points = series(&[30, 10, 20, 10]).profile();
        let pairs: Vec<_> = points.iter().map(|point| (point.latency.0, point.at_least)).collect();
        assert_eq!(pairs, [(10, 4), (20, 2), (30, 1)]);
    }

    proptest! {
        /// The sentence of section 2.3 holds between any two points.
        #[test]
        fn differences_of_a_profile_count_the_frames_between(values in prop::collection::vec(-50i64..50, 1..200)) {
            let points = series(&values).profile();
            for pair in points.windows(2) {
                let between = values.iter().filter(|v| (pair[0].latency.0..pair[1].latency.0).contains(v)).count();
                prop_assert_eq!(pair[0].at_least - pair[1].at_least, between);
            }
            prop_assert_eq!(points[0].at_least, values.len());
        }

        /// At least the share lies at or below the quantile, and no smaller sample would do.
        #[test]
        fn quantiles_split_the_series(values in prop::collection::vec(-50i64..50, 1..200), ppm in 1u32..=1_000_000) {
            let quantile = series(&values).quantile(Quantile::from_ppm(ppm).unwrap());
            let at_or_below = values.iter().filter(|&&v| v <= quantile.0).count() as u64;
            let below = values.iter().filter(|&&v| v < quantile.0).count() as u64;
            let wanted = values.len() as u64 * u64::from(ppm);
            prop_assert!(at_or_below * 1_000_000 >= wanted);
            prop_assert!(below * 1_000_000 < wanted);
        }
    }
}
