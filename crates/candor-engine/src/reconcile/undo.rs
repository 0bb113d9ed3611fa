//! The way back from the middle of a change.

use candor_netlink::cangw::ExactJob;

use super::{Foreign, Reconciliation, Situation, Standing, Step, reconcile};
use crate::job_identity::{Counts, Identity};

/// What the kernel had before a change began.
///
/// The jobs and their order come back. What does not: the counters of jobs that had been deleted, and the place of ours
/// among the foreign jobs that were not touched.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// What the change may touch, newest first.
    before: Vec<ExactJob>,
    /// What it does not touch.
    strangers: Vec<ExactJob>,
    /// All that can be ours in the middle of it: a job of each side, once if both have it.
    known: Vec<ExactJob>,
}

impl Undo {
    pub(super) fn new(situation: &Situation<'_>, found: &Reconciliation) -> Self {
        let is_stranger = |standing: &Standing| matches!(standing, Standing::Foreign(_) | Standing::Other);
        let all = || situation.present.iter().zip(&found.standings);
        let side = |of_stranger: bool| {
            let of_side = all().filter(move |(_, standing)| is_stranger(standing) == of_stranger);
            of_side.map(|(job, _)| job.clone()).collect::<Vec<_>>()
        };
        let (before, strangers) = (side(false), side(true));
        let mut also_before = Counts::of_jobs(&before);
        let new = situation.wanted.iter().filter(|job| !also_before.take(&Identity::of(job)));
        let known = before.iter().chain(new).cloned().collect();
        Self { before, strangers, known }
    }

    /// Jobs that the change leaves alone.
    pub(super) fn strangers(&self) -> &[ExactJob] {
        &self.strangers
    }

    /// Which of the kernel's jobs are ours now, wherever the change has stopped. What others have added since is not.
    pub(super) fn ours(&self, present: &[ExactJob]) -> Vec<ExactJob> {
        let mut free = Counts::of_jobs(present).without(&Counts::of_jobs(&self.strangers));
        let mut known = Counts::of_jobs(&self.known);
        let mut is_ours = |job: &&ExactJob| {
            let identity = Identity::of(job);
            known.take(&identity) && free.take(&identity)
        };
        present.iter().filter(|job| is_ours(job)).cloned().collect()
    }

    /// Leaves out a job that cannot come back.
    pub(super) fn give_up(&mut self, job: &ExactJob) {
        if let Some(at) = self.before.iter().position(|other| other.is_same_job(job)) {
            self.before.remove(at);
        }
    }

    /// What leads back from what the kernel has now.
    pub(super) fn steps(&self, present: &[ExactJob]) -> Vec<Step> {
        let owned = self.ours(present);
        let (others, foreign) = (&[], Foreign::default());
        reconcile(&Situation { wanted: &self.before, present, owned: &owned, others, foreign }).steps
    }
}
