//! Against sums that anybody can follow, the figures of the literature, and draws.

use proptest::prelude::*;

use super::super::{LatencyNs, Series};
use super::*;
use candor_core::random::SplitMix64;

const P95: Confidence = Confidence::P95;

fn quantile(ppm: u32) -> Quantile {
    Quantile::from_ppm(ppm).unwrap()
}

/// C(n, k), exactly.
fn choose(n: u64, k: u64) -> u128 {
    (0..k).fold(1, |chosen, step| chosen * u128::from(n - step) / u128::from(step + 1))
}

/// The definition, with the probability that at most so many samples lie at or below the quantile.
fn by_definition(count: u64, at_most: impl Fn(u64) -> f64, most: f64) -> Ranks {
    let lower = (1..=count).rfind(|&rank| at_most(rank - 1) <= most);
    let upper = (1..=count).find(|&rank| at_most(rank - 1) >= 1.0 - most);
    Ranks { lower, upper }
}

#[test]
fn ten_thousand_frames_bound_their_p99_9_and_not_their_p99_99() {
    let ranks = Ranks::of(10_000, quantile(999_000), P95);
    assert_eq!(ranks, Ranks { lower: Some(9983), upper: Some(9997) });
    assert_eq!(Ranks::of(10_000, quantile(999_900), P95).upper, None);
}

#[test]
fn ends_of_the_scale_have_one_bound() {
    assert_eq!(Ranks::of(10, quantile(0), P95), Ranks { lower: None, upper: Some(1) });
    assert_eq!(Ranks::of(10, quantile(1_000_000), P95), Ranks { lower: Some(10), upper: None });
    assert_eq!(Ranks::of(0, Quantile::P50, P95), Ranks { lower: None, upper: None });
    assert_eq!(Ranks::of(5, Quantile::P50, P95), Ranks { lower: None, upper: None });
    assert_eq!(Ranks::of(6, Quantile::P50, P95), Ranks { lower: Some(1), upper: Some(6) });
}

/// Ten million samples are no sum over ten million numbers, and what normal theory says is near enough to compare.
#[test]
fn many_samples_have_ranks_as_normal_theory_says() {
    for ppm in [10_000, 500_000, 900_000, 999_000, 999_990] {
        let (count, share) = (10_000_000, f64::from(ppm) / 1e6);
        let ranks = Ranks::of(count, quantile(ppm), P95);
        let (middle, spread) = (1e7 * share, 1.959_964 * (1e7 * share * (1.0 - share)).sqrt());
        let [lower, upper] = [ranks.lower, ranks.upper].map(|rank| real(rank.unwrap()));
        let near = 2.0 + spread * 0.01;
        assert!((lower - (middle - spread)).abs() < near, "p{ppm}: {lower}");
        assert!((upper - (middle + spread + 1.0)).abs() < near, "p{ppm}: {upper}");
    }
}

/// What the interval is for: nineteen times of twenty it holds the quantile of what the samples were drawn from.
#[test]
fn intervals_hold_the_quantile_as_often_as_they_promise() {
    let mut random = SplitMix64::new(7);
    for (ppm, count) in [(500_000, 51), (900_000, 200), (990_000, 1000)] {
        let held = (0..2000).filter(|_| {
            let drawn = (0..count).map(|_| LatencyNs(i64::try_from(random.below(1_000_000)).unwrap()));
            let interval = Series::new(drawn.collect()).unwrap().interval(quantile(ppm), P95);
            let (lower, upper) = (interval.lower.unwrap().0, interval.upper.unwrap().0);
            (lower..=upper).contains(&i64::from(ppm))
        });
        let held = held.count();
        assert!((1890..=1990).contains(&held), "p{ppm}: {held} of 2000");
    }
}

proptest! {
    /// At the median every probability is a count of subsets: no rounding at all.
    #[test]
    fn medians_are_bounded_as_subsets_are_counted(count in 1u64..110, per_mille in 1u32..1000) {
        let subsets = |up_to: u64| (0..=up_to).map(|k| choose(count, k)).sum::<u128>();
        let confidence = Confidence::from_ppm(per_mille * 1000).unwrap();
        // Half of what is missed, of 2^count, in two-thousandths.
        let limit = u128::from(1000 - per_mille) << count;
        let is_rare = |number: u128| match (number * 2000).cmp(&limit) {
            std::cmp::Ordering::Equal => None,
            order => Some(order.is_lt()),
        };
        let tails: Vec<_> = (0..count).map(|up_to| is_rare(subsets(up_to))).collect();
        // Where exact arithmetic finds the limit itself, either answer is one of rounding.
        prop_assume!(tails.iter().all(Option::is_some));
        let rare = tails.iter().take_while(|rare| **rare == Some(true)).count() as u64;
        let wanted = Ranks { lower: (rare > 0).then_some(rare), upper: (rare > 0).then(|| count + 1 - rare) };
        prop_assert_eq!(Ranks::of(usize::try_from(count).unwrap(), Quantile::P50, confidence), wanted);
    }

    #[test]
    fn ranks_are_those_of_the_sums(count in 1u64..120, ppm in 1u32..1_000_000, confidence in 500_000u32..999_900) {
        let share = f64::from(ppm) / 1e6;
        let chance = |k: u64| {
            #[expect(clippy::cast_precision_loss, reason = "the test may be off by a billionth")]
            let ways = choose(count, k) as f64;
            let power = |base: f64, exponent: u64| base.powi(i32::try_from(exponent).unwrap());
            ways * power(share, k) * power(1.0 - share, count - k)
        };
        let at_most = |up_to: u64| (0..=up_to).map(chance).sum::<f64>();
        let most = f64::from(1_000_000 - confidence) / 2e6;
        // Sums of this test round too: a probability at the limit itself decides nothing.
        prop_assume!((0..count).all(|up_to| {
            let sum = at_most(up_to);
            (sum - most).abs() > 1e-9 && (1.0 - sum - most).abs() > 1e-9
        }));
        let ranks = Ranks::of(usize::try_from(count).unwrap(), quantile(ppm), Confidence::from_ppm(confidence).unwrap());
        prop_assert_eq!(ranks, by_definition(count, at_most, most));
    }

    /// A quantile and what is left of the whole are each other's mirror.
    #[test]
    fn ranks_are_mirrored(count in 1usize..100_000, ppm in 1u32..1_000_000) {
        let (one, other) = (Ranks::of(count, quantile(ppm), P95), Ranks::of(count, quantile(1_000_000 - ppm), P95));
        let mirrored = |rank: Option<u64>| rank.map(|rank| count as u64 + 1 - rank);
        prop_assert_eq!((one.lower, one.upper), (mirrored(other.upper), mirrored(other.lower)));
    }
}
