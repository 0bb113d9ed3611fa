//! Comparisons of random runs, verdicts and means.

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
        (0.02, -0.01, 0.03, Some(0.004), "~ no difference shown at p50 (95 %: -1.0 to 3.0 %): more runs may tell"),
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
