//! Numbers of frames that an interval needs.

use std::fmt;

use super::{Confidence, Quantile, Ranks};

/// Too few frames for a two-sided interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    pub quantile: Quantile,
    /// Frames that suffice; `None` if no number does.
    pub needed: Option<u64>,
    pub there: usize,
}

impl TooFew {
    pub fn for_interval(there: usize, quantile: Quantile, confidence: Confidence) -> Option<Self> {
        let needed = needed(quantile, confidence.miss() / 2.0);
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

/// The search ends at 2^32 samples: a quantile of 0.999 999 with a miss of 10^-6 needs 14 million.
const MOST_BITS: u32 = 32;

/// Smallest sufficient number of samples. More samples never have fewer bounds.
fn needed(quantile: Quantile, most: f64) -> Option<u64> {
    let enough = |count: u64| Ranks::with_tails(count, quantile, most).are_both();
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

    use super::super::series::tests::series;
    use super::super::{Interval, LatencyNs};
    use super::*;

    const P95: Confidence = Confidence::P95;

    #[test]
    fn tails_need_many_frames() {
        let needed = |ppm| TooFew::for_interval(0, Quantile(ppm), P95).unwrap().needed.unwrap();
        assert_eq!([990_000, 999_000, 999_900, 999_990].map(needed), [368, 3688, 36_887, 368_887]);
    }

    #[test]
    fn too_few_frames_are_reported() {
        let message = |ppm, there| TooFew::for_interval(there, Quantile(ppm), P95).map(|too_few| too_few.to_string());
        assert_eq!(message(999_000, 3200).unwrap(), "n too small: p99.9 needs 3688 frames, there are 3200");
        assert_eq!(message(1_000_000, 3200).unwrap(), "no number of frames bounds p100, there are 3200");
        assert_eq!(message(990_000, 367).unwrap(), "n too small: p99 needs 368 frames, there are 367");
        assert_eq!(message(990_000, 368), None);
    }

    #[test]
    fn bounds_are_samples() {
        let ten = series(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let bounds =
            |lower, upper: Option<i64>| Interval { lower: Some(LatencyNs(lower)), upper: upper.map(LatencyNs) };
        assert_eq!(ten.interval(Quantile::P50, P95), bounds(2, Some(9)));
        assert_eq!(ten.interval(Quantile::P90, P95), bounds(7, None));
    }

    proptest! {
        #[test]
        fn intervals_contain_the_quantile_of_the_samples(values in prop::collection::vec(-50i64..50, 1..200),
                                                         ppm in 0u32..=1_000_000) {
            let (series, quantile) = (series(&values), Quantile(ppm));
            let (interval, middle) = (series.interval(quantile, P95), series.quantile(quantile));
            prop_assert!(interval.lower.is_none_or(|lower| lower <= middle));
            prop_assert!(interval.upper.is_none_or(|upper| middle <= upper));
        }

        #[test]
        fn one_frame_fewer_than_needed_has_no_interval(ppm in 1u32..1_000_000) {
            let needed = TooFew::for_interval(0, Quantile(ppm), P95).unwrap().needed.unwrap();
            let both = |count: u64| Ranks::of(usize::try_from(count).unwrap(), Quantile(ppm), P95).are_both();
            prop_assert!(both(needed) && !both(needed - 1));
        }
    }
}
