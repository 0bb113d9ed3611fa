//! Comparison of two devices, run by run, and the geometric mean of many such ratios.
//!
//! Frames of one run depend on each other, so ten thousand of them are not ten thousand observations: the run is what is
//! repeated. Each run contributes one figure, a quantile of its frames:
//!
//! ```text
//!  runs of A, runs of B ──quantile of each──▶ figures ──medians, bootstrap──▶ Change ──noise floor──▶ Verdict
//!  runs of A and A ──────────────────────────────────────────────────────────▶ NoiseFloor ──┘
//! ```
//!
//! There is no p value: a verdict has a size, an interval and a noise floor. Lost frames are in no [`Series`] and in no figure
//! here, so they have to be reported along with a verdict.

use super::{Confidence, LatencyNs, Quantile, Series};
use candor_core::random::SplitMix64;

/// Additional time of B as a share of A's; negative if B is faster. 0.032 stands for 3.2 % more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub quantile: Quantile,
    pub confidence: Confidence,
    pub value: f64,
    pub lower: f64,
    pub upper: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotCompared {
    #[error("no ratio: {quantile} of A is not above zero in every run")]
    NoBase { quantile: Quantile },
    /// `there`: runs of the device with the fewest.
    #[error("not enough runs: {RUNS_NEEDED} needed, {there} there")]
    TooFewRuns { there: usize },
}

/// Runs of each device that a comparison needs. The interval of five is from the smallest to the largest, which contains the
/// median 15 times of 16; fewer runs say too little.
pub const RUNS_NEEDED: usize = 5;

/// Resamples: the ends of a 95 % interval are the 50th values from either side.
const DRAWS: usize = 2000;

impl Change {
    /// Ratio of the medians of independent runs, with the interval of a percentile bootstrap: the runs are resampled with
    /// replacement, and the interval leaves out as many ratios on either side as the confidence allows. The result depends on
    /// the seed, which has to be recorded.
    ///
    /// # Errors
    /// [`NotCompared`] if there are too few runs, or a latency of A is not above zero.
    ///
    /// # Source
    /// B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, 1993, <https://doi.org/10.1201/9780429246593>,
    /// section 13.3 (percentile interval).
    pub fn of(
        [a, b]: [&[Series]; 2],
        quantile: Quantile,
        confidence: Confidence,
        seed: u64,
    ) -> Result<Self, NotCompared> {
        let there = a.len().min(b.len());
        if there < RUNS_NEEDED {
            return Err(NotCompared::TooFewRuns { there });
        }
        let [a, b] = [a, b].map(|runs| runs.iter().map(|run| run.quantile(quantile)).collect::<Vec<_>>());
        if a.iter().any(|latency| latency.0 <= 0) {
            return Err(NotCompared::NoBase { quantile });
        }
        let share = |a: Vec<LatencyNs>, b: Vec<LatencyNs>| median(b).0 as f64 / median(a).0 as f64 - 1.0;
        let mut random = SplitMix64::new(seed);
        let mut draw = |runs: &[LatencyNs]| runs.iter().map(|_| runs[random.below(runs.len())]).collect::<Vec<_>>();
        let mut shares: Vec<f64> = (0..DRAWS).map(|_| share(draw(&a), draw(&b))).collect();
        shares.sort_unstable_by(f64::total_cmp);
        let [low, high] = ends(confidence);
        Ok(Self { quantile, confidence, value: share(a, b), lower: shares[low], upper: shares[high] })
    }
}

/// Indexes of the ends of the interval in the sorted resamples.
fn ends(confidence: Confidence) -> [usize; 2] {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and half of the draws")]
    let outside = (DRAWS as f64 * confidence.miss() / 2.0) as usize;
    [outside.min(DRAWS / 2), DRAWS - 1 - outside.min(DRAWS / 2 - 1)]
}

/// The mean of the middle two for an even number.
fn median(mut values: Vec<LatencyNs>) -> LatencyNs {
    values.sort_unstable();
    LatencyNs(i64::midpoint(values[(values.len() - 1) / 2].0, values[values.len() / 2].0))
}

/// The largest difference between two runs of the same device, as a share of the first one.
///
/// After `k` pairs, another one differs more with a probability of 1/(`k` + 1). The floor of few pairs is therefore low, so
/// their number is part of the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseFloor {
    /// Absolute: 0.004 for 0.4 %.
    pub share: f64,
    pub pairs: usize,
}

