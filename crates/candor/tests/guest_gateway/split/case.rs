//! A gateway and frames for it, and the frames and counters that the oracle predicts.

use std::fmt;

use candor_config::placement::{Placement, Side};
use candor_config::plan::{BusIndex, Echo, Engine, RouteIndex, SendAs};
use candor_config::text;
use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::frame::{Frame, FrameFormat};
use candor_core::job::Job;
use candor_core::oracle;
use candor_core::rule::Modifications;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{ANY_PAYLOAD, BUSES, GATEWAY};
use crate::differential::expected::can_be_seen;

const SHOWN: usize = 24;

#[derive(Clone)]
pub(super) struct Case {
    pub(super) jobs: Vec<Job>,
    pub(super) bursts: Vec<(usize, Vec<Frame>)>,
}

impl fmt::Debug for Case {
    /// As a gateway file and frames to try by hand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = candor_config::arbitrary::plan(&GATEWAY, &self.jobs, Engine::Auto);
        writeln!(f, "\n{}", text::write(&plan))?;
        for (from, frames) in &self.bursts {
            writeln!(f, "from {}: {}", GATEWAY[*from], listed(frames))?;
        }
        Ok(())
    }
}

pub(super) fn listed(frames: &[Frame]) -> String {
    let shown: Vec<_> = frames.iter().take(SHOWN).map(Frame::to_string).collect();
    let more = frames.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(" ") } else { format!("{} and {more} more", shown.join(" ")) }
}

/// Routes of any kind, some for user space only. All routes to a bus have the same echo, because user space has one socket
/// for each bus.
pub(super) fn case() -> impl Strategy<Value = Case> {
    let echo = vec(any::<bool>(), BUSES);
    let bursts = vec((0..BUSES, vec(arbitrary::wire_frame(), 1..24)), 1..6);
    (vec(route(), 1..12), echo, bursts).prop_map(|(mut jobs, echo, bursts)| {
        for job in &mut jobs {
            job.echo = if echo[job.to.0] { Echo::On } else { Echo::Off };
        }
        Case { jobs, bursts }
    })
}

fn route() -> impl Strategy<Value = Job> {
    let pattern = (any::<u8>(), prop::sample::select(vec![0x00_u8, 0x01, 0x80, 0xFF])).prop_map(|(value, mask)| {
        let mut pattern = ANY_PAYLOAD;
        (pattern.mask[0], pattern.value[0]) = (mask, value & mask);
        pattern
    });
    let filter = prop_oneof![2 => Just(Some(Filter::ALL)), 3 => Just(None)];
    (arbitrary::job(BUSES), filter, 0..10_u8, pattern, any::<bool>()).prop_map(
        |(mut job, filter, kind, pattern, bit_rate_switch)| {
            job.filter = filter.unwrap_or(job.filter);
            match kind {
                0..=1 => job.payload.push(pattern),
                2 if job.format == FrameFormat::Classic => job.send_as = Some(SendAs::Fd { bit_rate_switch }),
                2 => {
                    job.send_as = Some(SendAs::Classic);
                    let Modifications { and, or, xor, set } = &mut job.modifications;
                    [and, or, xor, set].into_iter().for_each(|operand| operand.flags = None);
                }
                _ => {}
            }
            job
        },
    )
}

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
                    Side::Bpf | Side::User => expected.user.push(delivery.frame),
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
