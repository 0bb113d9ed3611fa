//! The slow and obvious gateway that everything faster is compared with.
//!
//! It reads like `docs/can-gw.md`: take the receive lists in the kernel's order, in each list the jobs in the order in
//! which they are given, and let every job whose filter matches do its work. The kernel puts a new job at the head of
//! its list; candor installs jobs last to first, so that the order of the file is the order of delivery.
//!
//! What a gateway of one process cannot know is left out: the hops a frame has behind it in other gateways, whether the
//! outgoing interface is up, and whether its queue takes the frame.

use crate::filter::ReceiveList;
use crate::frame::Frame;
use crate::job::Job;
use crate::plan::BusIndex;
use crate::rule::Verdict;

/// A frame that leaves on a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Position of the job in the slice of jobs.
    pub job: usize,
    /// Where the frame goes.
    pub to: BusIndex,
    /// What is sent.
    pub frame: Frame,
}

/// What one job counted, under the kernel's names.
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
    let sent = visits(jobs, from, frame).into_iter().filter(|visit| visit.verdict == Verdict::Send);
    sent.map(|visit| Delivery { job: visit.job, to: jobs[visit.job].to, frame: visit.frame }).collect()
}

/// What every job has counted after these frames have come in, each on its bus.
#[must_use]
pub fn count(jobs: &[Job], frames: &[(BusIndex, Frame)]) -> Vec<JobCounters> {
    let mut counters = vec![JobCounters::default(); jobs.len()];
    for (from, frame) in frames {
        for visit in visits(jobs, *from, frame) {
            match visit.verdict {
                Verdict::Send => counters[visit.job].handled += 1,
                Verdict::Delete => counters[visit.job].deleted += 1,
            }
        }
    }
    counters
}

/// The lists that a frame is offered to, in this order. An error frame is offered to the first only, all other frames
/// to all but the first; the filters see to that.
const LISTS: [ReceiveList; 5] =
    [ReceiveList::Error, ReceiveList::All, ReceiveList::Masked, ReceiveList::Inverted, ReceiveList::Exact];

struct Visit {
    job: usize,
    frame: Frame,
    verdict: Verdict,
}

fn visits(jobs: &[Job], from: BusIndex, frame: &Frame) -> Vec<Visit> {
    let mut visits = Vec::new();
    for list in LISTS {
        for (index, job) in jobs.iter().enumerate() {
            let filter = job.filter.normalise();
            if filter.list == list && job.from == from && filter.matches(frame.id) && job.takes(frame) {
                let (frame, verdict) = job.apply(frame);
                visits.push(Visit { job: index, frame, verdict });
            }
        }
    }
    visits
}

#[cfg(test)]
mod tests;
