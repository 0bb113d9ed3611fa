//! Samples that bound a quantile, exactly and for every distribution.

use super::{Confidence, Quantile};

/// Ranks of the sorted samples, from 1, that bound a quantile; each bound is missed in half of the cases that the
/// confidence leaves. Ties only make the interval surer.
///
/// # Source
/// H. A. David, H. N. Nagaraja, Order Statistics, third edition, 2003, <https://doi.org/10.1002/0471722162>, section 7.1:
/// how many of `n` samples lie at or below the quantile `q` is binomial with `n` and `q`, for any distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ranks {
    /// `None`: too few samples for any to lie below the quantile.
    pub(super) lower: Option<u64>,
    /// `None`: too few samples for any to lie above the quantile.
    pub(super) upper: Option<u64>,
}

impl Ranks {
    /// Two-sided with equal tails. As in exact arithmetic, unless a tail is within a billionth of the limit.
    pub(super) fn of(count: usize, quantile: Quantile, confidence: Confidence) -> Self {
        Self::with_tails(count as u64, quantile, confidence.miss() / 2.0)
    }

    pub(super) const fn are_both(self) -> bool {
        self.lower.is_some() && self.upper.is_some()
    }

    /// With at most this probability in each tail.
    pub(super) fn with_tails(count: u64, quantile: Quantile, most: f64) -> Self {
        match (count, quantile.0) {
            (0, _) => Self { lower: None, upper: None },
            (_, 0) => Self { lower: None, upper: Some(1) },
            (_, 1_000_000) => Self { lower: Some(count), upper: None },
            _ => Binomial::new(count, quantile).ranks(most),
        }
    }
}

/// Probabilities of the number of samples below the quantile, relative to the most likely one; those below [`NEVER`]
/// are omitted.
///
/// Only multiplications and divisions lead from one to the next, so the ranks do not depend on a machine's math
/// library.
struct Binomial {
    /// Number of the first weight.
    first: u64,
    weights: Vec<f64>,
}

/// All omitted weights together (about 10^4 in any relevant range) stay far below rounding errors.
const NEVER: f64 = 1e-24;

impl Binomial {
    fn new(count: u64, quantile: Quantile) -> Self {
        let (inside, outside) = (f64::from(quantile.0), f64::from(1_000_000 - quantile.0));
        let likeliest = (u128::from(count + 1) * u128::from(quantile.0) / 1_000_000).min(count.into());
        let likeliest = u64::try_from(likeliest).unwrap_or(count);
        let mut weights = Vec::new();
        let (mut first, mut weight) = (likeliest, 1.0);
        while first > 0 {
            weight *= first as f64 * outside / ((count - first + 1) as f64 * inside);
            if weight < NEVER {
                break;
            }
            weights.push(weight);
            first -= 1;
        }
        weights.reverse();
        weights.push(1.0);
        weight = 1.0;
        for number in likeliest + 1..=count {
            weight *= (count - number + 1) as f64 * inside / (number as f64 * outside);
            if weight < NEVER {
                break;
            }
            weights.push(weight);
        }
        Self { first, weights }
    }

    fn ranks(&self, most: f64) -> Ranks {
        let total: f64 = self.weights.iter().sum();
        let (below, above) = (tail(self.weights.iter(), most * total), tail(self.weights.iter().rev(), most * total));
        let last = self.first + self.weights.len() as u64 - 1;
        Ranks {
            lower: (below > 0).then(|| self.first + below as u64),
            upper: (above > 0).then(|| last + 1 - above as u64),
        }
    }
}

