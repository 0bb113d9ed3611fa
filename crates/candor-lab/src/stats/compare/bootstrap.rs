//! Medians of runs, and what they would be if other runs had been made.

use super::super::{Confidence, LatencyNs};
use super::Estimate;
use candor_core::random::SplitMix64;

/// How often runs are drawn again: the ends of a 95 % interval are then the 50th from either side.
const DRAWS: usize = 2000;

/// Runs are drawn again from those that were made, with repetition, and the figure is made of the drawn ones; the interval
/// leaves out as many of those figures on either side as the confidence allows.
///
/// # Source
/// B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, section 13.3 (percentile interval).
pub(super) struct Bootstrap {
    pub(super) confidence: Confidence,
    pub(super) seed: u64,
}

/// Difference and ratio.
type Estimates = (Estimate<LatencyNs>, Estimate<f64>);

impl Bootstrap {
    /// The median of the differences and of the ratios of pairs (A, B); `None` unless all of A are above zero.
    pub(super) fn paired(&self, pairs: &[(LatencyNs, LatencyNs)]) -> Option<Estimates> {
        let both = |(a, b): &(LatencyNs, LatencyNs)| Some((b.0 - a.0, b.ratio_to(*a)?));
        let both: Vec<_> = pairs.iter().map(both).collect::<Option<_>>()?;
        self.estimates(|draw| {
            let (differences, ratios) = draw.runs(&both).into_iter().unzip();
            Some((median(differences), median_real(ratios)))
        })
    }

    /// The difference and the ratio of the medians of A and B; `None` unless all of A are above zero.
    pub(super) fn apart(&self, a: &[LatencyNs], b: &[LatencyNs]) -> Option<Estimates> {
        if a.iter().any(|latency| latency.0 <= 0) {
            return None;
        }
        self.estimates(|draw| {
            let [a, b] = [a, b].map(|runs| median(draw.runs(runs).into_iter().map(|latency| latency.0).collect()));
            Some((b - a, LatencyNs(b).ratio_to(LatencyNs(a))?))
        })
    }

    /// Figures of the runs as they are, and of runs drawn from them.
    fn estimates(&self, figures: impl Fn(&mut Draw) -> Option<(i64, f64)>) -> Option<Estimates> {
        let (difference, ratio) = figures(&mut Draw::AsTheyAre)?;
        let mut again = Draw::Again(SplitMix64::new(self.seed));
        let drawn: Vec<_> = (0..DRAWS).map(|_| figures(&mut again)).collect::<Option<_>>()?;
        let (mut differences, mut ratios): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
        differences.sort_unstable();
        ratios.sort_unstable_by(f64::total_cmp);
        let [low, high] = self.ends();
        let [value, lower, upper] = [difference, differences[low], differences[high]].map(LatencyNs);
        Some((Estimate { value, lower, upper }, Estimate { value: ratio, lower: ratios[low], upper: ratios[high] }))
    }

    /// The first and the last of the sorted figures that belong to the interval.
    fn ends(&self) -> [usize; 2] {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and half of the draws")]
        #[expect(clippy::cast_precision_loss, reason = "a small constant")]
        let outside = (DRAWS as f64 * self.confidence.miss() / 2.0) as usize;
        [outside.min(DRAWS / 2), DRAWS - 1 - outside.min(DRAWS / 2 - 1)]
    }
}

/// Which runs a figure is made of.
enum Draw {
    /// As many as there are, some of them several times.
    Again(SplitMix64),
    /// Each once.
    AsTheyAre,
}

impl Draw {
    fn runs<T: Copy>(&mut self, runs: &[T]) -> Vec<T> {
        match self {
            Self::Again(random) => runs.iter().map(|_| runs[random.below(runs.len())]).collect(),
            Self::AsTheyAre => runs.to_vec(),
        }
    }
}

/// The middle one, or what lies between the two in the middle.
fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    i64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

fn median_real(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways to draw `count` of `count` runs, as places.
    fn every_draw(count: usize) -> Vec<Vec<usize>> {
        (0..count).fold(vec![vec![]], |draws, _| {
            let longer = |draw: &Vec<usize>| (0..count).map(|place| [&draw[..], &[place]].concat()).collect::<Vec<_>>();
            draws.iter().flat_map(longer).collect()
        })
    }

    /// Drawing goes the way of all 3125 draws of five runs, whose share at each end is known exactly.
    #[test]
    fn ends_are_those_of_all_draws() {
        let pairs =
            [(100, 103), (100, 109), (100, 104), (100, 101), (100, 120)].map(|(a, b)| (LatencyNs(a), LatencyNs(b)));
        let differences = pairs.map(|(a, b)| b.0 - a.0);
        let mut all: Vec<_> =
            every_draw(5).iter().map(|draw| median(draw.iter().map(|&at| differences[at]).collect())).collect();
        all.sort_unstable();
        // With 70 %, no end lies near a step of the exact distribution, which a draw could miss.
        for (ppm, outside) in [(950_000, 0.025), (700_000, 0.15)] {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 3125")]
            let outside = (3125.0 * outside) as usize;
            for seed in 0..5 {
                let bootstrap = Bootstrap { confidence: Confidence::from_ppm(ppm).unwrap(), seed };
                let (difference, ratio) = bootstrap.paired(&pairs).unwrap();
                assert_eq!((difference.lower.0, difference.upper.0), (all[outside], all[3124 - outside]));
                assert_eq!(difference.value.0, 4);
                assert!((ratio.value - 1.04).abs() < 1e-12 && ratio.lower <= ratio.value && ratio.value <= ratio.upper);
            }
        }
    }

    #[test]
    fn medians_of_even_counts_lie_between() {
        assert_eq!(median(vec![4, 1, 2, 3]), 2);
        assert!((median_real(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn nothing_is_a_share_of_zero() {
        let bootstrap = Bootstrap { confidence: Confidence::P95, seed: 1 };
        assert_eq!(bootstrap.paired(&[(LatencyNs(0), LatencyNs(1))]), None);
        assert_eq!(bootstrap.apart(&[LatencyNs(0)], &[LatencyNs(1)]), None);
    }
}
