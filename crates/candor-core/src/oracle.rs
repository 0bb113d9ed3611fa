//! A slow and simple model of can-gw. Tests compare faster implementations with it.
//!
//! It follows `docs/can-gw.md`: for each receive list in the kernel's order, every job whose filter matches processes
//! the frame, in the given order. The kernel inserts a new job at the head of its list; candor installs jobs last to
//! first, so the order of the file is the order of delivery.
//!
//! ```text
//!  deliver, count   jobs of one gateway and a frame, without a machine: expected results of RuleSet
//!  World            interfaces, jobs and frames of a whole machine: expected results of the kernel
//!  vectors          observations on real kernels, as scripts that run on any gateway
//! ```
//!
//! The oracle shares no code with [`Filter::normalise`](crate::filter::Filter::normalise), [`rule`](crate::rule) and
//! [`RuleSet`](crate::ruleset::RuleSet), so an error in one of them shows as a difference.
//!
//! Only the [`World`] simulates what a gateway process cannot know: hops through other gateways, the state of the
//! outgoing interface, and a full queue.
//!
//! ```
//! use candor_core::filter::Filter;
//! use candor_core::frame::FrameFormat;
//! use candor_core::job::{BusIndex, Job};
//! use candor_core::oracle;
//!
//! let job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::parse("123:7FF").unwrap());
//! let sent = oracle::deliver(&[job], BusIndex(0), &"123#1122".parse().unwrap());
//! assert_eq!(sent[0].to, BusIndex(1));
//! ```

mod change;
mod control;
mod outcome;
mod receive;
#[cfg(any(test, feature = "arbitrary"))]
pub mod vectors;
mod world;

pub use control::{Added, Listed};
pub use outcome::{Deleted, Did, Dropped, End, Errno, JobId, Outcome, Seen, Sent, Visit};
pub use world::{EchoBy, Interface, Kernel, Loopback, SameInterface, State, World};

use crate::frame::Frame;
use crate::job::{BusIndex, Incoming, Job};
use crate::rule::Verdict;
use receive::receivers;

/// A frame that leaves on a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Position of the job in the slice of jobs.
    pub job: usize,
    /// The bus on which it is sent.
    pub to: BusIndex,
    /// The frame after modifications and checksums.
    pub frame: Frame,
}

/// Counters of one job, with the kernel's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounters {
    /// Frames that were sent.
    pub handled: u64,
    /// Frames with an invalid length after modification.
    pub deleted: u64,
}

/// Returns the frames that the jobs send when this one is received, in order.
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

/// The jobs that process this frame, with the modified frame and the verdict.
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
