//! Between which samples a quantile lies, and the words for too few of them.

use std::fmt;

use super::{Confidence, LatencyNs, Quantile, Ranks, Series};

/// Between which latencies a quantile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// `None`: no sample bounds the quantile from below.
    pub lower: Option<LatencyNs>,
    /// `None`: no sample bounds the quantile from above.
    pub upper: Option<LatencyNs>,
}

impl Series {
    /// Between which latencies this quantile lies in all frames of which these are some, with this confidence. Holds for
    /// every distribution, but for frames that do not depend on each other: frames of one run may.
    #[must_use]
    pub fn interval(&self, quantile: Quantile, confidence: Confidence) -> Interval {
        let ranks = Ranks::of(self.count(), quantile, confidence);
        let at = |rank: Option<u64>| rank.map(|rank| self.at_rank(rank));
        Interval { lower: at(ranks.lower), upper: at(ranks.upper) }
    }
}

/// That there are too few frames for what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// Which quantile is not bounded.
    pub quantile: Quantile,
    /// How many frames would bound it; `None` if no number does.
    pub needed: Option<u64>,
    /// How many there are.
    pub there: usize,
}

impl TooFew {
    /// Whether so many frames are too few for an interval of this quantile with two ends.
    #[must_use]
    pub fn for_interval(there: usize, quantile: Quantile, confidence: Confidence) -> Option<Self> {
        let needed = needed(quantile, confidence.miss() / 2.0, |ranks| ranks.lower.is_some() && ranks.upper.is_some());
        Self::unless_enough(quantile, needed, there)
    }

    /// Whether so many frames are too few for the longest of them to be a one-sided bound of this quantile.
    #[must_use]
    pub fn for_largest(there: usize, quantile: Quantile, confidence: Confidence) -> Option<Self> {
        Self::unless_enough(quantile, needed(quantile, confidence.miss(), |ranks| ranks.upper.is_some()), there)
    }

    fn unless_enough(quantile: Quantile, needed: Option<u64>, there: usize) -> Option<Self> {
        needed.is_none_or(|needed| (there as u64) < needed).then_some(Self { quantile, needed, there })
    }
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quantile, there, .. } = self;
        match self.needed {
            Some(needed) => write!(f, "n too small: {quantile} needs {needed} frames, there are {there}"),
            None => write!(f, "no number of frames bounds {quantile}, there are {there}"),
        }
    }
}

/// Numbers of samples are looked for below 2^32: a quantile of 999 999 in a million and a miss of one in a million need
/// 14 million.
const MOST_BITS: u32 = 32;

/// The smallest number of samples whose ranks will do. More samples never have fewer bounds.
fn needed(quantile: Quantile, most: f64, will_do: impl Fn(Ranks) -> bool) -> Option<u64> {
    let enough = |count: u64| will_do(Ranks::with_tails(count, quantile, most));
    let mut high = (0..MOST_BITS).map(|bits| 1 << bits).find(|&count| enough(count))?;
    let mut low = high / 2;
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAILS: [u32; 4] = [990_000, 999_000, 999_900, 999_990];

    fn series(values: &[i64]) -> Series {
        Series::new(values.iter().map(|&value| LatencyNs(value)).collect()).unwrap()
    }

    fn needs(too_few: impl Fn(usize, Quantile, Confidence) -> Option<TooFew>) -> [u64; 4] {
        TAILS.map(|ppm| too_few(0, Quantile::from_ppm(ppm).unwrap(), Confidence::P95).unwrap().needed.unwrap())
    }

    #[test]
    fn tails_need_many_frames() {
        assert_eq!(needs(TooFew::for_interval), [368, 3688, 36_887, 368_887]);
        assert_eq!(needs(TooFew::for_largest), [299, 2995, 29_956, 299_572]);
    }

    #[test]
    fn too_few_frames_are_told() {
        let told = |ppm, there| {
            let too_few = TooFew::for_interval(there, Quantile::from_ppm(ppm).unwrap(), Confidence::P95);
            too_few.map(|too_few| too_few.to_string())
        };
        assert_eq!(told(999_000, 3200).unwrap(), "n too small: p99.9 needs 3688 frames, there are 3200");
        assert_eq!(told(1_000_000, 3200).unwrap(), "no number of frames bounds p100, there are 3200");
        assert_eq!(told(990_000, 367).unwrap(), "n too small: p99 needs 368 frames, there are 367");
        assert_eq!(told(990_000, 368), None);
    }

    #[test]
    fn bounds_are_samples() {
        let ten = series(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let interval = |quantile| ten.interval(quantile, Confidence::P95);
        let wanted = Interval { lower: Some(LatencyNs(2)), upper: Some(LatencyNs(9)) };
        assert_eq!(interval(Quantile::P50), wanted);
        assert_eq!(interval(Quantile::P90), Interval { lower: Some(LatencyNs(7)), upper: None });
    }

    proptest! {
        #[test]
        fn the_quantile_of_the_samples_lies_within(values in prop::collection::vec(-50i64..50, 1..200),
                                                  ppm in 0u32..=1_000_000) {
            let (series, quantile) = (series(&values), Quantile::from_ppm(ppm).unwrap());
            let (interval, middle) = (series.interval(quantile, Confidence::P95), series.quantile(quantile));
            prop_assert!(interval.lower.is_none_or(|lower| lower <= middle));
            prop_assert!(interval.upper.is_none_or(|upper| middle <= upper));
        }

        #[test]
        fn one_frame_fewer_than_needed_has_no_interval(ppm in 1u32..1_000_000) {
            let quantile = Quantile::from_ppm(ppm).unwrap();
            let needed = TooFew::for_interval(0, quantile, Confidence::P95).unwrap().needed.unwrap();
            let both = |count: u64| {
                let ranks = Ranks::of(usize::try_from(count).unwrap(), quantile, Confidence::P95);
                ranks.lower.is_some() && ranks.upper.is_some()
            };
            prop_assert!(both(needed) && !both(needed - 1));
        }
    }
}
