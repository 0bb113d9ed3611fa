//! Statistics: order statistics and latency profile of the 2011 paper, comparisons, warm-up, and the search for throughput.
//!
//! Latencies are not normally distributed, so series are described by order statistics and profiles instead of means.
//! Samples, seeds and results of trials are arguments: the same arguments give the same figures.
//!
//! ```text
//!  latencies ──warm_up──▶ Series ──▶ Figures with intervals ───────────▶ report
//!                           ├─ with the number of lost frames ─────────▶ Profile
//!                           └─ of several runs ──▶ compare ──▶ Verdict ─▶ geomean of many ratios
//!  trials ──throughput──▶ the highest rate without loss
//!  times of many frames ──▶ Line ──▶ time of one more frame
//! ```

pub mod compare;
mod interval;
mod line;
mod quantile;
mod ranks;
mod series;
pub mod throughput;
pub mod warm_up;

pub use compare::geomean;
pub use interval::TooFew;
pub use line::Line;
pub use quantile::{Confidence, Quantile};
use ranks::Ranks;
pub use series::{Interval, LatencyNs, Profile, ProfilePoint, Series};

/// Of all intervals in reports.
pub const CONFIDENCE: Confidence = Confidence::P95;

/// Order statistics of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub min: LatencyNs,
    pub p50: LatencyNs,
    pub p90: LatencyNs,
    pub p99: LatencyNs,
    pub max: LatencyNs,
    /// Of p50, p90 and p99, with [`CONFIDENCE`]; a bound is missing if there are too few frames.
    intervals: [Interval; 3],
}

impl Figures {
    pub fn of(series: &Series) -> Self {
        let quantiles = [Quantile::P50, Quantile::P90, Quantile::P99];
        let [p50, p90, p99] = quantiles.map(|quantile| series.quantile(quantile));
        let intervals = quantiles.map(|quantile| series.interval(quantile, CONFIDENCE));
        Self { min: series.min(), p50, p90, p99, max: series.max(), intervals }
    }

    /// Names and figures in the order of a table.
    pub const fn columns(&self) -> [(&'static str, LatencyNs); 5] {
        [("min", self.min), ("p50", self.p50), ("p90", self.p90), ("p99", self.p99), ("max", self.max)]
    }

    pub fn named(&self, name: &str) -> Option<LatencyNs> {
        self.columns().into_iter().find(|(known, _)| *known == name).map(|(_, latency)| latency)
    }

    /// The intervals of [`columns`](Self::columns).
    pub const fn intervals(&self) -> [Option<Interval>; 5] {
        let [p50, p90, p99] = self.intervals;
        [None, Some(p50), Some(p90), Some(p99), None]
    }
}
