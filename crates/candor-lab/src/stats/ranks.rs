//! Samples that bound a quantile, exactly and for every distribution.

use super::{Confidence, Quantile};

/// Ranks of the sorted samples, from 1, that bound a quantile; each bound is missed in half of the cases that the
/// confidence leaves. Ties only make the interval surer.
///
/// # Source
/// H. A. David, H. N. Nagaraja, Order Statistics, section 7.1: how many of `n` samples lie at or below the quantile `q`
/// is binomial with `n` and `q`, for any distribution.
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
mod tests;
