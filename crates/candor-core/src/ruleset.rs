//! The compiled form of the jobs: what user-space engines run.
//!
//! Everything that can be known from the jobs is decided once, in [`RuleSet::compile`]. A frame then costs a look into
//! the lists of its bus and format, one look-up for all filters with a single identifier, one for all filters that
//! share a mask, and a copy only where a job changes the frame. Nothing is allocated for a frame, and nothing can fail.
//!
//! ```text
//!  bus, format ─▶ Lists ─ error │ all │ masked: Groups by mask, merged in order │ inverted: runs │ exact: table, hash
//!                   └─ numbers of jobs ─▶ Action ─▶ to, Patterns (payload), Change (each kept once) ─▶ visit
//! ```
//!
//! `docs/speed.md` says what that costs in instructions.

mod actions;
mod change;
mod exact;
mod groups;
mod inverted;
mod lists;
mod masked;
mod meter;
mod nearest;
mod patterns;
mod pool;

use crate::frame::{CANFD_FDF, Frame, FrameFormat};
use crate::job::Job;
use crate::plan::{BusIndex, Incoming};
use actions::Actions;
use lists::Lists;

/// What a job did with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routed<'a> {
    /// It sends this frame to this bus.
    Send {
        /// Where to.
        to: BusIndex,
        /// What; the received frame itself if the job changes nothing.
        frame: &'a Frame,
    },
    /// It deletes the frame: its length became impossible.
    Delete,
}

/// All jobs of a gateway, ready to run.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// By source bus.
    buses: Box<[BusRules]>,
    /// By job.
    actions: Actions,
}

#[derive(Clone, Debug)]
struct BusRules {
    classic: Lists,
    fd: Lists,
}

impl RuleSet {
    /// Compiles the jobs of a gateway with this many buses. Jobs of one receive list keep their order.
    ///
    /// # Panics
    /// If there are 2^32 jobs.
    #[must_use]
    pub fn compile(jobs: &[Job], buses: usize) -> Self {
        let lists = |from: usize, format: FrameFormat| {
            // Frames do not go back to where they came from, so such a job never fires.
            let fires = |job: &&Job| job.from != job.to || job.incoming == Incoming::Allowed;
            let numbered = (0..).zip(jobs).filter(|(_, job)| job.from.0 == from && job.format == format && fires(job));
            Lists::build(numbered.map(|(number, job)| (job.filter.normalise(), number)))
        };
        let of_bus = |from| BusRules { classic: lists(from, FrameFormat::Classic), fd: lists(from, FrameFormat::Fd) };
        Self { buses: (0..buses).map(of_bus).collect(), actions: Actions::of(jobs) }
    }

    /// Runs every job that is for this frame, in the order of delivery, and tells what each did with it.
    ///
    /// The first argument of `visit` is the position of the job in the slice that was compiled. Frames that no job takes
    /// (wrong format, impossible length, unknown bus) are not told of, as can-gw counts them nowhere.
    ///
    /// Always inlined: what the caller does with a frame that only passes is then compiled into one piece with the look-up,
    /// which saves a third of both.
    #[inline(always)]
    pub fn route(&self, from: BusIndex, frame: &Frame, mut visit: impl FnMut(usize, Routed<'_>)) {
        let Some(bus) = self.buses.get(from.0) else { return };
        if usize::from(frame.len) > frame.format.max_len() {
            return;
        }
        let marked;
        let (lists, frame) = match frame.format {
            FrameFormat::Classic => (&bus.classic, frame),
            FrameFormat::Fd if frame.flags & CANFD_FDF != 0 => (&bus.fd, frame),
            FrameFormat::Fd => {
                // Not every driver marks the FD frames that it delivers, but the kernel marks all that are sent.
                marked = Frame { flags: frame.flags | CANFD_FDF, ..*frame };
                (&bus.fd, &marked)
            }
        };
        let Some(jobs) = lists.matches(frame.id, &mut ()) else {
            return lists.for_each_match(frame.id, &mut (), &mut |job| self.actions.run(job, frame, &mut visit));
        };
        for job in jobs {
            self.actions.run(*job, frame, &mut visit);
        }
    }
}

#[cfg(test)]
mod tests;
