//! The kernel engine: installs the jobs of a plan in can-gw, all or none, and removes them at the end.
//!
//! can-gw does not record owners, so candor keeps ownership records ([`candor_userspace::run_dir`]): written before the first job
//! is added, locked while the process lives, removed after the last job is gone. Jobs of a dead candor are adopted or
//! removed.
//!
//! Jobs disappear without notification: with an interface, with the module, or by `cangw -F`. The next check finds them
//! missing and reinstalls them ([`mend`]).

mod error;
mod installed;
mod mend;
mod reload;
mod takeover;

pub use error::KernelError;

use std::collections::{BTreeMap, BTreeSet};

use candor_config::plan::{BusIndex, Plan, RouteIndex};
use candor_core::job::Job;
use candor_netlink::cangw::{self, CangwError, JobCounters};
use candor_netlink::client::Client;

use crate::fights::Fights;
use candor_userspace::counters::{Followed, RouteCounters};
use candor_userspace::ended::Ended;
use candor_userspace::notice::Notice;
use candor_userspace::preflight::Interfaces;
use candor_userspace::run_dir::{Entry, RunDir};
use installed::Installed;
use takeover::Takeover;

/// Installed jobs, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct KernelGateway {
    installed: Installed,
    job_routes: Vec<JobRoute>,
    followed: Vec<Followed>,
    fights: Fights,
    /// Jobs that candor itself has deleted to restore the order, and has not added again yet.
    owed: BTreeSet<usize>,
    /// The module is not loaded, which was reported.
    misses_module: bool,
}

#[derive(Clone, Copy, Debug)]
struct JobRoute {
    route: RouteIndex,
    from: BusIndex,
    to: BusIndex,
}

impl KernelGateway {
    /// Installs jobs that no other candor runs, which was checked; `entry` records them.
    pub(crate) fn start(
        plan: &Plan,
        jobs: &[&Job],
        interfaces: &Interfaces,
        run_dir: &mut RunDir,
        entry: Entry,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, KernelError> {
        let wanted = interfaces.kernel_jobs(jobs);
        let name = |position: usize| plan.route(jobs[position].route).name.clone();
        // From here on, dropping the value removes the added jobs and the ownership record.
        let mut installed = Installed::new(entry).map_err(KernelError::Netlink)?;
        let present = installed.present().map_err(KernelError::List)?;
        let takeover = Takeover::of(&wanted, run_dir.dead(), &present);

        installed.take_over(&wanted[wanted.len() - takeover.adopted..]);
        for (job, _pid) in &takeover.leftovers {
            installed.remove_leftover(job).map_err(KernelError::List)?;
        }
        for position in (0..wanted.len() - takeover.adopted).rev() {
            let refused = |source| KernelError::Install { route: name(position), source };
            installed.add(&wanted[position]).map_err(refused)?;
        }
        run_dir.forget_dead()?;

        let new = std::iter::repeat_n(JobCounters::default(), wanted.len() - takeover.adopted);
        let followed = new.chain(takeover.adopted_counters()).map(Followed::since).collect();
        notices(&takeover, name).into_iter().for_each(notify);
        let job_routes = jobs.iter().map(|job| JobRoute { route: job.route, from: job.from, to: job.to }).collect();
        let (fights, owed) = (Fights::default(), BTreeSet::new());
        Ok(Self { installed, job_routes, followed, fights, owed, misses_module: false })
    }

    /// True if something is missing that gives no notification.
    pub(crate) fn waits(&self) -> bool {
        self.misses_module || !self.owed.is_empty()
    }

    pub(crate) fn announce(&mut self, entry: Entry) {
        self.installed.announce(entry);
    }

    /// By job in plan order, as of the last check.
    pub(crate) fn counters(&self) -> Vec<RouteCounters> {
        self.followed.iter().map(Followed::total).collect()
    }

    /// Final counters by job, and the number of removed jobs.
    pub(crate) fn stop(mut self, plan: &Plan) -> Result<(Vec<RouteCounters>, Ended), KernelError> {
        // Jobs are removed even if their counters cannot be read.
        let _ = self.refresh();
        let (removed_jobs, missing_jobs) =
            self.installed.remove_all().map_err(|source| KernelError::Remove { route: self.route(plan, 0), source })?;
        Ok((self.counters(), Ended { removed_jobs, missing_jobs, ..Ended::default() }))
    }

    /// Updates the counters; returns by job whether it is installed.
    fn refresh(&mut self) -> Result<Vec<bool>, CangwError> {
        let now = self.installed.list(|position, counters| self.followed[position].growth(counters))?;
        self.follow(&now);
        Ok(now.iter().map(Option::is_some).collect())
    }

    /// Updates the counters of installed jobs.
    fn follow(&mut self, now: &[Option<JobCounters>]) {
        for (followed, now) in self.followed.iter_mut().zip(now) {
            if let Some(now) = now {
                followed.follow(*now);
            }
        }
    }

    fn route(&self, plan: &Plan, position: usize) -> String {
        self.job_routes.get(position).map_or_else(String::new, |job_route| plan.route(job_route.route).name.clone())
    }
}

/// Removes jobs of dead candors for a gateway without kernel jobs: its routes may now run in user space. Leaves them if
/// this user may not delete jobs, or if can-gw is not loaded.
pub(crate) fn remove_leftovers(run_dir: &mut RunDir, notify: &mut dyn FnMut(Notice)) -> Result<(), KernelError> {
    if run_dir.dead().is_empty() {
        return Ok(());
    }
    let mut client = Client::open().map_err(KernelError::Netlink)?;
    let present = match cangw::dump(&mut client) {
        Ok(present) => present,
        // Unloading the module removes its jobs.
        Err(CangwError::ModuleMissing) => Vec::new(),
        Err(error) => return Err(KernelError::List(error)),
    };
    let takeover = Takeover::of(&[], run_dir.dead(), &present);
    for (job, _pid) in &takeover.leftovers {
        match installed::remove_leftover(&mut client, job) {
            Err(CangwError::NotPermitted) => return Ok(()),
            result => result.map_err(KernelError::List)?,
        }
    }
    run_dir.forget_dead()?;
    notices(&takeover, |_none_wanted| String::new()).into_iter().for_each(notify);
    Ok(())
}

fn notices(takeover: &Takeover, name: impl Fn(usize) -> String) -> Vec<Notice> {
    let by_pid = |pids: &mut dyn Iterator<Item = u32>| {
        pids.fold(BTreeMap::<_, usize>::new(), |mut counts, pid| {
            *counts.entry(pid).or_default() += 1;
            counts
        })
    };
    let adopted = by_pid(&mut takeover.adopted_from.iter().copied());
    let removed = by_pid(&mut takeover.leftovers.iter().map(|(_, pid)| *pid));
    let adopted = adopted.into_iter().map(|(pid, jobs)| Notice::Adopted { jobs, pid });
    let removed = removed.into_iter().map(|(pid, jobs)| Notice::RemovedLeftovers { jobs, pid });
    let mut foreign: Vec<_> = takeover.foreign_twins.iter().map(|&position| name(position)).collect();
    foreign.dedup();
    adopted.chain(removed).chain(foreign.into_iter().map(|route| Notice::ForeignDuplicate { route })).collect()
}
