//! Real-time settings in effect, read from the kernel.

use candor_config::placement::Side;
use candor_config::plan::Plan;
use candor_io::dma_latency::CPU_DMA_LATENCY;

use super::{FRAMES_THREAD, THREAD_PREFIX};
use crate::owner::Owner;
use crate::run_dir::{RunDir, RunDirError};
use candor_io::machine::{Machine, Thread};

/// Real-time settings of a forwarding process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obtained {
    pub threads: Vec<Thread>,
    /// Locked memory in KiB.
    pub locked_kib: u64,
    /// It holds `/dev/cpu_dma_latency`; `None` if this user may not know.
    pub keeps_awake: Option<bool>,
}

/// Reads the settings of a process; needs no privileges.
#[must_use]
pub fn obtained(machine: &Machine, pid: u32) -> Obtained {
    let process = machine.process(pid);
    let mut threads = process.threads();
    threads.retain(|thread| thread.name.starts_with(THREAD_PREFIX) || thread.name == FRAMES_THREAD);
    let locked = process.status("VmLck").and_then(|text| text.split_whitespace().next()?.parse().ok());
    Obtained { threads, locked_kib: locked.unwrap_or_default(), keeps_awake: process.has_open(CPU_DMA_LATENCY) }
}

/// Running candors with user-space routes of this plan that this user may see.
///
/// # Errors
/// [`RunDirError`] if the run directory cannot be read.
pub fn running(plan: &Plan) -> Result<Vec<u32>, RunDirError> {
    let is_of_plan = |name: &str, from: &str| {
        plan.routes().iter().any(|route| route.name == name && plan.bus(route.from).interface == from)
    };
    // `candor status` reports unreadable records.
    let opened = RunDir::open_existing(&mut |_notice| {})?;
    let alive = opened.open.iter().flat_map(RunDir::alive);
    let pids = alive.filter_map(|instance| {
        let mut jobs = instance.jobs.iter().filter(|job| job.side == Side::User);
        let runs_it = jobs.any(|job| is_of_plan(&job.route, &job.from));
        match instance.owner {
            Owner::Process { pid, .. } if runs_it => Some(pid),
            _ => None,
        }
    });
    Ok(pids.collect())
}
