//! Status: the kernel's jobs with routes and owners.

use std::path::PathBuf;

use candor_config::placement::Side;
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{self, CangwError, CangwJob, ExactJob};
use candor_netlink::client::Client;

use super::difference::Names;
use super::error::ReconcileError;
use super::owners::claim;
use crate::job_identity::Identity;
use crate::notice::Notice;
use crate::owner::Owner;
use crate::run_dir::{Instance, OwnedJob, RunDir, Since};

/// All jobs and owners of this network namespace that this user may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Owners: applied files, then running processes, then dead ones.
    pub owners: Vec<OwnerState>,
    /// Jobs without a known owner, newest first.
    pub foreign: Vec<JobState>,
    /// Ownership records that this user may not read, whose jobs appear as foreign.
    pub unreadable: Vec<PathBuf>,
    /// can-gw is loaded.
    pub has_cangw: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerState {
    pub owner: Owner,
    /// A process that ended without removing its jobs.
    pub dead: bool,
    /// A change was interrupted.
    pub unfinished: bool,
    /// Time of the start or of the last apply.
    pub since: Since,
    /// In file order.
    pub jobs: Vec<JobState>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// Name of its route; `None` for foreign jobs.
    pub route: Option<String>,
    /// The interface whose frames are forwarded.
    pub from: End,
    /// The interface that sends them.
    pub to: End,
    /// The job, with counters if installed.
    pub job: CangwJob,
    /// Kernel or user space.
    pub side: Side,
    /// Installed; always true in user space.
    pub present: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Current name; `None` if it is gone.
    pub name: Option<String>,
    /// Name at installation, if different.
    pub was: Option<String>,
}

/// Reads the status. Needs no privileges.
///
/// # Errors
/// Netlink or the run directory fails.
pub fn status(notify: &mut dyn FnMut(Notice)) -> Result<Status, ReconcileError> {
    let mut client = Client::open().map_err(ReconcileError::Netlink)?;
    let opened = RunDir::open_existing(notify)?;
    let present = match cangw::dump_exact(&mut client) {
        Ok(present) => Some(present),
        Err(CangwError::ModuleMissing) => None,
        Err(error) => return Err(ReconcileError::List(error)),
    };
    let has_cangw = present.as_ref().is_some_and(|present| !present.is_empty()) || super::has_cangw();
    let names = Names::read(&mut client)?;
    let mut left = Left(present.unwrap_or_default().into_iter().map(Some).collect());
    let mut status = Status {
        unreadable: opened.denied.into_iter().map(|error| error.path).collect(),
        has_cangw,
        ..Status::default()
    };
    let applied = opened.open.iter().flat_map(RunDir::applied).map(|instance| (instance, false));
    let alive = opened.open.iter().flat_map(RunDir::alive).map(|instance| (instance, false));
    let dead = opened.open.iter().flat_map(RunDir::dead).map(|instance| (instance, true));
    for (instance, dead) in applied.chain(alive).chain(dead) {
        status.owners.push(left.state_of(instance, dead, &names));
    }
    status.foreign = left.0.into_iter().flatten().map(|exact| foreign(*exact.job(), &names)).collect();
    Ok(status)
}

/// Jobs without an owner so far.
struct Left(Vec<Option<ExactJob>>);

impl Left {
    fn state_of(&mut self, instance: &Instance, dead: bool, names: &Names) -> OwnerState {
        let present: Vec<_> = self.0.iter().flatten().cloned().collect();
        let jobs = match &instance.change {
            Some(_) => claim(instance, &present),
            // User-space routes ended with the process.
            None => instance.jobs.iter().filter(|job| !dead || job.side == Side::Kernel).cloned().collect(),
        };
        OwnerState {
            owner: instance.owner.clone(),
            dead,
            unfinished: instance.change.is_some(),
            since: instance.since,
            jobs: jobs.iter().map(|owned| self.job(owned, names)).collect(),
        }
    }

    fn job(&mut self, owned: &OwnedJob, names: &Names) -> JobState {
        let found = if owned.side == Side::Kernel { self.take(&owned.job) } else { None };
        let present = found.is_some() || owned.side != Side::Kernel;
        let job = *found.as_ref().unwrap_or(&owned.job).job();
        JobState {
            route: Some(owned.route.clone()),
            from: end(names, job.source, Some(&owned.from)),
            to: end(names, job.destination, Some(&owned.to)),
            job,
            side: owned.side,
            present,
        }
    }

    /// The oldest of equal jobs: later owners have added newer ones.
    fn take(&mut self, job: &ExactJob) -> Option<ExactJob> {
        let identity = Identity::of(job);
        let is_it = |other: &Option<ExactJob>| other.as_ref().is_some_and(|other| Identity::of(other) == identity);
        let at = self.0.iter().rposition(is_it)?;
        self.0[at].take()
    }
}

fn foreign(job: CangwJob, names: &Names) -> JobState {
    let (from, to) = (end(names, job.source, None), end(names, job.destination, None));
    JobState { route: None, from, to, job, side: Side::Kernel, present: true }
}

fn end(names: &Names, index: InterfaceIndex, was: Option<&String>) -> End {
    let name = names.known(index).map(str::to_owned);
    let was = was.filter(|was| Some(*was) != name.as_ref()).cloned();
    End { name, was }
}
