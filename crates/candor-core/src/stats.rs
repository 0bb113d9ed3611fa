//! Statistics on values: order statistics and the latency profile of the 2011 paper.
//!
//! Latencies have no normal distribution, so nothing here knows a mean: a series is described by order statistics
//! and by its profile.

mod latency;
mod quantile;
mod series;

pub use latency::LatencyNs;
pub use quantile::Quantile;
pub use series::{ProfilePoint, Series};
