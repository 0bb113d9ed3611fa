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
mod engines;
mod error;
mod fights;
mod gateway;
mod kernel;
mod placement;
pub mod reconcile;
mod refusal;
mod refused_program;

pub use abilities::{AbilitiesError, TrialError, kernel_abilities, relative_crc8_by_trial};
pub use bpf::{BpfError, deaf_sockets, no_programs};
pub use candor_userspace::counters::{BusCounters, Drops, FrameCounters, RouteCounters};
pub use candor_userspace::ended::Ended;
pub use candor_userspace::latency::{LATENCY_BOUNDS, Latencies, MeasureLatency};
pub use candor_userspace::notice::{Notice, Restart};
pub use candor_userspace::owner::Owner;
pub use candor_userspace::preflight::InterfaceError;
pub use candor_userspace::realtime;
pub use candor_userspace::run_dir::{FileError, RunDirError, Since, give_run_dir, take_run_dir_back};
pub use candor_userspace::running_kernel::fq_drops_kept_timestamps;
pub use candor_userspace::system_error::SystemError;
pub use candor_userspace::user::UserError;
pub use composed::{FrameStatus, InputStatus};
pub use control_file::{ControlFile, ModeRequest, ReloadError, Running};
pub use engines::{Lack, UserAbilities};
pub use error::GatewayError;
pub use gateway::{
    Gateway, GoneRoute, GuardEvent, GuardFinding, Guards, ModeCause, ModeChange, ModeOutcome, Recurring, Reload,
    Reloaded, Told,
};
pub use kernel::KernelError;
pub use placement::PlacementError;
pub use refusal::{Cause, Refusal};
