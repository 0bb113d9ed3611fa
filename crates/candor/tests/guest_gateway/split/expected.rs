//! The frames and counters that the oracle predicts.

use candor_config::placement::{Placement, Side};
use candor_config::plan::{BusIndex, Echo, RouteIndex};
use candor_core::frame::Frame;
use candor_core::job::Job;
use candor_core::oracle;

use super::case::Case;
use crate::differential::expected::can_be_seen;

/// The frames that each side sends to a bus because of a burst, in order.
pub(super) struct Expected {
    pub(super) kernel: Vec<Frame>,
    pub(super) user: Vec<Frame>,
}

impl Expected {
    pub(super) fn of(case: &Case, placement: &Placement, from: usize, to: usize, frames: &[Frame]) -> Self {
        let mut expected = Self { kernel: Vec::new(), user: Vec::new() };
        for frame in frames {
            for delivery in oracle::deliver(&case.jobs, BusIndex(from), frame) {
                if delivery.to != BusIndex(to) || !can_be_seen(&delivery.frame) {
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

    /// Each frame arrived once, and those of each side in order.
    pub(super) fn explains(&self, heard: &[Frame]) -> bool {
        let (kernel, user) = (&self.kernel, &self.user);
        if heard.len() != kernel.len() + user.len() {
            return false;
        }
        // For the frames so far: can the first `k` of the kernel be among them?
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

/// Frames that jobs in the kernel send with echo also reach the jobs from that bus, and are deleted there, after the one hop
/// that the module allows. User space does not receive them.
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
