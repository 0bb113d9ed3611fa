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

use crate::frame::{CAN_MAX_DLEN, CAN_MTU, CANFD_FDF, CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat, RawId};
use crate::job::Job;
use crate::job::{BusIndex, Incoming};
use actions::Actions;
use lists::Lists;

/// Receives the results of jobs for a frame. `job` is the position of the job in the compiled slice.
pub trait Visit {
    /// It sends the frame as it came: these bytes.
    fn pass(&mut self, job: usize, to: BusIndex, bytes: &[u8]);

    /// It sends this frame instead.
    fn send(&mut self, job: usize, to: BusIndex, frame: &Frame);

    /// It deletes the frame: its length became impossible.
    fn delete(&mut self, job: usize);
}

/// Result of a job for a frame, for [`FromBus::outcomes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routed<'a> {
    /// It sends this frame to this bus.
    Send {
        /// Where to.
        to: BusIndex,
        /// Frame to send; the received frame itself if the job changes nothing.
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
    /// Of a bus that is none of those.
    nothing: BusRules,
    /// By job.
    actions: Actions,
}

/// All jobs from one bus, ready to run.
#[derive(Clone, Copy, Debug)]
pub struct FromBus<'a> {
    bus: &'a BusRules,
    actions: &'a Actions,
}

#[derive(Clone, Debug, Default)]
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
        Self { buses: (0..buses).map(of_bus).collect(), nothing: BusRules::default(), actions: Actions::of(jobs) }
    }

    /// Returns the rules for frames from this bus.
    #[must_use]
    pub fn from_bus(&self, from: BusIndex) -> FromBus<'_> {
        FromBus { bus: self.buses.get(from.0).unwrap_or(&self.nothing), actions: &self.actions }
    }
}

impl FromBus<'_> {
    /// Runs every job that is for this frame, in the order of delivery, and tells what each did with it.
    ///
    /// `bytes` are `struct can_frame` or `struct canfd_frame`; the size tells which. What is none of them (CAN XL), and frames
    /// that no job takes (wrong format, impossible length), are not told of, as can-gw counts them nowhere. Of a
    /// frame that only passes nothing is read but identifier, length and flags.
    ///
    /// Always inlined: what the visitor does with a frame that only passes is then compiled into one piece with the look-up,
    /// which saves a third of both.
    #[inline(always)]
    pub fn route(&self, bytes: &[u8], visitor: &mut impl Visit) {
        // Arrays, so that the visitor knows the size when it is compiled.
        if let Ok(classic) = <&[u8; CAN_MTU]>::try_from(bytes) {
            if usize::from(classic[4]) <= CAN_MAX_DLEN {
                self.run(&self.bus.classic, classic, visitor);
            }
        } else if let Ok(fd) = <&[u8; CANFD_MTU]>::try_from(bytes) {
            match usize::from(fd[4]) {
                0..=CANFD_MAX_DLEN if fd[5] & CANFD_FDF != 0 => self.run(&self.bus.fd, fd, visitor),
                0..=CANFD_MAX_DLEN => self.run_unmarked(fd, visitor),
                _ => {}
            }
        }
    }

    /// As [`route`](Self::route), for those who have a frame, want a closure and do not count instructions.
    pub fn outcomes(&self, frame: &Frame, tell: impl FnMut(usize, Routed<'_>)) {
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        self.route(&bytes[..len], &mut Teller { frame, tell });
    }

    #[inline(always)]
    fn run<const LEN: usize>(&self, lists: &Lists, bytes: &[u8; LEN], visitor: &mut impl Visit) {
        // In one piece: put together from bytes it would cost seven instructions.
        let Some(id) = bytes.first_chunk() else { return };
        let id = RawId(u32::from_ne_bytes(*id));
        let Some(jobs) = lists.matches(id, &mut ()) else {
            return lists.for_each_match(id, &mut (), &mut |job| self.actions.run(job, bytes, visitor));
        };
        for job in jobs {
            self.actions.run(*job, bytes, visitor);
        }
    }

    /// Not every driver marks the FD frames that it delivers, but the kernel marks all that are sent.
    #[inline(never)]
    fn run_unmarked(&self, bytes: &[u8; CANFD_MTU], visitor: &mut impl Visit) {
        let Ok(mut frame) = Frame::from_kernel(bytes) else { return };
        frame.flags |= CANFD_FDF;
        let mut marked = *bytes;
        marked[5] = frame.flags;
        let mut visitor = Marked { frame: &frame, visitor };
        let run = &mut |job| self.actions.run(job, &marked, &mut visitor);
        self.bus.fd.for_each_match(frame.id, &mut (), run);
    }
}

/// Tells a closure.
struct Teller<'a, F> {
    frame: &'a Frame,
    tell: F,
}

impl<F: FnMut(usize, Routed<'_>)> Visit for Teller<'_, F> {
    fn pass(&mut self, job: usize, to: BusIndex, _bytes: &[u8]) {
        (self.tell)(job, Routed::Send { to, frame: self.frame });
    }

    fn send(&mut self, job: usize, to: BusIndex, frame: &Frame) {
        (self.tell)(job, Routed::Send { to, frame });
    }

    fn delete(&mut self, job: usize) {
        (self.tell)(job, Routed::Delete);
    }
}

/// Where a frame that passes is not the one that came.
struct Marked<'a, V> {
    frame: &'a Frame,
    visitor: &'a mut V,
}

impl<V: Visit> Visit for Marked<'_, V> {
    fn pass(&mut self, job: usize, to: BusIndex, _bytes: &[u8]) {
        self.visitor.send(job, to, self.frame);
    }

    fn send(&mut self, job: usize, to: BusIndex, frame: &Frame) {
        self.visitor.send(job, to, frame);
    }

    fn delete(&mut self, job: usize) {
        self.visitor.delete(job);
    }
}

#[cfg(test)]
mod tests;
