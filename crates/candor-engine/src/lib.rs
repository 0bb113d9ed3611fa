//! The gateways of candor: the same plan in the kernel and in user space.
//!
//! ```text
//!                          ┌─ kernel ──── can-gw jobs ── candor-netlink ──▶ kernel forwards
//!  Plan ─ Placement ─▶ Gateway
//!                          └─ user ────── one thread for each source bus: receiver ─▶ RuleSet ─▶ sender
//! ```
//!
//! [`Gateway::start`] looks at the interfaces and the kernel first ([`Notice`], [`GatewayError`]: what is wrong and what to
//! type) and starts the engine that the plan names, or both, each with its routes. From then on it answers (what was
//! counted, whether all is well) and mends what others break: interfaces that go and come back, jobs that are deleted.
//! Ending it, dropping it, or a panic takes everything out of the kernel again.
//!
//! [`Gateway::reload`] goes over to another plan while frames flow.
#![forbid(unsafe_code)]

mod abilities;
mod control_file;
mod counters;
mod ended;
mod engines;
mod error;
mod gateway;
mod job_identity;
mod kernel;
mod latency;
mod notice;
mod owner;
mod placement;
mod preflight;
pub mod realtime;
pub mod reconcile;
mod refusal;
mod run_dir;
mod system_error;
mod temporary;
mod user;

pub use abilities::{AbilitiesError, TrialError, kernel_abilities, relative_crc8_by_trial};
pub use control_file::{ControlFile, ReloadError, Running};
pub use counters::{BusCounters, Drops, RouteCounters};
pub use ended::Ended;
pub use engines::{Lack, UserAbilities};
pub use error::GatewayError;
pub use gateway::{Gateway, GoneRoute, Reload, Reloaded};
pub use kernel::KernelError;
pub use latency::{LATENCY_BOUNDS, Latencies, MeasureLatency};
pub use notice::{Notice, Restart};
pub use owner::Owner;
pub use placement::PlacementError;
pub use preflight::InterfaceError;
pub use refusal::{Cause, Refusal};
pub use run_dir::{FileError, RunDirError, Since, give_run_dir, take_run_dir_back};
pub use system_error::SystemError;
pub use user::UserError;
