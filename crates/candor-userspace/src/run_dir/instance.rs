//! Owners with their jobs.

use candor_config::placement::Side;
use candor_config::plan::Plan;
use candor_config::signature::Signer;
use candor_core::job::Job;
use candor_io::can::InterfaceIndex;
use candor_io::clock;
use candor_netlink::cangw::{CangwJob, ExactJob};

use crate::owner::Owner;
use crate::preflight::Interfaces;
use crate::system_error::SystemError;

/// A time by wall clock and by boot time, which cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// Wall-clock time in seconds since 1970.
    pub unix_s: i64,
    /// Seconds since the machine was booted.
    pub boot_s: i64,
}

impl Since {
    pub fn now() -> Result<Self, SystemError> {
        let failed = SystemError::while_doing("Reading the clock");
        let (real, boot) = (clock::realtime().map_err(failed)?, clock::boottime().map_err(failed)?);
        Ok(Self { unix_s: real.0 / NS_PER_S, boot_s: boot.0 / NS_PER_S })
    }
}

const NS_PER_S: i64 = 1_000_000_000;

/// A job of a route, in the kernel or in user space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedJob {
    pub route: String,
    /// Interface names at installation.
    pub from: String,
    pub to: String,
    pub side: Side,
    pub job: ExactJob,
}

impl OwnedJob {
    pub fn is_bpf(&self) -> bool {
        self.side == Side::Bpf
    }

    /// The jobs of a plan with the interfaces of this machine, in plan order.
    pub fn list(plan: &Plan, interfaces: &Interfaces, jobs: &[Job], side: impl Fn(&Job) -> Side) -> Vec<Self> {
        let owned = |job: &Job| {
            let (from, to) = (interfaces.link(job.from), interfaces.link(job.to));
            Self {
                route: plan.route(job.route).name.clone(),
                from: from.name.clone(),
                to: to.name.clone(),
                side: side(job),
                job: CangwJob::new(job, from.index, to.index).into(),
            }
        };
        jobs.iter().map(owned).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub owner: Owner,
    pub since: Since,
    /// Who signed an applied file, if it needed a signature. For a process, its control file says it.
    pub signer: Option<Signer>,
    /// In file order.
    pub jobs: Vec<OwnedJob>,
    /// An interrupted change, after which any of its jobs may be installed or not.
    pub change: Option<Change>,
}

/// State before a change of applied jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub before: Vec<OwnedJob>,
    /// Equal foreign jobs, which are not the owner's.
    pub strangers: Vec<ExactJob>,
}

impl Instance {
    /// Process id; `None` for an applied file.
    pub const fn pid(&self) -> Option<u32> {
        match self.owner {
            Owner::Process { pid, .. } => Some(pid),
            Owner::Applied { .. } => None,
        }
    }

    /// All jobs that it may have, including those of an interrupted change.
    pub fn all_jobs(&self) -> impl Iterator<Item = &OwnedJob> {
        self.jobs.iter().chain(self.change.iter().flat_map(|change| &change.before))
    }

    pub fn has_programs_on(&self, interface: InterfaceIndex) -> bool {
        self.all_jobs().any(|owned| owned.is_bpf() && owned.job.job().source == interface)
    }

    pub fn kernel_jobs(&self) -> impl Iterator<Item = &OwnedJob> {
        self.jobs.iter().filter(|job| job.side == Side::Kernel)
    }
}
