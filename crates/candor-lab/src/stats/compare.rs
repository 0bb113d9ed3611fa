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
    /// B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, section 13.3 (percentile interval).
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
            "" => format!("~ no difference shown {range}: more runs may tell"),
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
/// P. J. Fleming, J. J. Wallace, How Not to Lie with Statistics: The Correct Way to Summarize Benchmark Results, 1986.
pub fn geomean(ratios: &[f64]) -> Option<f64> {
    if ratios.is_empty() || ratios.iter().any(|ratio| !ratio.is_finite() || *ratio <= 0.0) {
        return None;
    }
    // A product of many could overflow; logarithms do not.
    Some((ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests;
