//! Actions of the jobs, by position.

use alloc::boxed::Box;

use super::Visit;
use super::change::{Change, ChangePool, Changes};
use super::judges::{JudgePool, verdict};
use super::patterns::{Choice, PatternPool, Patterns};
use super::pool::number;
use crate::frame::CANFD_MTU;
use crate::job::{BusIndex, Computed, Job};
use crate::rule::Verdict;

/// Actions of all jobs. Equal changes and payloads are stored once.
#[derive(Clone, Debug)]
pub(super) struct Actions {
    jobs: Box<[Action]>,
    patterns: Patterns,
    changes: Changes,
}

#[derive(Clone, Debug)]
struct Action {
    to: u32,
    /// [`UNCHANGED`] if the frame is not modified.
    change: u32,
    payload: Choice,
    /// `None`: the job neither matches payloads nor checks or modifies frames.
    way: Option<Way>,
}

/// What a frame meets on its way through a job.
#[derive(Clone, Debug)]
enum Way {
    /// Only checks.
    Judges(Computed),
    /// Only a modification.
    Changes,
    /// More than one of these, or payloads.
    Looks(Option<Computed>),
}

const UNCHANGED: u32 = u32::MAX;

impl Actions {
    pub(super) fn of(jobs: &[Job]) -> Self {
        let (mut patterns, mut changes) = (PatternPool::default(), ChangePool::default());
        let mut judges = JudgePool::default();
        let action = |job: &Job| {
            let change = changes.change_of(job).unwrap_or(UNCHANGED);
            let payload = patterns.choice_of(&job.payload);
            let way = match (payload.is_any(), judges.judge_of(job), change) {
                (true, None, UNCHANGED) => None,
                (true, Some(judge), UNCHANGED) => Some(Way::Judges(judge)),
                (true, None, _) => Some(Way::Changes),
                (_, judge, _) => Some(Way::Looks(judge)),
            };
            Action { to: number(job.to.0), change, payload, way }
        };
        let jobs = jobs.iter().map(action).collect();
        Self { jobs, patterns: patterns.finish(), changes: changes.finish() }
    }

    /// Runs a job whose filter matches, and reports the result if its payload matches too. `LEN` is the size of the kernel's
    /// struct, so that copies of it need no call.
    #[inline(always)]
    pub(super) fn run<const LEN: usize>(&self, job: u32, bytes: &[u8; LEN], visitor: &mut impl Visit) {
        let position = job as usize;
        let Some(action) = self.jobs.get(position) else { return };
        match &action.way {
            None => {}
            Some(Way::Judges(judge)) if verdict(judge, visitor.at(), bytes) == Verdict::Delete => {
                return visitor.delete(position);
            }
            Some(Way::Judges(_)) => {}
            Some(Way::Changes) => return self.change(action, (position, bytes), visitor),
            Some(Way::Looks(judge)) => return self.look((action, judge.as_ref()), (position, bytes), visitor),
        }
        visitor.pass(position, BusIndex(action.to as usize), bytes);
    }

    #[inline(never)]
    fn look<const LEN: usize>(
        &self,
        (action, judge): (&Action, Option<&Computed>),
        (job, bytes): (usize, &[u8; LEN]),
        visitor: &mut impl Visit,
    ) {
        if !action.payload.is_any() && !self.patterns.take(action.payload, bytes) {
            return;
        }
        if judge.is_some_and(|judge| verdict(judge, visitor.at(), bytes) == Verdict::Delete) {
            return visitor.delete(job);
        }
        self.change(action, (job, bytes), visitor);
    }

    /// Not inlined, so jobs that only forward frames do not reserve its stack space.
    #[inline(never)]
    fn change<const LEN: usize>(&self, action: &Action, (job, bytes): (usize, &[u8; LEN]), visitor: &mut impl Visit) {
        let to = BusIndex(action.to as usize);
        let Some(change) = self.changes.numbered(action.change) else { return visitor.pass(job, to, bytes) };
        if !change.is_in_place() {
            return self.change_layout(change, (job, to, bytes), visitor);
        }
        let mut changed = *bytes;
        match self.changes.change_in_place((change, visitor.at()), &mut changed) {
            Verdict::Send => visitor.send(job, to, &changed),
            Verdict::Delete => visitor.delete(job),
        }
    }

    /// Not inlined, so jobs that keep the layout do not reserve its stack space.
    #[inline(never)]
    fn change_layout(&self, change: &Change, (job, to, bytes): (usize, BusIndex, &[u8]), visitor: &mut impl Visit) {
        let mut changed = [0; CANFD_MTU];
        match self.changes.change((change, visitor.at()), bytes, &mut changed) {
            Some(changed) => visitor.send(job, to, changed),
            None => visitor.delete(job),
        }
    }
}
