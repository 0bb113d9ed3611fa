//! Statistics on values: order statistics and the latency profile of the 2011 paper, and what can be said with them.
//!
//! Latencies have no normal distribution, so nothing here knows a mean of them: a series is described by order statistics
//! and by its profile. Samples, seeds and results of trials are arguments, and the same arguments give the same figures.
//!
//! ```text
//!  latencies ──warm_up──▶ Series ──▶ quantiles, Interval ──────────────▶ figures of a report
//!                           ├─ Sent: with the frames that were lost ───▶ latency profile
//!                           └─ a run of several ──▶ compare ──▶ Verdict ─▶ geomean of many ratios
//!  trials ──throughput──▶ the highest rate without loss
//!  times of many frames ──▶ Line ──▶ what one more takes
//! ```
//!
//! Intervals and profiles stand in `candor-lab report`; `candor-lab compare` holds gateways, kernels or commits against each other by
//! [`compare`] and sums them up with [`geomean()`]; [`warm_up`] finds records that were not warm. cells of plans
//! with the traffic `throughput` find their rate by [`throughput`].

pub mod compare;
mod confidence;
mod geomean;
mod interval;
mod latency;
mod line;
mod quantile;
mod ranks;
mod sent;
mod series;
pub mod throughput;
pub mod warm_up;

pub use confidence::Confidence;
pub use geomean::geomean;
pub use interval::{Interval, TooFew};
pub use latency::LatencyNs;
pub use line::Line;
pub use quantile::Quantile;
pub use ranks::Ranks;
pub use sent::{Figure, Profile, Sent};
pub use series::{ProfilePoint, Series};
