//! Rank test for two windows of frames.

use super::super::LatencyNs;

/// A normal variable exceeds 1.96 once in twenty times.
const FAR_SQUARED: f64 = 1.959_964 * 1.959_964;

/// Two-sided test at 5 %, with shared ranks for ties.
///
/// # Source
/// H. B. Mann, D. R. Whitney, On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other,
/// 1947; the variance with ties as in E. L. Lehmann, Nonparametrics, section 1.4. The sum of ranks of some hundred
/// latencies is normal enough for any latencies.
pub(super) fn are_alike(first: &[Option<LatencyNs>], second: &[Option<LatencyNs>]) -> bool {
    let moments = Moments::of(first, second);
    // Latencies that are all equal have no variance, and no difference either.
    moments.distance * moments.distance <= FAR_SQUARED * moments.variance
}

/// Number of pairs in which the first is longer, relative to its expectation.
struct Moments {
    /// From the mean; a tie counts half.
    distance: f64,
    variance: f64,
}

impl Moments {
    fn of(first: &[Option<LatencyNs>], second: &[Option<LatencyNs>]) -> Self {
        let key = |frame: &Option<LatencyNs>| frame.map_or((true, LatencyNs(0)), |latency| (false, latency));
        let of_first = first.iter().map(|frame| (key(frame), true));
        let mut all: Vec<_> = of_first.chain(second.iter().map(|frame| (key(frame), false))).collect();
        all.sort_unstable();
        // Ranks count from 1. Twice the rank is whole where equals share the middle of theirs.
        let (mut before, mut twice_ranks, mut ties) = (0.0, 0.0, 0.0);
        for equals in all.chunk_by(|one, next| one.0 == next.0) {
            let count = equals.len() as f64;
            let ours = equals.iter().filter(|one| one.1).count() as f64;
            twice_ranks += ours * (2.0 * before + count + 1.0);
            ties += count * (count * count - 1.0);
            before += count;
        }
        let (n, m) = (first.len() as f64, second.len() as f64);
        let all = n + m;
        let distance = twice_ranks / 2.0 - n * (all + 1.0) / 2.0;
        let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)).max(1.0));
        Self { distance, variance }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(values: &[i64]) -> Vec<Option<LatencyNs>> {
        values.iter().map(|&ns| (ns < 8).then_some(LatencyNs(ns))).collect()
    }

    /// Over all pairs; 8 and above is a lost frame.
    fn distance(first: &[i64], second: &[i64]) -> f64 {
        let pairs = first.iter().flat_map(|one| second.iter().map(move |other| one.min(&8).cmp(other.min(&8))));
        pairs.map(|order| f64::from(order as i8) / 2.0).sum()
    }

    #[test]
    fn shifted_windows_differ() {
        let low: Vec<_> = (0..500).map(|at| Some(LatencyNs(at % 97))).collect();
        let high: Vec<_> = (0..500).map(|at| Some(LatencyNs(at % 97 + 20))).collect();
        assert!(are_alike(&low, &low) && !are_alike(&low, &high) && !are_alike(&high, &low));
    }

    proptest! {
        #[test]
        fn distance_matches_all_pairs(first in prop::collection::vec(0i64..10, 1..40),
                                             second in prop::collection::vec(0i64..10, 1..40)) {
            let found = Moments::of(&frames(&first), &frames(&second)).distance;
            prop_assert!((found - distance(&first, &second)).abs() < 1e-6);
        }

        /// Variance over all deals of the latencies.
        #[test]
        fn variance_matches_all_deals(values in prop::collection::vec(0i64..10, 2..11), share in 1usize..10) {
            let first = share.min(values.len() - 1);
            let deals = (0u32..1 << values.len()).filter(|deal| deal.count_ones() as usize == first);
            let squares: Vec<f64> = deals.map(|deal| {
                let (ours, theirs): (Vec<_>, Vec<_>) = values.iter().enumerate().partition(|(at, _)| deal >> at & 1 == 1);
                let side = |side: Vec<(usize, &i64)>| side.into_iter().map(|(_, &value)| value).collect::<Vec<_>>();
                distance(&side(ours), &side(theirs)).powi(2)
            }).collect();
            let wanted = squares.iter().sum::<f64>() / squares.len() as f64;
            let (ours, theirs) = values.split_at(first);
            let found = Moments::of(&frames(ours), &frames(theirs)).variance;
            prop_assert!((found - wanted).abs() < 1e-6, "{} {}", found, wanted);
        }
    }
}
