//! The engines of candor: a plan runs in the kernel, in user space, or in both.
//!
//! ```text
//!                          ┌─ kernel ──── can-gw jobs ── candor-netlink ──▶ kernel forwards
//!  Plan ─ Placement ─▶ Gateway
//!                          └─ user ────── one thread for each source bus: receiver ─▶ RuleSet ─▶ sender
//! ```
//!
//! [`Gateway::start`] first checks interfaces and kernel ([`Notice`], [`GatewayError`]) and then starts the engine of
//! the plan, or both, each with its routes. A running gateway reports counters and repairs what others break:
//! interfaces that disappear and return, jobs that are deleted. Stopping it, dropping it, or a panic removes everything
//! from the kernel.
//!
//! [`Gateway::reload`] switches to another plan while frames flow.
#![forbid(unsafe_code)]

mod abilities;
mod bpf;
mod composed;
mod control_file;
mod counters;
mod ended;
mod engines;
mod error;
mod fights;
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
mod refused_program;
mod run_dir;
mod running_kernel;
mod system_error;
mod temporary;
mod user;

pub use abilities::{AbilitiesError, TrialError, kernel_abilities, relative_crc8_by_trial};
pub use bpf::{BpfError, deaf_sockets, no_programs};
pub use composed::{FrameStatus, InputStatus};
pub use control_file::{ControlFile, ModeRequest, ReloadError, Running};
pub use counters::{BusCounters, Drops, FrameCounters, RouteCounters};
pub use ended::Ended;
pub use engines::{Lack, UserAbilities};
pub use error::GatewayError;
pub use gateway::{
    Gateway, GoneRoute, GuardEvent, GuardFinding, Guards, ModeCause, ModeChange, ModeOutcome, Recurring, Reload,
    Reloaded, Told,
};
pub use kernel::KernelError;
pub use latency::{LATENCY_BOUNDS, Latencies, MeasureLatency};
pub use notice::{Notice, Restart};
pub use owner::Owner;
pub use placement::PlacementError;
pub use preflight::InterfaceError;
pub use refusal::{Cause, Refusal};
pub use run_dir::{FileError, RunDirError, Since, give_run_dir, take_run_dir_back};
pub use running_kernel::fq_drops_kept_timestamps;
pub use system_error::SystemError;
pub use user::UserError;