impl NoiseFloor {
    /// Of pairs of runs of one device; `None` without pairs, or if a first run has a latency that is not above zero.
    pub fn of(pairs: &[[&Series; 2]], quantile: Quantile) -> Option<Self> {
        let change = |[first, second]: &[&Series; 2]| {
            second.quantile(quantile).ratio_to(first.quantile(quantile)).map(|ratio| (ratio - 1.0).abs())
        };
        let changes: Vec<f64> = pairs.iter().map(change).collect::<Option<_>>()?;
        let share = changes.into_iter().max_by(f64::total_cmp)?;
        Some(Self { share, pairs: pairs.len() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// B differs by no more than A from itself.
    BelowNoise(NoiseFloor),
    Faster(Change),
    Slower(Change),
    /// The interval contains zero: more runs may decide.
    Unclear(Change),
}

impl Verdict {
    /// Without a floor, any difference whose interval excludes zero counts.
    pub fn of(change: Change, floor: Option<NoiseFloor>) -> Self {
        match floor.filter(|floor| change.value.abs() <= floor.share) {
            Some(floor) => Self::BelowNoise(floor),
            None if change.lower > 0.0 => Self::Slower(change),
            None if change.upper < 0.0 => Self::Faster(change),
            None => Self::Unclear(change),
        }
    }

    /// `b` is the name of B.
    pub fn sentence(&self, b: &str) -> String {
        let (Change { quantile, confidence, value, lower, upper }, word) = match *self {
            Self::BelowNoise(floor) => {
                return format!("~ no difference: below the noise floor of {} %", percent(floor.share));
            }
            Self::Faster(Change { quantile, confidence, value, lower, upper }) => {
                (Change { quantile, confidence, value: -value, lower: -upper, upper: -lower }, "faster")
            }
            Self::Slower(change) => (change, "slower"),
            Self::Unclear(change) => (change, ""),
        };
        let range = format!("at {quantile} ({confidence}: {} to {} %)", percent(lower), percent(upper));
        match word {
            "" => format!("~ no difference shown {range}: try more runs"),
            _ => format!("{b} is {} % {word} {range}", percent(value)),
        }
    }
}

/// With decimals that suit the size.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let places = if percent.abs() < 0.1 { 3 } else { usize::from(percent.abs() < 100.0) };
    let text = format!("{percent:.places$}");
    // No sign for a rounded zero.
    if text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.')) { "0".to_owned() } else { text }
}

/// The geometric mean of ratios; `None` without any, or if one is not a finite number above zero.
///
/// It is the only mean that suits ratios: the mean of A ÷ B is the inverse of that of B ÷ A.
///
/// # Source
/// P. J. Fleming, J. J. Wallace, How Not to Lie with Statistics: The Correct Way to Summarize Benchmark Results,
/// Communications of the ACM 29(3), 1986, <https://doi.org/10.1145/5666.5673>.
pub fn geomean(ratios: &[f64]) -> Option<f64> {
    if ratios.is_empty() || ratios.iter().any(|ratio| !ratio.is_finite() || *ratio <= 0.0) {
        return None;
    }
    // A product of many could overflow; logarithms do not.
    Some((ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::series::tests::series;
    use super::*;

    const P50: Quantile = Quantile::P50;
    const P95: Confidence = Confidence::P95;

    fn runs(figures: &[i64]) -> Vec<Series> {
        figures.iter().map(|&figure| series(&[figure])).collect()
    }

    fn change(a: &[i64], b: &[i64], confidence: Confidence, seed: u64) -> Result<Change, NotCompared> {
        Change::of([&runs(a), &runs(b)], P50, confidence, seed)
    }

    #[test]
    fn four_runs_are_not_enough() {
        assert_eq!(change(&[1; 4], &[2; 4], P95, 1), Err(NotCompared::TooFewRuns { there: 4 }));
        let few = change(&[1; 9], &[1; 2], P95, 1).unwrap_err();
        assert_eq!(few.to_string(), "not enough runs: 5 needed, 2 there");
    }

    #[test]
    fn latencies_of_zero_have_no_ratio() {
        let refused = change(&[0; 5], &[2; 5], P95, 1).unwrap_err();
        assert_eq!(refused.to_string(), "no ratio: p50 of A is not above zero in every run");
    }

    /// One bad run is one run.
    #[test]
    fn outlier_does_not_make_a_difference() {
        let a = [1000, 1001, 1000, 1002, 1001, 1000, 1001];
        let share = change(&a, &[1001, 1000, 1000, 1001, 1002, 9000, 1000], P95, 1).unwrap();
        assert!(share.value < 0.002, "{share:?}");
    }

    /// The shares at both ends of all 3125 draws of five runs are known exactly.
    #[test]
    fn ends_match_those_of_all_draws() {
        let figures = [103, 109, 104, 101, 120];
        let mut draws = vec![vec![]];
        for _ in figures {
            let longer = |draw: &Vec<i64>| figures.map(|figure| [&draw[..], &[figure]].concat());
            draws = draws.iter().flat_map(longer).collect();
        }
        let middle = |draw: Vec<i64>| median(draw.into_iter().map(LatencyNs).collect()).0 as f64;
        let mut all: Vec<f64> = draws.into_iter().map(|draw| middle(draw) / 100.0 - 1.0).collect();
        all.sort_unstable_by(f64::total_cmp);
        // With 70 %, no end lies near a step of the exact distribution, which a draw could miss.
        for (ppm, outside) in [(950_000, 78), (700_000, 468)] {
            for seed in 0..5 {
                let share = change(&[100; 5], &figures, Confidence(ppm), seed).unwrap();
                assert_eq!((share.lower, share.upper), (all[outside], all[3124 - outside]));
                assert!((share.value - 0.04).abs() < 1e-12, "{share:?}");
            }
        }
    }

    /// Share of intervals that contain the true difference of 100, with noise that is not normal.
    #[test]
    fn intervals_contain_the_difference_about_as_often_as_their_confidence() {
        let draw = |random: &mut SplitMix64| i64::try_from(random.below(400)).unwrap();
        let mut random = SplitMix64::new(11);
        let mut noise = || draw(&mut random) * draw(&mut random) / 400;
        let mut all: Vec<LatencyNs> = (0..160_000).map(|pair| LatencyNs((pair / 400) * (pair % 400) / 400)).collect();
        all.sort_unstable();
        let truth = 100.0 / (10_000 + all[80_000].0) as f64;
        for count in [5, 10, 20] {
            let held = (0..100).filter(|&seed| {
                let a: Vec<_> = (0..count).map(|_| 10_000 + noise()).collect();
                let b: Vec<_> = (0..count).map(|_| 10_100 + noise()).collect();
                let share = change(&a, &b, P95, seed).unwrap();
                (share.lower..=share.upper).contains(&truth)
            });
            let held = held.count();
            assert!((88..100).contains(&held), "{count} runs: {held} of 100");
        }
    }

    #[test]
    fn median_of_an_even_number_lies_between() {
        assert_eq!(median([4, 1, 2, 3].map(LatencyNs).into()), LatencyNs(2));
    }

    #[test]
    fn noise_floor_is_the_largest_difference_of_either_sign() {
        let pairs = [[1000, 1003], [1000, 995], [500, 501]].map(|pair| pair.map(|ns| series(&[ns])));
        let floor = NoiseFloor::of(&pairs.each_ref().map(|pair| pair.each_ref()), P50).unwrap();
        assert!((floor.share - 0.005).abs() < 1e-12 && floor.pairs == 3, "{floor:?}");
        assert_eq!(NoiseFloor::of(&[], P50), None);
        assert_eq!(NoiseFloor::of(&[[&series(&[0]), &series(&[1])]], P50), None);
    }

    #[test]
    fn each_verdict_is_a_sentence() {
        for (value, lower, upper, floor, sentence) in [
            (0.032, 0.029, 0.036, Some(0.004), "B is 3.2 % slower at p50 (95 %: 2.9 to 3.6 %)"),
            (-0.5, -0.6, -0.45, None, "B is 50.0 % faster at p50 (95 %: 45.0 to 60.0 %)"),
            (0.003, 0.002, 0.006, Some(0.004), "~ no difference: below the noise floor of 0.4 %"),
            (0.02, -0.01, 0.03, Some(0.004), "~ no difference shown at p50 (95 %: -1.0 to 3.0 %): try more runs"),
        ] {
            let change = Change { quantile: P50, confidence: P95, value, lower, upper };
            let floor = floor.map(|share| NoiseFloor { share, pairs: 10 });
            assert_eq!(Verdict::of(change, floor).sentence("B"), sentence);
        }
    }

    #[test]
    fn decimals_suit_the_size() {
        assert_eq!([0.0, -0.000_000_1, 0.000_512, 2.5].map(percent), ["0", "0", "0.051", "250"]);
    }

    #[test]
    fn geometric_mean_of_two_and_a_half_is_one() {
        assert!((geomean(&[2.0, 0.5]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geomean(&[1e300; 5]).unwrap() / 1e300 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn geometric_mean_needs_positive_finite_ratios() {
        for wrong in [&[][..], &[1.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(geomean(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn power_of_the_geometric_mean_is_the_product(ratios in prop::collection::vec(0.1f64..10.0, 1..20)) {
            let (mean, count) = (geomean(&ratios).unwrap(), i32::try_from(ratios.len()).unwrap());
            prop_assert!((mean.powi(count) / ratios.iter().product::<f64>() - 1.0).abs() < 1e-9);
            let inverse: Vec<_> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
            prop_assert!((mean * geomean(&inverse).unwrap() - 1.0).abs() < 1e-9);
        }
    }

    proptest! {
        // Each case draws some thousands of times.
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// The same runs and seed give the same result, and the interval contains the estimate.
        #[test]
        fn comparisons_are_reproducible(figures in prop::collection::vec((1i64..1000, 1i64..1000), 5..12), seed: u64) {
            let (a, b): (Vec<_>, Vec<_>) = figures.into_iter().unzip();
            let share = change(&a, &b, P95, seed).unwrap();
            prop_assert_eq!(Ok(share), change(&a, &b, P95, seed));
            prop_assert!(share.lower <= share.value && share.value <= share.upper);
        }

        #[test]
        fn threefold_latency_is_found(figure in 1i64..100_000, count in 5usize..12, seed: u64) {
            let share = change(&vec![figure; count], &vec![3 * figure; count], P95, seed).unwrap();
            for end in [share.lower, share.value, share.upper] {
                prop_assert!((end - 2.0).abs() < 1e-9, "{:?}", share);
            }
        }
    }
}
