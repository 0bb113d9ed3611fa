//! What each job does, by its number.

use super::Routed;
use super::change::{ChangePool, Changes};
use super::patterns::{Choice, PatternPool, Patterns};
use super::pool::number;
use crate::frame::Frame;
use crate::job::Job;
use crate::plan::BusIndex;
use crate::rule::Verdict;

/// What all jobs do. Equal changes and payloads are kept once.
#[derive(Clone, Debug)]
pub(super) struct Actions {
    jobs: Box<[Action]>,
    patterns: Patterns,
    changes: Changes,
}

#[derive(Clone, Copy, Debug)]
struct Action {
    to: u32,
    /// [`UNCHANGED`]: the frame passes as it is.
    change: u32,
    payload: Choice,
}

const UNCHANGED: u32 = u32::MAX;

impl Actions {
    pub(super) fn of(jobs: &[Job]) -> Self {
        let (mut patterns, mut changes) = (PatternPool::default(), ChangePool::default());
        let action = |job: &Job| Action {
            to: number(job.to.0),
            change: changes.change_of(job).unwrap_or(UNCHANGED),
            payload: patterns.choice_of(&job.payload),
        };
        let jobs = jobs.iter().map(action).collect();
        Self { jobs, patterns: patterns.finish(), changes: changes.finish() }
    }

    /// Lets a job whose filter matches do its work, and tells of it if its payload matches too.
    #[inline(always)]
    pub(super) fn run(&self, job: u32, frame: &Frame, visit: &mut impl FnMut(usize, Routed<'_>)) {
        let position = job as usize;
        let Some(action) = self.jobs.get(position) else { return };
        if action.change != UNCHANGED || !action.payload.is_any() {
            return self.look_and_change(action, (position, frame), visit);
        }
        visit(position, Routed::Send { to: BusIndex(action.to as usize), frame });
    }

    /// Apart, so that a job that only passes frames on does not pay for the room that this needs.
    #[inline(never)]
    fn look_and_change(
        &self,
        action: &Action,
        (job, frame): (usize, &Frame),
        visit: &mut impl FnMut(usize, Routed<'_>),
    ) {
        if !action.payload.is_any() && !self.patterns.take(action.payload, frame) {
            return;
        }
        let to = BusIndex(action.to as usize);
        if action.change == UNCHANGED {
            return visit(job, Routed::Send { to, frame });
        }
        let mut changed = *frame;
        match self.changes.apply(action.change, &mut changed) {
            Verdict::Send => visit(job, Routed::Send { to, frame: &changed }),
            Verdict::Delete => visit(job, Routed::Delete),
        }
    }
}
