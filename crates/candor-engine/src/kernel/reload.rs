//! Changing the jobs of a running gateway: common jobs stay, the others are replaced.
//!
//! can-gw cannot exchange several jobs atomically. A changed job is deleted and then added, so that a frame between the
//! two requests is not forwarded, and none is forwarded twice. A job with a uid stays, and the kernel replaces its
//! modifications between two frames.

use std::collections::BTreeSet;

use candor_core::job::Job;
use candor_netlink::cangw::{CangwJob, JobCounters};

use super::{JobRoute, KernelGateway};
use crate::kernel::KernelError;
use crate::reconcile::{self, Action, Mine};
use candor_userspace::counters::{Followed, RouteCounters};
use candor_userspace::notice::Notice;
use candor_userspace::preflight::Interfaces;
use candor_userspace::run_dir::{OwnedJob, RunDir};

impl KernelGateway {
    /// Changes the jobs to those of another plan, and returns the final counters of the old ones. After an error they
    /// are as before.
    ///
    /// `owned` are the jobs for the ownership record, in the same order.
    pub(crate) fn exchange(
        &mut self,
        jobs: &[&Job],
        owned: Vec<OwnedJob>,
        interfaces: &Interfaces,
        run_dir: &mut RunDir,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Vec<RouteCounters>, KernelError> {
        // Jobs of missing interfaces are added when those are back.
        let can_be = |job: &Job| interfaces.present(job.from).is_some() && interfaces.present(job.to).is_some();
        let possible: Vec<bool> = jobs.iter().map(|job| can_be(job)).collect();
        let wanted = interfaces.kernel_jobs(jobs);
        let owned = owned.into_iter().zip(&possible).filter(|(_, possible)| **possible).map(|(owned, _)| owned);
        let mine: Vec<_> = self.installed.jobs().map(|job| (*job).into()).collect();
        let mine = Mine { owned: mine, wanted: owned.collect() };

        let mut exchange = reconcile::Exchange::of(self.installed.client(), run_dir, mine)?;
        let present: Vec<CangwJob> = exchange.present().iter().map(|exact| *exact.job()).collect();
        let now = self.installed.find(&present, |position, counters| self.followed[position].growth(counters));
        self.follow(&now);
        let counted = self.counters();

        exchange.carry_out(self.installed.client())?;
        run_dir.forget_dead()?;
        let mut routes: Vec<_> = exchange.doubled().map(|owned| owned.route.clone()).collect();
        routes.dedup();
        routes.into_iter().for_each(|route| notify(Notice::ForeignDuplicate { route }));

        let mut actions = exchange.actions().iter();
        let follow = |possible: &bool| match possible.then(|| actions.next()).flatten() {
            Some(Action::Kept(at) | Action::Changed(at)) => Followed::since(present[*at].counters),
            Some(Action::Added | Action::Moved(_)) | None => Followed::since(JobCounters::default()),
        };
        self.followed = possible.iter().map(follow).collect();
        self.job_routes = jobs.iter().map(|job| JobRoute { route: job.route, from: job.from, to: job.to }).collect();
        self.installed.replace(wanted);
        self.owed = BTreeSet::new();
        Ok(counted)
    }
}
