//! The gateways of candor: the same plan in the kernel and in user space.
//!
//! ```text
//!            ┌─ kernel ──── can-gw jobs ── candor-netlink ──▶ kernel forwards
//!  Plan ──▶ Gateway
//!            └─ read-write ─ one thread for each source bus: read() ─▶ RuleSet ─▶ send()
//! ```
//!
//! [`Gateway::start`] looks at the interfaces first ([`Notice`], [`GatewayError`]: what is wrong and what to type),
//! starts the engine that the plan names, and from then on only answers: what was counted, whether all is well. Ending
//! it, dropping it, or a panic takes everything out of the kernel again.
//!
//! Not here yet: exchanging rules while running, batching, rings, io_uring, fault policies.
#![forbid(unsafe_code)]

mod counters;
mod ended;
mod error;
mod gateway;
mod kernel;
mod notice;
mod preflight;
mod read_write;
mod run_dir;

pub use counters::RouteCounters;
pub use ended::Ended;
pub use error::{GatewayError, RunDirError};
pub use gateway::Gateway;
pub use notice::Notice;
pub use run_dir::{Owner, Since};
