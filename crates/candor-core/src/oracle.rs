//! The slow and obvious gateway that everything faster is compared with.
//!
//! It reads like `docs/can-gw.md`: take the receive lists in the kernel's order, in each list the jobs in the order in
//! which they are given, and let every job whose filter matches do its work. The kernel puts a new job at the head of
//! its list; candor installs jobs last to first, so that the order of the file is the order of delivery.
//!
//! ```text
//!  deliver, count   jobs of one gateway, one frame, no surroundings: what RuleSet must do
//!  World            interfaces, jobs and frames of a whole machine: what the kernel must do
//!  vectors          what was seen on a real kernel, as scripts that run on any gateway
//! ```
//!
//! What gateways run is written here a second time, in other words, so that a mistake shows as a difference: nothing of
//! [`Filter::normalise`](crate::filter::Filter::normalise), [`rule`](crate::rule) or [`RuleSet`](crate::ruleset::RuleSet)
//! is used.
//!
//! What a gateway of one process cannot know is in the [`World`] only: the hops that a frame has behind it in other
//! gateways, whether the outgoing interface is up, and whether its queue takes the frame.

mod change;
mod control;
mod outcome;
mod receive;
#[cfg(any(test, feature = "arbitrary"))]
pub mod vectors;
mod world;

pub use control::{Added, Errno, Listed};
pub use outcome::{Deleted, Did, Dropped, End, Outcome, Seen, Sent, Visit};
pub use world::{EchoBy, Interface, JobId, Kernel, Loopback, SameInterface, State, World};

use crate::frame::Frame;
use crate::job::Job;
use crate::job::{BusIndex, Incoming};
use crate::rule::Verdict;
use receive::receivers;

/// A frame that leaves on a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Position of the job in the slice of jobs.
    pub job: usize,
    /// Where the frame goes.
    pub to: BusIndex,
    /// Sent frame.
    pub frame: Frame,
}

/// Counters of one job, with the kernel's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounters {
    /// Frames that were sent.
    pub handled: u64,
    /// Frames whose length became impossible.
    pub deleted: u64,
}

/// The frames that leave when this one has come in on a bus, in the order in which they leave.
#[must_use]
pub fn deliver(jobs: &[Job], from: BusIndex, frame: &Frame) -> Vec<Delivery> {
    let sent = work(jobs, from, frame).into_iter().filter(|(_, _, verdict)| *verdict == Verdict::Send);
    sent.map(|(job, frame, _)| Delivery { job, to: jobs[job].to, frame }).collect()
}

/// Returns the counters of every job after these frames were received, each on its bus.
#[must_use]
pub fn count(jobs: &[Job], frames: &[(BusIndex, Frame)]) -> Vec<JobCounters> {
    let mut counters = vec![JobCounters::default(); jobs.len()];
    for (from, frame) in frames {
        for (job, _, verdict) in work(jobs, *from, frame) {
            match verdict {
                Verdict::Send => counters[job].handled += 1,
                Verdict::Delete => counters[job].deleted += 1,
            }
        }
    }
    counters
}

/// Every job that does something with this frame, what it makes of it, and what becomes of that.
fn work(jobs: &[Job], from: BusIndex, frame: &Frame) -> Vec<(usize, Frame, Verdict)> {
    let mut work = Vec::new();
    for index in receivers(jobs.iter(), from, frame) {
        let job = &jobs[index];
        let goes_back = job.to == from && job.incoming == Incoming::Skipped;
        if job.takes(frame) && !goes_back {
            let (frame, verdict) = change::apply(job, frame);
            work.push((index, frame, verdict));
        }
    }
    work
}

#[cfg(test)]
mod tests;
