//! Differences that are there when nothing differs.

use super::super::{Quantile, Series};

/// The largest difference between two runs of the same device, as a share of the first of them.
///
/// Of `k` pairs, a further one differs more with a probability of one in `k` + 1. So the floor of few pairs is low rather than
/// high, and how many there were belongs beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseFloor {
    /// The largest difference, without its sign: 0.004 for 0.4 %.
    pub share: f64,
    /// Of how many pairs.
    pub pairs: usize,
}

impl NoiseFloor {
    /// The floor at this quantile of pairs of runs of one and the same device; `None` without pairs, or if a first run has a
    /// latency that is not above zero.
    #[must_use]
    pub fn of(pairs: &[(Series, Series)], quantile: Quantile) -> Option<Self> {
        let change = |(first, second): &(Series, Series)| {
            second.quantile(quantile).ratio_to(first.quantile(quantile)).map(|ratio| (ratio - 1.0).abs())
        };
        let changes: Vec<f64> = pairs.iter().map(change).collect::<Option<_>>()?;
        let share = changes.into_iter().max_by(f64::total_cmp)?;
        Some(Self { share, pairs: pairs.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::LatencyNs;

    #[test]
    fn the_floor_is_the_largest_difference_of_either_sign() {
        let pair = |first, second| [first, second].map(|ns| Series::new(vec![LatencyNs(ns)]).unwrap());
        let pairs = [pair(1000, 1003), pair(1000, 995), pair(500, 501)].map(|[first, second]| (first, second));
        let floor = NoiseFloor::of(&pairs, Quantile::P50).unwrap();
        assert!((floor.share - 0.005).abs() < 1e-12 && floor.pairs == 3, "{floor:?}");
        assert_eq!(NoiseFloor::of(&[], Quantile::P50), None);
        let [zero, one] = pair(0, 1);
        assert_eq!(NoiseFloor::of(&[(zero, one)], Quantile::P50), None);
    }
}
