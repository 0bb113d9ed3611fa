//! Whole comparisons, with runs that are drawn.

use proptest::prelude::*;

use super::*;
use candor_core::random::SplitMix64;

const P50: Quantile = Quantile::P50;
const P95: Confidence = Confidence::P95;

fn run(figure: i64) -> Series {
    Series::new(vec![LatencyNs(figure)]).unwrap()
}

fn pairs(figures: &[(i64, i64)]) -> Vec<(Series, Series)> {
    figures.iter().map(|&(a, b)| (run(a), run(b))).collect()
}

fn draw(random: &mut SplitMix64, below: usize) -> i64 {
    i64::try_from(random.below(below)).unwrap()
}

#[test]
fn four_runs_are_not_enough() {
    let four = pairs(&[(1, 2); 4]);
    assert_eq!(Comparison::of(Runs::Paired(&four), P50, P95, 1), Err(NotCompared::TooFewRuns { there: 4 }));
    let runs = vec![run(1); 9];
    let apart = Runs::Apart { a: &runs, b: &runs[..2] };
    assert_eq!(Comparison::of(apart, P50, P95, 1), Err(NotCompared::TooFewRuns { there: 2 }));
}

#[test]
fn latencies_of_zero_are_no_base() {
    let zero = pairs(&[(0, 2); 5]);
    let refused = Comparison::of(Runs::Paired(&zero), P50, P95, 1).unwrap_err();
    assert_eq!(refused.to_string(), "no ratio: p50 of A is not above zero in every run");
}

/// A machine that grows slower from pair to pair hides a difference from runs that are apart, not from pairs.
#[test]
fn pairs_see_what_drift_hides() {
    let drift: Vec<_> = (0..8).map(|step| (10_000 + 500 * step, 10_100 + 505 * step)).collect();
    let pairs = pairs(&drift);
    let paired = Comparison::of(Runs::Paired(&pairs), P50, P95, 1);
    assert_eq!(Verdict::of(paired, None).sentence("B"), "B is 1.0 % slower at p50 (95 %: 1.0 to 1.0 %)");
    let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let apart = Comparison::of(Runs::Apart { a: &a, b: &b }, P50, P95, 1);
    assert!(matches!(Verdict::of(apart, None), Verdict::Unclear(_)));
}

/// One run that went wrong is one run.
#[test]
fn an_outlier_does_not_make_a_difference() {
    let calm = [(1000, 1001), (1001, 1000), (1000, 1000), (1002, 1001), (1001, 1002), (1000, 9000), (1001, 1000)];
    let comparison = Comparison::of(Runs::Paired(&pairs(&calm)), P50, P95, 1).unwrap();
    assert!(comparison.ratio.value < 1.002, "{comparison:?}");
}

/// How often the interval holds the true difference, which is 100, over runs with noise that is not normal.
#[test]
fn intervals_hold_the_difference_about_as_often_as_they_promise() {
    let mut random = SplitMix64::new(11);
    for count in [5, 10, 20] {
        let held = (0..100).filter(|&seed| {
            let noise = |random: &mut SplitMix64| draw(random, 400) * draw(random, 400) / 400;
            let figures: Vec<_> = (0..count)
                .map(|_| {
                    let drift = draw(&mut random, 5000);
                    (10_000 + drift + noise(&mut random), 10_100 + drift + noise(&mut random))
                })
                .collect();
            let difference = Comparison::of(Runs::Paired(&pairs(&figures)), P50, P95, seed).unwrap().difference;
            (difference.lower.0..=difference.upper.0).contains(&100)
        });
        let held = held.count();
        assert!((88..100).contains(&held), "{count} runs: {held} of 100");
    }
}

proptest! {
    // Each case draws some thousands of times.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The same runs and the same seed say the same, and the interval holds the estimate.
    #[test]
    fn comparisons_repeat(figures in prop::collection::vec((1i64..1000, 1i64..1000), 5..12), seed: u64) {
        let pairs = pairs(&figures);
        let (a, b): (Vec<_>, Vec<_>) = pairs.iter().cloned().unzip();
        for runs in [Runs::Paired(&pairs), Runs::Apart { a: &a, b: &b }] {
            let comparison = Comparison::of(runs, P50, P95, seed).unwrap();
            prop_assert_eq!(Ok(comparison), Comparison::of(runs, P50, P95, seed));
            let Comparison { difference, ratio, .. } = comparison;
            prop_assert!(difference.lower <= difference.value && difference.value <= difference.upper);
            prop_assert!(ratio.lower <= ratio.value && ratio.value <= ratio.upper);
        }
    }

    /// B three times as long everywhere is three times as long.
    #[test]
    fn a_factor_is_found(figures in prop::collection::vec(1i64..100_000, 5..12), seed: u64) {
        let tripled: Vec<_> = figures.iter().map(|&figure| (figure, 3 * figure)).collect();
        let ratio = Comparison::of(Runs::Paired(&pairs(&tripled)), P50, P95, seed).unwrap().ratio;
        for end in [ratio.lower, ratio.value, ratio.upper] {
            prop_assert!((end - 3.0).abs() < 1e-9, "{:?}", ratio);
        }
    }
}
