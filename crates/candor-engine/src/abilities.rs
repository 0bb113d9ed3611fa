//! Features of this kernel's can-gw.

mod probe;

pub use probe::{TrialError, relative_crc8_by_trial};

use candor_config::placement::{KernelAbilities, MAX_MAX_HOPS, Missing};
use candor_core::job::Job;
use candor_netlink::cangw::{self, CangwError};
use candor_netlink::client::Client;

use candor_userspace::preflight::Interfaces;
use candor_userspace::running_kernel::running_kernel;
use candor_userspace::system_error::SystemError;

/// can-gw or the kernel's version cannot be queried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AbilitiesError {
    /// can-gw gave an unexpected answer.
    #[error("cannot list the can-gw jobs")]
    List(#[source] CangwError),
    /// A system call that should not fail.
    #[error(transparent)]
    System(#[from] SystemError),
}

const MAX_HOPS_FILE: &str = "/sys/module/can_gw/parameters/max_hops";

/// Queries the kernel as far as these jobs depend on it. Not cached: the module may be reloaded.
pub(crate) fn find(
    client: &mut Client,
    jobs: &[Job],
    interfaces: &Interfaces,
) -> Result<KernelAbilities, AbilitiesError> {
    let Some(job) = jobs.first() else { return Ok(KernelAbilities::EVERY) };
    let missing = match cangw::probe(client, interfaces.index(job.from)) {
        Ok(()) => None,
        Err(CangwError::ModuleMissing) => Some(Missing::Module),
        Err(CangwError::NotPermitted) => Some(Missing::Privilege),
        Err(other) => return Err(AbilitiesError::List(other)),
    };
    if missing.is_some() {
        return Ok(KernelAbilities { missing, ..KernelAbilities::EVERY });
    }
    Ok(kernel_abilities(jobs)?.0)
}

/// Abilities of a loaded can-gw for these jobs, and why a trial was impossible. Unlike
/// [`Gateway::start`](crate::Gateway::start), this does not check whether the process may use can-gw.
///
/// Distributions backport fixes, so where the version is not known to be fixed, a trial decides. Without a result the
/// answer is no: a wrong kernel writes outside the frame.
///
/// # Errors
/// [`SystemError`] if `/proc` does not give the version.
pub fn kernel_abilities(jobs: &[Job]) -> Result<(KernelAbilities, Option<TrialError>), SystemError> {
    let running = running_kernel()?;
    let is_wanted = jobs.iter().any(wants_relative_crc8);
    let (relative_crc8, untold) = match running.computes_relative_crc8() {
        false if is_wanted => match relative_crc8_by_trial() {
            Ok(is_inside) => (is_inside, None),
            Err(why) => (false, Some(why)),
        },
        is_known => (is_known && is_wanted, None),
    };
    let max_hops = max_hops().unwrap_or(MAX_MAX_HOPS);
    let fd_jobs = running.has_fd_jobs();
    Ok((KernelAbilities { fd_jobs, relative_crc8, max_hops, ..KernelAbilities::EVERY }, untold))
}

fn wants_relative_crc8(job: &Job) -> bool {
    job.checksums.crc8.as_ref().is_some_and(|crc8| crc8.span.is_relative())
}

/// `None` if the module does not export it.
pub(crate) fn max_hops() -> Option<u8> {
    std::fs::read_to_string(MAX_HOPS_FILE).ok()?.trim().parse().ok()
}
