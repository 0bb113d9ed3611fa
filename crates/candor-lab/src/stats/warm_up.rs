//! Length of the warm-up of a run.
//!
//! The first frames through a path pay for page faults, cold caches and rising clock frequencies. The run is steady as soon as
//! one window of frames does not differ from the next.

use super::LatencyNs;

/// Frames per window, and the smallest number dropped.
pub const WINDOW: usize = 500;

/// Frames to drop at the start, a multiple of [`WINDOW`]: everything before the first window that is like the one before.
/// `None` if no two successive windows are alike. Frames are in send order; a lost one, `None`, counts as the longest.
///
/// "Alike" is a two-sided rank test at 5 %. Steady windows differ by chance once in twenty, in which case the next one is
/// tried.
pub fn frames_to_drop(frames: &[Option<LatencyNs>]) -> Option<usize> {
    let windows: Vec<_> = frames.chunks_exact(WINDOW).collect();
    let before = windows.windows(2).position(|pair| are_alike(pair[0], pair[1]))?;
    Some((before + 1) * WINDOW)
}

/// A normal variable exceeds 1.96 once in twenty times.
const FAR_SQUARED: f64 = 1.959_964 * 1.959_964;

/// Two-sided test at 5 %, with shared ranks for ties.
///
/// # Source
/// H. B. Mann, D. R. Whitney, On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other,
/// Annals of Mathematical Statistics 18(1), 1947, <https://doi.org/10.1214/aoms/1177730491>; the variance with ties as in
/// E. L. Lehmann, Nonparametrics, section 1.4. The sum of ranks of a few hundred latencies is normal enough for any
/// latencies.
fn are_alike(first: &[Option<LatencyNs>], second: &[Option<LatencyNs>]) -> bool {
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
    use candor_core::random::SplitMix64;

    fn noisy(random: &mut SplitMix64, at_least: i64) -> Option<LatencyNs> {
        Some(LatencyNs(at_least + i64::try_from(random.below(1000)).unwrap()))
    }

    /// The additional time shrinks to zero at `steady_from`.
    fn warming(random: &mut SplitMix64, steady_from: usize, count: usize) -> Vec<Option<LatencyNs>> {
        let extra = |at: usize| i64::try_from(steady_from.saturating_sub(at)).unwrap();
        (0..count).map(|at| noisy(random, 8000 + extra(at))).collect()
    }

    #[test]
    fn steady_run_drops_one_window() {
        assert_eq!(frames_to_drop(&vec![Some(LatencyNs(5)); 1000]), Some(500));
        assert_eq!(frames_to_drop(&vec![None; 1000]), Some(500));
    }

    #[test]
    fn whole_slope_is_dropped() {
        let mut random = SplitMix64::new(3);
        for steady_from in [600, 1400, 2300] {
            let Some(frames) = frames_to_drop(&warming(&mut random, steady_from, 8000)) else {
                panic!("never steady from {steady_from}");
            };
            // A window that has the last few frames of the slope may be like the next one.
            assert!((steady_from - 100..steady_from + 1600).contains(&frames), "{frames}, not {steady_from}");
        }
    }

    #[test]
    fn run_that_never_settles_is_never_steady() {
        let mut random = SplitMix64::new(4);
        let run = warming(&mut random, 6000, 4000);
        assert_eq!(frames_to_drop(&run), None);
        assert_eq!(frames_to_drop(&run[..999]), None);
    }

    #[test]
    fn initial_losses_are_warm_up() {
        let mut random = SplitMix64::new(5);
        let mut run = warming(&mut random, 0, 4000);
        run[..500].iter_mut().step_by(4).for_each(|frame| *frame = None);
        assert_eq!(frames_to_drop(&run), Some(1000));
    }

    /// One window in twenty of a steady run differs by chance.
    #[test]
    fn steady_windows_rarely_differ() {
        let mut random = SplitMix64::new(6);
        let at_once = (0..400).filter(|_| frames_to_drop(&warming(&mut random, 0, 1000)) == Some(500));
        let at_once = at_once.count();
        assert!((364..=394).contains(&at_once), "{at_once} of 400");
    }

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
