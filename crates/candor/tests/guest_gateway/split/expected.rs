//! What must arrive, and what must be counted.

use candor_config::placement::{Placement, Side};
use candor_config::plan::{BusIndex, Echo, RouteIndex};
use candor_core::frame::{CAN_EFF_MASK, Frame};
use candor_core::job::Job;
use candor_core::oracle;

use super::case::Case;

/// What a burst makes arrive at one bus: what each side sends, in the order in which it does so.
pub(super) struct Expected {
    pub(super) kernel: Vec<Frame>,
    pub(super) user: Vec<Frame>,
}

impl Expected {
    pub(super) fn of(case: &Case, placement: &Placement, from: usize, to: usize, frames: &[Frame]) -> Self {
        let mut expected = Self { kernel: Vec::new(), user: Vec::new() };
        for frame in frames {
            for delivery in oracle::deliver(&case.jobs, BusIndex(from), frame) {
                if delivery.to != BusIndex(to) || !can_be_heard(&delivery.frame) {
                    continue;
                }
                match placement.side(RouteIndex(delivery.job)) {
                    Side::Kernel => expected.kernel.push(delivery.frame),
                    Side::User => expected.user.push(delivery.frame),
                }
            }
        }
        expected
    }

    /// Whether the heard frames are these, each once, with those of either side in their order.
    pub(super) fn explains(&self, heard: &[Frame]) -> bool {
        let (kernel, user) = (&self.kernel, &self.user);
        if heard.len() != kernel.len() + user.len() {
            return false;
        }
        // After so many heard frames: can the first `k` of the kernel's have been among them?
        let mut possible = vec![false; kernel.len() + 1];
        possible[0] = true;
        for (at, frame) in heard.iter().enumerate() {
            let mut next = vec![false; kernel.len() + 1];
            for k in (0..=kernel.len().min(at)).filter(|&k| possible[k]) {
                if kernel.get(k) == Some(frame) {
                    next[k + 1] = true;
                }
                if user.get(at - k) == Some(frame) {
                    next[k] = true;
                }
            }
            possible = next;
        }
        possible[kernel.len()]
    }
}

/// An error frame without a class passes no filter.
fn can_be_heard(frame: &Frame) -> bool {
    !frame.id.is_err() || frame.id.0 & CAN_EFF_MASK != 0
}

/// What jobs in the kernel send with echo is offered to the jobs from that bus, too, and deleted there: it has made the
/// one hop that the module allows. User space does not even hear it.
pub(super) fn deleted_echoes(jobs: &[Job], placement: &Placement, frames: &[(BusIndex, Frame)]) -> Vec<u64> {
    let mut echoes = vec![0; jobs.len()];
    let in_kernel = |at: usize| placement.side(RouteIndex(at)) == Side::Kernel;
    for (from, frame) in frames {
        for sent in oracle::deliver(jobs, *from, frame) {
            if !in_kernel(sent.job) || jobs[sent.job].echo == Echo::Off {
                continue;
            }
            for (at, job) in jobs.iter().enumerate().filter(|(at, job)| in_kernel(*at) && job.from == sent.to) {
                if job.filter.normalise().matches(sent.frame.id) && job.takes(&sent.frame) {
                    echoes[at] += 1;
                }
            }
        }
    }
    echoes
}
