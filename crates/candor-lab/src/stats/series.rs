//! Latencies, their order statistics, and the latency profile of the 2011 paper.

use super::{Confidence, Quantile, Ranks};

/// In the instruction-counted laboratory one nanosecond is one instruction.
///
/// Signed: a latency is a difference of timestamps minus a computed frame time, and imprecise timestamps have to be visible
/// instead of clamped to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LatencyNs(pub i64);

impl LatencyNs {
    pub fn microseconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// `None` unless `base` is above zero.
    pub fn ratio_to(self, base: Self) -> Option<f64> {
        (base.0 > 0).then(|| self.0 as f64 / base.0 as f64)
    }
}

/// Sorted latencies, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series(Vec<LatencyNs>);

impl Series {
    /// `None` without any latency.
    pub fn new(mut latencies: Vec<LatencyNs>) -> Option<Self> {
        latencies.sort_unstable();
        (!latencies.is_empty()).then_some(Self(latencies))
    }

    pub const fn count(&self) -> usize {
        self.0.len()
    }

    pub fn min(&self) -> LatencyNs {
        self.0[0]
    }

    /// Of these samples; bounds nothing.
    pub fn max(&self) -> LatencyNs {
        self.0[self.0.len() - 1]
    }

    /// Nearest rank without interpolation: always a measured latency.
    pub fn quantile(&self, quantile: Quantile) -> LatencyNs {
        self.at_rank(quantile.rank(self.count()))
    }

    /// By rank, from 1.
    pub(super) fn at_rank(&self, rank: u64) -> LatencyNs {
        let index = usize::try_from(rank.saturating_sub(1)).unwrap_or(usize::MAX).min(self.0.len() - 1);
        self.0[index]
    }

    /// Interval of this quantile in the population of frames. Holds for every distribution, but only for independent frames,
    /// which those of one run may not be.
    pub fn interval(&self, quantile: Quantile, confidence: Confidence) -> Interval {
        let ranks = Ranks::of(self.count(), quantile, confidence);
        let at = |rank: Option<u64>| rank.map(|rank| self.at_rank(rank));
        Interval { lower: at(ranks.lower), upper: at(ranks.upper) }
    }
}

/// Bounds of a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// `None`: no sample bounds the quantile from below.
    pub lower: Option<LatencyNs>,
    /// `None`: no sample bounds the quantile from above.
    pub upper: Option<LatencyNs>,
}

/// Number of frames at or above each latency that occurs.
///
/// A lost frame is censored: its latency is unknown, but longer than any that was measured. Figures of the frames that arrived
/// alone improve as losses grow.
///
/// # Source
/// [Timing Analysis of a Linux-Based CAN-to-CAN Gateway](https://lwn.net/images/conf/rtlws-2011/proc/Sojka.pdf) (2011), section 2.3: for
/// points (t1, m1) and (t2, m2), m1 - m2 frames lie in [t1, t2), and the last point says how many frames had the worst
/// latency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Lost frames count in each step: they would have exceeded any latency.
    pub points: Vec<ProfilePoint>,
    /// Count after the last step: the lost frames.
    pub plateau: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfilePoint {
    pub latency: LatencyNs,
    /// Frames with this latency or a longer one.
    pub at_least: usize,
}

impl Profile {
    pub fn of(arrived: Option<&Series>, lost: usize) -> Self {
        let latencies = arrived.map_or(&[][..], |series| &series.0);
        let mut points: Vec<ProfilePoint> = Vec::new();
        for (index, &latency) in latencies.iter().enumerate() {
            if points.last().is_none_or(|last| last.latency != latency) {
                points.push(ProfilePoint { latency, at_least: latencies.len() - index + lost });
            }
        }
        Self { points, plateau: lost }
    }

    /// Count after a step.
    pub fn after(&self, step: usize) -> usize {
        self.points.get(step + 1).map_or(self.plateau, |next| next.at_least)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in super::super) fn series(values: &[i64]) -> Series {
        Series::new(values.iter().map(|&value| LatencyNs(value)).collect()).unwrap()
    }

    #[test]
    fn series_needs_a_sample() {
        assert_eq!(Series::new(Vec::new()), None);
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let one = series(&[42]);
        assert!([0, 1, 500_000, 999_999, 1_000_000].iter().all(|&ppm| one.quantile(Quantile(ppm)) == LatencyNs(42)));
        let ten = series(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!([Quantile::P50, Quantile::P90, Quantile::P99].map(|of| ten.quantile(of).0), [5, 9, 10]);
        assert_eq!((ten.min(), ten.max(), ten.count()), (LatencyNs(1), LatencyNs(10), 10));
    }

    #[test]
    fn profile_counts_backwards_and_ends_at_the_losses() {
        let profile = Profile::of(Some(&series(&[30, 10, 20, 10])), 2);
        let pairs: Vec<_> = profile.points.iter().map(|point| (point.latency.0, point.at_least)).collect();
        assert_eq!((pairs, profile.plateau), (vec![(10, 6), (20, 4), (30, 3)], 2));
        assert_eq!([0, 1, 2].map(|step| profile.after(step)), [4, 3, 2]);
        assert_eq!(Profile::of(None, 7), Profile { points: vec![], plateau: 7 });
    }

    proptest! {
        /// Section 2.3 holds for any two points, as if each lost frame had taken longer than all others.
        #[test]
        fn profile_differences_count_the_frames_between(values in prop::collection::vec(-50i64..50, 1..200), lost in 0usize..50) {
            let points = Profile::of(Some(&series(&values)), lost).points;
            for pair in points.windows(2) {
                let between = values.iter().filter(|v| (pair[0].latency.0..pair[1].latency.0).contains(v)).count();
                prop_assert_eq!(pair[0].at_least - pair[1].at_least, between);
            }
            for point in &points {
                let at_least = values.iter().filter(|&&ns| ns >= point.latency.0).count() + lost;
                prop_assert_eq!(point.at_least, at_least);
            }
        }

        /// At least the share lies at or below the quantile, and no smaller sample suffices.
        #[test]
        fn quantiles_split_the_series(values in prop::collection::vec(-50i64..50, 1..200), ppm in 1u32..=1_000_000) {
            let quantile = series(&values).quantile(Quantile(ppm));
            let at_or_below = values.iter().filter(|&&v| v <= quantile.0).count() as u64;
            let below = values.iter().filter(|&&v| v < quantile.0).count() as u64;
            let wanted = values.len() as u64 * u64::from(ppm);
            prop_assert!(at_or_below * 1_000_000 >= wanted);
            prop_assert!(below * 1_000_000 < wanted);
        }
    }
}
