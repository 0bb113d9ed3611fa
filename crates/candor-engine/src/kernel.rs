//! The kernel engine: the plan's jobs in can-gw, installed whole or not at all, and taken out again.
//!
//! can-gw has no owners, so candor keeps a list of its own ([`crate::run_dir`]): written before the first job is added, locked
//! while the process lives, removed after the last job is gone. What a dead candor left is adopted or removed.
//!
//! Jobs go away without a word: with an interface, with the module, by anybody's `cangw -F`. They are missed at the next
//! look and put back ([`mend`]).

mod error;
mod fights;
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

use crate::counters::{Followed, RouteCounters};
use crate::ended::Ended;
use crate::notice::Notice;
use crate::preflight::Interfaces;
use crate::run_dir::{Entry, RunDir};
use fights::Fights;
use installed::Installed;
use takeover::Takeover;

/// Jobs in the kernel that go away with this value.
#[derive(Debug)]
pub(crate) struct KernelGateway {
    installed: Installed,
    /// By job: what it is part of, and between which buses.
    job_routes: Vec<JobRoute>,
    followed: Vec<Followed>,
    fights: Fights,
    /// Jobs that are gone by candor's own doing: taken out for the order, and not put back yet.
    owed: BTreeSet<usize>,
    /// Whether the module is gone, and has been told to be.
    misses_module: bool,
}

#[derive(Clone, Copy, Debug)]
struct JobRoute {
    route: RouteIndex,
    from: BusIndex,
    to: BusIndex,
}

impl KernelGateway {
    /// Installs jobs, which nobody else runs: that has been looked at, and `entry` tells others.
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
        // From here on dropping the value takes out the jobs that have been added, and forgets the entry.
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

    /// Whether something is waited for that does not announce itself.
    pub(crate) fn waits(&self) -> bool {
        self.misses_module || !self.owed.is_empty()
    }

    /// Has others know of this process by a new entry of the run directory.
    pub(crate) fn announce(&mut self, entry: Entry) {
        self.installed.announce(entry);
    }

    /// By job, in the order of the plan, as of the last check.
    pub(crate) fn counters(&self) -> Vec<RouteCounters> {
        self.followed.iter().map(Followed::total).collect()
    }

    /// The last counters by job, and how it ended.
    pub(crate) fn stop(mut self, plan: &Plan) -> Result<(Vec<RouteCounters>, Ended), KernelError> {
        // Jobs are removed also where they cannot be counted any more.
        let _ = self.refresh();
        let (removed_jobs, missing_jobs) =
            self.installed.remove_all().map_err(|source| KernelError::Remove { route: self.route(plan, 0), source })?;
        Ok((self.counters(), Ended { removed_jobs, missing_jobs, ..Ended::default() }))
    }

    /// Follows the counters and says of every job whether it is there.
    fn refresh(&mut self) -> Result<Vec<bool>, CangwError> {
        let now = self.installed.list(|position, counters| self.followed[position].growth(counters))?;
        self.follow(&now);
        Ok(now.iter().map(Option::is_some).collect())
    }

    /// Follows the counters of the jobs that are there.
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

/// Removes what dead candors left, for a gateway that has nothing in the kernel itself: those jobs may be for routes that
/// it runs in user space. Left alone where this user may not, or where there is no can-gw any more.
pub(crate) fn remove_leftovers(run_dir: &mut RunDir, notify: &mut dyn FnMut(Notice)) -> Result<(), KernelError> {
    if run_dir.dead().is_empty() {
        return Ok(());
    }
    let mut client = Client::open().map_err(KernelError::Netlink)?;
    let present = match cangw::dump(&mut client) {
        Ok(present) => present,
        // A module takes its jobs along.
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
