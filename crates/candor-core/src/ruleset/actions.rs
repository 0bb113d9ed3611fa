//! Actions of the jobs, by position.

use alloc::boxed::Box;

use super::Visit;
use super::change::{ChangePool, Changes};
use super::patterns::{Choice, PatternPool, Patterns};
use super::pool::number;
use crate::frame::CANFD_MTU;
use crate::job::{BusIndex, Job};

/// Actions of all jobs. Equal changes and payloads are stored once.
#[derive(Clone, Debug)]
pub(super) struct Actions {
    jobs: Box<[Action]>,
    patterns: Patterns,
    changes: Changes,
}

#[derive(Clone, Copy, Debug)]
struct Action {
    to: u32,
    /// [`UNCHANGED`] if the frame is not modified.
    change: u32,
    payload: Choice,
    /// Set if the job neither matches payloads nor modifies frames.
    only_passes: bool,
}

const UNCHANGED: u32 = u32::MAX;

impl Actions {
    pub(super) fn of(jobs: &[Job]) -> Self {
        let (mut patterns, mut changes) = (PatternPool::default(), ChangePool::default());
        let action = |job: &Job| {
            let change = changes.change_of(job).unwrap_or(UNCHANGED);
            let payload = patterns.choice_of(&job.payload);
            let only_passes = change == UNCHANGED && payload.is_any();
            Action { to: number(job.to.0), change, payload, only_passes }
        };
        let jobs = jobs.iter().map(action).collect();
        Self { jobs, patterns: patterns.finish(), changes: changes.finish() }
    }

    /// Runs a job whose filter matches, and reports the result if its payload matches too.
    #[inline(always)]
    pub(super) fn run(&self, job: u32, bytes: &[u8], visitor: &mut impl Visit) {
        let position = job as usize;
        let Some(action) = self.jobs.get(position) else { return };
        if !action.only_passes {
            return self.look_and_change(action, (position, bytes), visitor);
        }
        visitor.pass(position, BusIndex(action.to as usize), bytes);
    }

    /// Not inlined, so jobs that only forward frames do not reserve its stack space.
    #[inline(never)]
    fn look_and_change(&self, action: &Action, (job, bytes): (usize, &[u8]), visitor: &mut impl Visit) {
        if !action.payload.is_any() && !self.patterns.take(action.payload, bytes) {
            return;
        }
        let to = BusIndex(action.to as usize);
        let Some(change) = self.changes.numbered(action.change) else { return visitor.pass(job, to, bytes) };
        let mut changed = [0; CANFD_MTU];
        match self.changes.apply(change, (bytes, visitor.at()), &mut changed) {
            Some(changed) => visitor.send(job, to, changed),
            None => visitor.delete(job),
        }
    }
}
