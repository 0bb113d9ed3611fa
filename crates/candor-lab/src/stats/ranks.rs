//! Which samples bound a quantile, exactly and for every distribution.

use super::{Confidence, Quantile};

/// Which of the sorted samples bound a quantile from below and from above; each is missed in half of the cases that the
/// confidence leaves. Samples are counted from 1, and equal ones only make the interval surer.
///
/// # Source
/// H. A. David, H. N. Nagaraja, Order Statistics, section 7.1: how many of `n` samples lie at or below the quantile `q`
/// is binomial with `n` and `q`, whatever the distribution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// `None`: there are too few samples for any of them to lie below the quantile.
    pub lower: Option<u64>,
    /// `None`: there are too few samples for any of them to lie above the quantile.
    pub upper: Option<u64>,
}

impl Ranks {
    /// The ranks of the two-sided interval with as much to miss on either side. They are those of exact arithmetic
    /// unless what is missed comes within a billionth of the limit.
    #[must_use]
    pub fn of(count: usize, quantile: Quantile, confidence: Confidence) -> Self {
        Self::with_tails(count as u64, quantile, confidence.miss() / 2.0)
    }

    /// The same with at most this probability to miss on either side.
    pub(super) fn with_tails(count: u64, quantile: Quantile, most: f64) -> Self {
        match (count, quantile.ppm()) {
            (0, _) => Self { lower: None, upper: None },
            (_, 0) => Self { lower: None, upper: Some(1) },
            (_, 1_000_000) => Self { lower: Some(count), upper: None },
            _ => Binomial::new(count, quantile).ranks(most),
        }
    }
}

/// How likely each number of samples is, beside the most likely one. Numbers less likely than [`NEVER`] are left out.
///
/// From one number to the next there are only multiplications and divisions, so every machine gets the same ranks; no
/// machine's library for logarithms has a part in them.
struct Binomial {
    /// The number of samples that the first weight is for.
    first: u64,
    weights: Vec<f64>,
}

/// All numbers left out together, of which there are at most some 10^4 in any range that counts, stay far below what
/// rounding does.
const NEVER: f64 = 1e-24;

impl Binomial {
    fn new(count: u64, quantile: Quantile) -> Self {
        let (inside, outside) = (f64::from(quantile.ppm()), f64::from(1_000_000 - quantile.ppm()));
        let likeliest = (u128::from(count + 1) * u128::from(quantile.ppm()) / 1_000_000).min(count.into());
        let likeliest = u64::try_from(likeliest).unwrap_or(count);
        let mut weights = Vec::new();
        let (mut first, mut weight) = (likeliest, 1.0);
        while first > 0 {
            weight *= real(first) * outside / (real(count - first + 1) * inside);
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
            weight *= real(count - number + 1) * inside / (real(number) * outside);
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

/// How many weights, from the end, add up to no more than this.
fn tail<'a>(weights: impl Iterator<Item = &'a f64>, most: f64) -> usize {
    let mut sum = 0.0;
    weights
        .take_while(|&weight| {
            sum += weight;
            sum <= most
        })
        .count()
}

fn real(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "2^53 samples do not fit into a memory")]
    let real = count as f64;
    real
}

#[cfg(test)]
mod tests;
