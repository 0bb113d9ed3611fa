//! What this kernel's can-gw can do for this process.

use candor_core::job::Job;
use candor_core::placement::{KernelAbilities, MAX_MAX_HOPS, Missing};
use candor_netlink::cangw::{self, CangwError};
use candor_netlink::client::Client;

use super::probe;
use super::version::RunningKernel;
use crate::error::GatewayError;
use crate::preflight::Interfaces;

/// Where can-gw says how many hops it allows.
const MAX_HOPS_FILE: &str = "/sys/module/can_gw/parameters/max_hops";

/// Looks at the kernel as far as these jobs make a difference of it. Nothing is remembered: the module may be loaded
/// anew, another kernel booted.
pub(crate) fn find(
    client: &mut Client,
    jobs: &[Job],
    interfaces: &Interfaces,
) -> Result<KernelAbilities, GatewayError> {
    let Some(job) = jobs.first() else { return Ok(KernelAbilities::EVERY) };
    let missing = match cangw::probe(client, interfaces.index(job.from)) {
        Ok(()) => None,
        Err(CangwError::ModuleMissing) => Some(Missing::Module),
        Err(CangwError::NotPermitted) => Some(Missing::Privilege),
        Err(other) => return Err(GatewayError::ListJobs(other)),
    };
    if missing.is_some() {
        return Ok(KernelAbilities { missing, ..KernelAbilities::EVERY });
    }
    let running = running_kernel()?;
    Ok(KernelAbilities {
        missing,
        fd_jobs: running.has_fd_jobs(),
        relative_crc8: jobs.iter().any(wants_relative_crc8) && is_inside(&running),
        max_hops: max_hops().unwrap_or(MAX_MAX_HOPS),
    })
}

/// The kernel by its own words.
pub(crate) fn running_kernel() -> Result<RunningKernel, GatewayError> {
    RunningKernel::read()
        .map_err(|source| GatewayError::System { what: "Reading the kernel's version from /proc", source })
}

/// Versions say what they are known for, distributions fix older ones, so the trial has the last word. What cannot be
/// found out is not trusted: a kernel that gets it wrong writes outside the frame.
fn is_inside(running: &RunningKernel) -> bool {
    running.computes_relative_crc8() || probe::relative_crc8_by_trial().unwrap_or(false)
}

fn wants_relative_crc8(job: &Job) -> bool {
    job.checksums.crc8.as_ref().is_some_and(|crc8| crc8.span.is_relative())
}

/// `None` where the module does not say.
fn max_hops() -> Option<u8> {
    std::fs::read_to_string(MAX_HOPS_FILE).ok()?.trim().parse().ok()
}
