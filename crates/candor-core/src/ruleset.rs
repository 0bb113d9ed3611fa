//! Compiled jobs for the user-space engines.
//!
//! [`RuleSet::compile`] does all work that depends on the jobs only. A frame then costs one lookup for all filters for
//! a single identifier, one per mask that filters share, and a copy only if a job modifies the frame. Routing a frame
//! allocates no memory and cannot fail.
//!
//! ```text
//!  bus, format ─▶ Lists ─ error │ all │ masked: Groups by mask, merged in order │ inverted: runs │ exact: table, hash
//!                   └─ numbers of jobs ─▶ Action ─▶ to, Patterns (payload), Judges (checks), Change (each kept once) ─▶ visit
//! ```
//!
//! `docs/speed.md` lists the cost in instructions.

mod actions;
mod change;
mod exact;
mod groups;
mod inverted;
mod judges;
mod lists;
mod masked;
mod meter;
mod nearest;
mod patterns;
mod pool;

use alloc::boxed::Box;

use crate::frame::{CAN_MAX_DLEN, CAN_MTU, CANFD_FDF, CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat, RawId};
use crate::job::{BusIndex, Incoming, Job, RealtimeNs};
use actions::Actions;
use lists::Lists;

/// Receives the results of jobs for a frame. `job` is the index of the job in the compiled slice.
pub trait Visit {
    /// When the kernel received the frame.
    fn at(&self) -> RealtimeNs {
        RealtimeNs::UNKNOWN
    }

    /// The job sends the received frame: these bytes.
    fn pass(&mut self, job: usize, to: BusIndex, bytes: &[u8]);

    /// The job sends these bytes, which it changed.
    fn send(&mut self, job: usize, to: BusIndex, bytes: &[u8]);

    /// The job deletes the frame, because its length became invalid or a check refused it.
    fn delete(&mut self, job: usize);
}

/// Result of a job for a frame, for [`FromBus::outcomes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routed<'a> {
    /// The job sends this frame to this bus.
    Send {
        /// The bus on which the job sends.
        to: BusIndex,
        /// Sent frame: the received frame itself if the job changes nothing.
        frame: &'a Frame,
    },
    /// The job deletes the frame, because its length became invalid or a check refused it.
    Delete,
}

/// The compiled jobs of a gateway.
///
/// ```
/// use candor_core::filter::Filter;
/// use candor_core::frame::FrameFormat;
/// use candor_core::job::{BusIndex, Job};
/// use candor_core::ruleset::{Routed, RuleSet};
///
/// let filter = Filter::parse("123").unwrap();
/// let jobs = [Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, filter)];
/// let rules = RuleSet::compile(&jobs, 2);
/// let mut sent = Vec::new();
/// rules.from_bus(BusIndex(0)).outcomes(&"123#11".parse().unwrap(), |job, routed| {
///     if let Routed::Send { to, .. } = routed {
///         sent.push((job, to));
///     }
/// });
/// assert_eq!(sent, [(0, BusIndex(1))]);
/// ```
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// Indexed by source bus.
    buses: Box<[BusRules]>,
    /// Empty rules, for buses outside the table.
    nothing: BusRules,
    /// Indexed by job.
    actions: Actions,
}

/// The compiled jobs from one bus.
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
    /// Compiles the jobs of a gateway with this number of buses. Jobs of one receive list keep their order.
    ///
    /// # Panics
    /// With 2^32 or more jobs.
    #[must_use]
    pub fn compile(jobs: &[Job], buses: usize) -> Self {
        let lists = |from: usize, format: FrameFormat| {
            // Frames are not sent back to their source bus, so such a job never matches.
            let fires = |job: &&Job| job.from != job.to || job.incoming == Incoming::Allowed;
            let numbered = (0..)
                .zip(jobs)
                .filter(|(_, job)| job.from.0 == from && job.format == format && !job.is_xl && fires(job));
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
    /// Runs all matching jobs in the order of delivery, and reports their results.
    ///
    /// `bytes` is a `struct can_frame` or `struct canfd_frame`, depending on its size. Other sizes (CAN XL) and frames
    /// that no job accepts (wrong format, invalid length) have no results, as can-gw does not count them. Only
    /// identifier, length and flags of an unmodified frame are read.
    ///
    /// Always inlined: the compiler then merges the visitor's code for unmodified frames with the lookup, which saves a
    /// third of the instructions of both.
    #[inline(always)]
    pub fn route(&self, bytes: &[u8], visitor: &mut impl Visit) {
        // Arrays, so the visitor is compiled for a constant size.
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

    /// As [`route`](Self::route), with a frame and a closure, but slower.
    pub fn outcomes(&self, frame: &Frame, visit: impl FnMut(usize, Routed<'_>)) {
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        self.route(&bytes[..len], &mut Visitor { frame, visit });
    }

    #[inline(always)]
    fn run<const LEN: usize>(&self, lists: &Lists, bytes: &[u8; LEN], visitor: &mut impl Visit) {
        // One load: combining bytes would cost seven instructions.
        let Some(id) = bytes.first_chunk() else { return };
        let id = RawId(u32::from_ne_bytes(*id));
        let Some(jobs) = lists.matches(id, &mut ()) else {
            return lists.for_each_match(id, &mut (), &mut |job| self.actions.run(job, bytes, visitor));
        };
        for job in jobs {
            self.actions.run(*job, bytes, visitor);
        }
    }

    /// Some drivers do not set FDF in received FD frames, but the kernel sets it in all sent ones.
    #[inline(never)]
    fn run_unmarked(&self, bytes: &[u8; CANFD_MTU], visitor: &mut impl Visit) {
        let mut marked = *bytes;
        marked[5] |= CANFD_FDF;
        let [a, b, c, d, ..] = marked;
        let mut visitor = Marked(visitor);
        let run = &mut |job| self.actions.run(job, &marked, &mut visitor);
        self.bus.fd.for_each_match(RawId(u32::from_ne_bytes([a, b, c, d])), &mut (), run);
    }
}

/// Passes results to a closure.
struct Visitor<'a, F> {
    frame: &'a Frame,
    visit: F,
}

impl<F: FnMut(usize, Routed<'_>)> Visit for Visitor<'_, F> {
    fn pass(&mut self, job: usize, to: BusIndex, _bytes: &[u8]) {
        (self.visit)(job, Routed::Send { to, frame: self.frame });
    }

    fn send(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        if let Ok(frame) = &Frame::from_kernel(bytes) {
            (self.visit)(job, Routed::Send { to, frame });
        }
    }

    fn delete(&mut self, job: usize) {
        (self.visit)(job, Routed::Delete);
    }
}

/// Sends a marked frame in place of the received one.
struct Marked<'a, V>(&'a mut V);

impl<V: Visit> Visit for Marked<'_, V> {
    fn at(&self) -> RealtimeNs {
        self.0.at()
    }

    fn pass(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        self.0.send(job, to, bytes);
    }

    fn send(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        self.0.send(job, to, bytes);
    }

    fn delete(&mut self, job: usize) {
        self.0.delete(job);
    }
}

#[cfg(test)]
mod tests;
