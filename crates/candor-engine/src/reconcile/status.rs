//! Status: the kernel's jobs with routes and owners.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use candor_bpf::gateway::Kind;
use candor_config::placement::Side;
use candor_config::signature::Signer;
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{self, CangwError, CangwJob, ExactJob, JobCounters, JobFlags};
use candor_netlink::client::Client;

use super::difference::Names;
use super::error::ReconcileError;
use super::owners::claim;
use crate::bpf::{self, InProgram};
use crate::control_file;
use candor_userspace::job_identity::Identity;
use candor_userspace::notice::Notice;
use candor_userspace::owner::Owner;
use candor_userspace::run_dir::{Instance, OwnedJob, RunDir, Since};

/// All jobs and owners of this network namespace that this user may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Owners: applied files, then running processes, then dead ones.
    pub owners: Vec<OwnerState>,
    /// Jobs without a known owner, newest first.
    pub foreign: Vec<JobState>,
    /// Routes in eBPF programs that no owner has: the process that attached them died.
    pub leftovers: Vec<LeftoverProgram>,
    /// Ownership records that this user may not read, whose jobs appear as foreign.
    pub unreadable: Vec<PathBuf>,
    /// can-gw is loaded.
    pub has_cangw: bool,
}

/// A route in a program of a dead process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverProgram {
    /// The interface whose frames it forwards.
    pub interface: String,
    pub route: String,
    /// Of the route, for frames of one format.
    pub counters: JobCounters,
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
    /// Who signed its file, if it needed a signature.
    pub signer: Option<Signer>,
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
    /// can-gw, an eBPF program or user space.
    pub side: Side,
    /// Installed; always true in user space.
    pub present: bool,
    /// The counters are of this job; otherwise its process counts, or the first job of its route in the same program.
    pub counted: bool,
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
    let mut left =
        Left { jobs: present.unwrap_or_default().into_iter().map(Some).collect(), programs: BTreeMap::new() };
    let mut status = Status {
        unreadable: opened.denied.into_iter().map(|error| error.path).collect(),
        has_cangw,
        ..Status::default()
    };
    let applied = opened.open.iter().flat_map(RunDir::applied).map(|instance| (instance, false));
    let applied = applied.map(|(instance, dead)| (instance, dead, instance.signer.clone()));
    let alive =
        opened.open.iter().flat_map(|dir| dir.alive().iter().map(|one| (one, false, control_file::signer(dir, one))));
    let dead = opened.open.iter().flat_map(RunDir::dead).map(|instance| (instance, true, None));
    for (instance, dead, signer) in applied.chain(alive).chain(dead) {
        for owned in instance.all_jobs().filter(|owned| owned.is_bpf()) {
            let interface = owned.job.job().source;
            if let Entry::Vacant(unknown) = left.programs.entry(interface) {
                // An interface that is gone has none.
                let there =
                    if names.known(interface).is_some() { bpf::routes_on(&mut client, interface)? } else { Vec::new() };
                unknown.insert(there);
            }
        }
        status.owners.push(OwnerState { signer, ..left.state_of(instance, dead, &names) });
    }
    for (interface, name) in names.all() {
        let is_known = |state: &OwnerState| {
            let mut jobs = state.jobs.iter().filter(|state| state.side == Side::Bpf);
            jobs.any(|state| state.job.source == interface)
        };
        // Records that cannot be read may own them.
        if status.unreadable.is_empty() && !status.owners.iter().any(is_known) {
            let here = bpf::routes_on(&mut client, interface)?.into_iter();
            status.leftovers.extend(here.map(|InProgram { route, counters, .. }| LeftoverProgram {
                interface: name.to_owned(),
                route,
                counters: counters.unwrap_or_default(),
            }));
        }
    }
    status.foreign = left.jobs.into_iter().flatten().map(|exact| foreign(*exact.job(), &names)).collect();
    Ok(status)
}

/// What has no owner so far.
struct Left {
    jobs: Vec<Option<ExactJob>>,
    /// By incoming interface.
    programs: BTreeMap<InterfaceIndex, Vec<InProgram>>,
}

impl Left {
    fn state_of(&mut self, instance: &Instance, dead: bool, names: &Names) -> OwnerState {
        let present: Vec<_> = self.jobs.iter().flatten().cloned().collect();
        let jobs: Vec<_> = match &instance.change {
            Some(_) => {
                let in_programs = instance.all_jobs().filter(|owned| owned.is_bpf()).cloned();
                claim(instance, &present).into_iter().chain(in_programs).collect()
            }
            // User-space routes ended with the process.
            None => instance.jobs.iter().filter(|job| !dead || job.side != Side::User).cloned().collect(),
        };
        OwnerState {
            owner: instance.owner.clone(),
            dead,
            unfinished: instance.change.is_some(),
            since: instance.since,
            signer: None,
            jobs: jobs.iter().map(|owned| self.job(owned, names)).collect(),
        }
    }

    fn job(&mut self, owned: &OwnedJob, names: &Names) -> JobState {
        let mut job = *owned.job.job();
        let (present, counters) = match owned.side {
            Side::Kernel => {
                let found = self.take(&owned.job);
                job = found.as_ref().map_or(job, |found| *found.job());
                (found.is_some(), found.map(|_| job.counters))
            }
            Side::Bpf => take_program(self.programs.entry(job.source).or_default(), owned),
            Side::User => (true, None),
        };
        job.counters = counters.unwrap_or_default();
        JobState {
            route: Some(owned.route.clone()),
            from: end(names, job.source, Some(&owned.from)),
            to: end(names, job.destination, Some(&owned.to)),
            job,
            side: owned.side,
            present,
            counted: counters.is_some(),
        }
    }

    /// The oldest of equal jobs: later owners have added newer ones.
    fn take(&mut self, job: &ExactJob) -> Option<ExactJob> {
        let identity = Identity::of(job);
        let is_it = |other: &Option<ExactJob>| other.as_ref().is_some_and(|other| Identity::of(other) == identity);
        let at = self.jobs.iter().rposition(is_it)?;
        self.jobs[at].take()
    }
}

/// True if the route of a job is in a program, with the counters of the route for its first job.
fn take_program(programs: &mut [InProgram], owned: &OwnedJob) -> (bool, Option<JobCounters>) {
    let flags = owned.job.job().flags;
    let kind = if flags.contains(JobFlags::XL) { Kind::Xl } else { flags.format().into() };
    let found = programs.iter_mut().find(|program| program.route == owned.route && program.kind == kind);
    found.map_or((false, None), |program| (true, program.counters.take()))
}

fn foreign(job: CangwJob, names: &Names) -> JobState {
    let (from, to) = (end(names, job.source, None), end(names, job.destination, None));
    JobState { route: None, from, to, job, side: Side::Kernel, present: true, counted: true }
}

fn end(names: &Names, index: InterfaceIndex, was: Option<&String>) -> End {
    let name = names.known(index).map(str::to_owned);
    let was = was.filter(|was| Some(*was) != name.as_ref()).cloned();
    End { name, was }
}
