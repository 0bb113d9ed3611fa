//! Statistics on values: order statistics and the latency profile of the 2011 paper.
//!
//! Latencies have no normal distribution, so nothing here knows a mean: a series is described by order statistics
//! and by its profile.

pub mod compare;
mod confidence;
mod interval;
mod latency;
mod quantile;
mod ranks;
mod sent;
mod series;
pub mod throughput;
pub mod warm_up;

pub use confidence::Confidence;
pub use interval::{Interval, TooFew};
pub use latency::LatencyNs;
pub use quantile::Quantile;
pub use ranks::Ranks;
pub use sent::{Figure, Profile, Sent};
pub use series::{ProfilePoint, Series};
