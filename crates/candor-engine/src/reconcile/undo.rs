//! Reverting a change halfway.

use candor_netlink::cangw::ExactJob;

use super::{Foreign, Reconciliation, Situation, Standing, Step, reconcile};
use candor_userspace::job_identity::{Counts, Identity};

/// The state before a change.
///
/// Reverting restores jobs and order. It does not restore the counters of deleted jobs, nor the position of ours
/// relative to untouched foreign jobs.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// Jobs that the change does not touch.
    before: Vec<ExactJob>,
    /// Jobs that it does not touch.
    strangers: Vec<ExactJob>,
    /// All jobs that can be ours during the change; jobs of both states once.
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

    /// The installed jobs that are ours at any point of the change. Jobs that others have added since are not.
    pub(super) fn ours(&self, present: &[ExactJob]) -> Vec<ExactJob> {
        let mut free = Counts::of_jobs(present).without(&Counts::of_jobs(&self.strangers));
        let mut known = Counts::of_jobs(&self.known);
        let mut is_ours = |job: &&ExactJob| {
            let identity = Identity::of(job);
            known.take(&identity) && free.take(&identity)
        };
        present.iter().filter(|job| is_ours(job)).cloned().collect()
    }

    /// Excludes a job that cannot be restored.
    pub(super) fn give_up(&mut self, job: &ExactJob) {
        if let Some(at) = self.before.iter().position(|other| other.is_same_job(job)) {
            self.before.remove(at);
        }
    }

    /// The requests that revert the change from the current state.
    pub(super) fn steps(&self, present: &[ExactJob]) -> Vec<Step> {
        let owned = self.ours(present);
        let (others, foreign) = (&[], Foreign::default());
        reconcile(&Situation { wanted: &self.before, present, owned: &owned, others, foreign }).steps
    }
}
