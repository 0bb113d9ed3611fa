//! Two devices held against each other, run by run.
//!
//! Frames of one run depend on each other, so ten thousand of them are not ten thousand observations: the run is what is
//! repeated. Each run gives one figure, a quantile of its frames, and only the figures of runs are compared:
//!
//! ```text
//!  runs of A and B ──quantile of each──▶ pairs of figures ──medians, drawn again──▶ Comparison ──noise floor──▶ Verdict
//!  runs of A and A ─────────────────────────────────────────────────────────────────────▶ NoiseFloor ──┘
//! ```
//!
//! There is no p value here: a verdict has a size, an interval and a floor below which no difference is called one. On a
//! testbed that counts instructions runs do not differ, and [`Exact`] needs no statistics.
//!
//! Frames that were lost are in no [`Series`] and in no figure here: whoever prints a verdict prints them beside it.
//!
//! For `candor-lab compare`, whose runs are [`Runs::Apart`]. Blocks of runs in the order A B B A are [`Runs::Paired`].

mod bootstrap;
mod exact;
mod noise;
mod verdict;

use std::fmt;

pub use exact::{Counted, Exact};
pub use noise::NoiseFloor;
pub use verdict::{Change, Verdict};

use self::bootstrap::Bootstrap;
use super::{Confidence, LatencyNs, Quantile, Series};

/// The runs of A and of B.
#[derive(Clone, Copy, Debug)]
pub enum Runs<'a> {
    /// Runs that have nothing to do with each other.
    Apart {
        /// Those of A.
        a: &'a [Series],
        /// Those of B.
        b: &'a [Series],
    },
    /// Runs of A and B that were made one after the other: what changes slowly is in both, and cancels.
    Paired(&'a [(Series, Series)]),
}

/// A figure, and between which others it lies.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Estimate<T> {
    /// That of the runs as they are.
    pub value: T,
    /// The lower end of its interval.
    pub lower: T,
    /// The upper end of its interval.
    pub upper: T,
}

/// How B differs from A at a quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Of which latencies.
    pub quantile: Quantile,
    /// How sure the intervals are.
    pub confidence: Confidence,
    /// How much longer B takes.
    pub difference: Estimate<LatencyNs>,
    /// How many times as long B takes.
    pub ratio: Estimate<f64>,
}

/// Why two devices are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotCompared {
    /// A latency of A is not above zero, so nothing is a share of it.
    NoBase {
        /// At which quantile.
        quantile: Quantile,
    },
    /// Each device needs more runs.
    TooFewRuns {
        /// How many runs, or pairs of runs, the device with the fewest has.
        there: usize,
    },
}

/// Runs, or pairs of runs, that a comparison needs. The interval of five is from the smallest to the largest of them, which
/// holds the median 15 times of 16; fewer runs say too little.
pub const RUNS_NEEDED: usize = 5;

impl Comparison {
    /// Compares the runs. The difference is the median of the differences of pairs, or the difference of the medians of runs
    /// that are apart; the same holds for the ratio. The seed decides what is drawn, and is to be recorded.
    ///
    /// # Errors
    /// [`NotCompared`] if there are too few runs, or A has a latency that is not above zero.
    pub fn of(runs: Runs<'_>, quantile: Quantile, confidence: Confidence, seed: u64) -> Result<Self, NotCompared> {
        let there = match runs {
            Runs::Apart { a, b } => a.len().min(b.len()),
            Runs::Paired(pairs) => pairs.len(),
        };
        if there < RUNS_NEEDED {
            return Err(NotCompared::TooFewRuns { there });
        }
        let figure = |run: &Series| run.quantile(quantile);
        let bootstrap = Bootstrap { confidence, seed };
        let (difference, ratio) = match runs {
            Runs::Apart { a, b } => {
                let (a, b): (Vec<_>, Vec<_>) = (a.iter().map(figure).collect(), b.iter().map(figure).collect());
                bootstrap.apart(&a, &b)
            }
            Runs::Paired(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(a, b)| (figure(a), figure(b))).collect();
                bootstrap.paired(&pairs)
            }
        }
        .ok_or(NotCompared::NoBase { quantile })?;
        Ok(Self { quantile, confidence, difference, ratio })
    }
}

impl fmt::Display for NotCompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBase { quantile } => write!(f, "no ratio: {quantile} of A is not above zero in every run"),
            Self::TooFewRuns { there } => write!(f, "not enough runs: {RUNS_NEEDED} needed, {there} there"),
        }
    }
}

impl std::error::Error for NotCompared {}

#[cfg(test)]
mod tests;