/// Number of weights from the start that sum to no more than `most`.
fn tail<'a>(weights: impl Iterator<Item = &'a f64>, most: f64) -> usize {
    let mut sum = 0.0;
    weights
        .take_while(|&weight| {
            sum += weight;
            sum <= most
        })
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{LatencyNs, Series};
    use super::*;
    use candor_core::random::SplitMix64;

    const P95: Confidence = Confidence::P95;

    /// C(n, k), exactly.
    fn choose(n: u64, k: u64) -> u128 {
        (0..k).fold(1, |chosen, step| chosen * u128::from(n - step) / u128::from(step + 1))
    }

    /// `at_most(k)` is the probability that at most k samples lie at or below the quantile.
    fn by_definition(count: u64, at_most: impl Fn(u64) -> f64, most: f64) -> Ranks {
        let lower = (1..=count).rfind(|&rank| at_most(rank - 1) <= most);
        let upper = (1..=count).find(|&rank| at_most(rank - 1) >= 1.0 - most);
        Ranks { lower, upper }
    }

    #[test]
    fn ten_thousand_frames_bound_p99_9_but_not_p99_99() {
        let ranks = Ranks::of(10_000, Quantile(999_000), P95);
        assert_eq!(ranks, Ranks { lower: Some(9983), upper: Some(9997) });
        assert_eq!(Ranks::of(10_000, Quantile(999_900), P95).upper, None);
    }

    #[test]
    fn minimum_and_maximum_have_one_bound() {
        assert_eq!(Ranks::of(10, Quantile(0), P95), Ranks { lower: None, upper: Some(1) });
        assert_eq!(Ranks::of(10, Quantile(1_000_000), P95), Ranks { lower: Some(10), upper: None });
        assert_eq!(Ranks::of(0, Quantile::P50, P95), Ranks { lower: None, upper: None });
        assert_eq!(Ranks::of(5, Quantile::P50, P95), Ranks { lower: None, upper: None });
        assert_eq!(Ranks::of(6, Quantile::P50, P95), Ranks { lower: Some(1), upper: Some(6) });
    }

    /// For ten million samples, the normal approximation is close.
    #[test]
    fn ranks_of_many_samples_match_the_normal_approximation() {
        for ppm in [10_000, 500_000, 900_000, 999_000, 999_990] {
            let (count, share) = (10_000_000, f64::from(ppm) / 1e6);
            let ranks = Ranks::of(count, Quantile(ppm), P95);
            let (middle, spread) = (1e7 * share, 1.959_964 * (1e7 * share * (1.0 - share)).sqrt());
            let [lower, upper] = [ranks.lower, ranks.upper].map(|rank| rank.unwrap() as f64);
            let near = 2.0 + spread * 0.01;
            assert!((lower - (middle - spread)).abs() < near, "p{ppm}: {lower}");
            assert!((upper - (middle + spread + 1.0)).abs() < near, "p{ppm}: {upper}");
        }
    }

    /// 95 % of intervals contain the quantile of the population.
    #[test]
    fn intervals_contain_the_quantile_with_their_confidence() {
        let mut random = SplitMix64::new(7);
        for (ppm, count) in [(500_000, 51), (900_000, 200), (990_000, 1000)] {
            let held = (0..2000).filter(|_| {
                let drawn = (0..count).map(|_| LatencyNs(i64::try_from(random.below(1_000_000)).unwrap()));
                let interval = Series::new(drawn.collect()).unwrap().interval(Quantile(ppm), P95);
                let (lower, upper) = (interval.lower.unwrap().0, interval.upper.unwrap().0);
                (lower..=upper).contains(&i64::from(ppm))
            });
            let held = held.count();
            assert!((1890..=1990).contains(&held), "p{ppm}: {held} of 2000");
        }
    }

    proptest! {
        /// At the median, every probability is a count of subsets: no rounding.
        #[test]
        fn ranks_of_the_median_match_counted_subsets(count in 1u64..110, per_mille in 1u32..1000) {
            let subsets = |up_to: u64| (0..=up_to).map(|k| choose(count, k)).sum::<u128>();
            let confidence = Confidence(per_mille * 1000);
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
        fn ranks_match_the_binomial_sums(count in 1u64..120, ppm in 1u32..1_000_000, confidence in 500_000u32..999_900) {
            let share = f64::from(ppm) / 1e6;
            let chance = |k: u64| {
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
            let ranks = Ranks::of(usize::try_from(count).unwrap(), Quantile(ppm), Confidence(confidence));
            prop_assert_eq!(ranks, by_definition(count, at_most, most));
        }

        /// The ranks of q and 1 − q are mirror images.
        #[test]
        fn ranks_are_mirrored(count in 1usize..100_000, ppm in 1u32..1_000_000) {
            let (one, other) = (Ranks::of(count, Quantile(ppm), P95), Ranks::of(count, Quantile(1_000_000 - ppm), P95));
            let mirrored = |rank: Option<u64>| rank.map(|rank| count as u64 + 1 - rank);
            prop_assert_eq!((one.lower, one.upper), (mirrored(other.upper), mirrored(other.lower)));
        }
    }
}
