//! Frames that were lost beside those that arrived.

use super::{Confidence, Interval, LatencyNs, ProfilePoint, Quantile, Ranks, Series};

/// All frames of a series that were sent. A lost frame is censored: it took longer than any that arrived, nobody knows
/// how long.
///
/// Figures of those that arrived alone make the gateway look better the more it loses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    arrived: Option<Series>,
    lost: usize,
}

/// What a quantile of frames is, some of which were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The quantile falls among the lost frames: it is later than any latency that was measured.
    Censored,
    /// The latency of a frame that arrived.
    Measured(LatencyNs),
}

/// The latency profile of frames that were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The steps. Lost frames count in each of them, since they would have reached any latency.
    pub points: Vec<ProfilePoint>,
    /// At which count of frames the profile stays behind its last step: those that were lost.
    pub plateau: usize,
}

impl Sent {
    /// The latencies of the frames that arrived, and how many did not.
    #[must_use]
    pub const fn new(arrived: Option<Series>, lost: usize) -> Self {
        Self { arrived, lost }
    }

    /// The frames that arrived, if any did.
    #[must_use]
    pub const fn arrived(&self) -> Option<&Series> {
        self.arrived.as_ref()
    }

    /// How many did not arrive.
    #[must_use]
    pub const fn lost(&self) -> usize {
        self.lost
    }

    /// How many frames there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.arrived.as_ref().map_or(0, Series::count) + self.lost
    }

    /// The smallest latency that is not exceeded by this share of all frames; `None` if none was sent.
    #[must_use]
    pub fn quantile(&self, quantile: Quantile) -> Option<Figure> {
        (self.count() > 0).then(|| self.at_rank(quantile.rank(self.count())))
    }

    /// Between which latencies this quantile of all frames lies. A bound that falls among the lost frames is none.
    #[must_use]
    pub fn interval(&self, quantile: Quantile, confidence: Confidence) -> Interval {
        let ranks = Ranks::of(self.count(), quantile, confidence);
        let at = |rank: Option<u64>| match self.at_rank(rank?) {
            Figure::Censored => None,
            Figure::Measured(latency) => Some(latency),
        };
        Interval { lower: at(ranks.lower), upper: at(ranks.upper) }
    }

    /// The latency profile with the plateau of the lost frames.
    ///
    /// # Source
    /// As [`Series::profile`].
    #[must_use]
    pub fn profile(&self) -> Profile {
        let mut points = self.arrived.as_ref().map_or_else(Vec::new, Series::profile);
        points.iter_mut().for_each(|point| point.at_least += self.lost);
        Profile { points, plateau: self.lost }
    }

    fn at_rank(&self, rank: u64) -> Figure {
        match &self.arrived {
            Some(arrived) if rank <= arrived.count() as u64 => Figure::Measured(arrived.at_rank(rank)),
            _ => Figure::Censored,
        }
    }
}

impl Profile {
    /// At which count the profile goes on behind a step.
    #[must_use]
    pub fn after(&self, step: usize) -> usize {
        self.points.get(step + 1).map_or(self.plateau, |next| next.at_least)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(arrived: &[i64], lost: usize) -> Sent {
        Sent::new(Series::new(arrived.iter().map(|&ns| LatencyNs(ns)).collect()), lost)
    }

    #[test]
    fn a_quantile_among_the_lost_is_censored() {
        let nine_of_ten = sent(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 1);
        assert_eq!(nine_of_ten.quantile(Quantile::P90), Some(Figure::Measured(LatencyNs(9))));
        assert_eq!(nine_of_ten.quantile(Quantile::P99), Some(Figure::Censored));
        assert_eq!(sent(&[], 3).quantile(Quantile::P50), Some(Figure::Censored));
        assert_eq!(sent(&[], 0).quantile(Quantile::P50), None);
    }

    #[test]
    fn the_profile_ends_in_the_plateau_of_the_lost() {
        let profile = sent(&[10, 20, 20], 2).profile();
        let pairs: Vec<_> = profile.points.iter().map(|point| (point.latency.0, point.at_least)).collect();
        assert_eq!((pairs, profile.plateau), (vec![(10, 5), (20, 4)], 2));
        assert_eq!([profile.after(0), profile.after(1)], [4, 2]);
        assert_eq!(sent(&[], 7).profile(), Profile { points: vec![], plateau: 7 });
    }

    proptest! {
        /// As if each lost frame had taken longer than all others.
        #[test]
        fn lost_frames_are_frames_that_take_forever(arrived in prop::collection::vec(-50i64..50, 0..200), lost in 0usize..50,
                                                    ppm in 0u32..=1_000_000) {
            let mut all = arrived.clone();
            all.resize(arrived.len() + lost, i64::MAX);
            prop_assume!(!all.is_empty());
            let (sent, forever) = (sent(&arrived, lost), sent(&all, 0));
            let quantile = Quantile::from_ppm(ppm).unwrap();
            let measured = |latency: LatencyNs| (latency.0 != i64::MAX).then_some(latency);
            let slow = forever.arrived().unwrap();
            let figure = measured(slow.quantile(quantile)).map_or(Figure::Censored, Figure::Measured);
            prop_assert_eq!(sent.quantile(quantile), Some(figure));
            let (short, long) = (sent.interval(quantile, Confidence::P95), slow.interval(quantile, Confidence::P95));
            prop_assert_eq!(short.lower, long.lower.and_then(measured));
            prop_assert_eq!(short.upper, long.upper.and_then(measured));
            for point in sent.profile().points {
                let at_least = all.iter().filter(|&&ns| ns >= point.latency.0).count();
                prop_assert_eq!(point.at_least, at_least);
            }
        }
    }
}
