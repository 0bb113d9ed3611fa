//! The frames and counters that the oracle predicts.

use candor_config::plan::{BusIndex, Echo};
use candor_core::frame::{CAN_EFF_MASK, Frame, FrameFormat};
use candor_core::job::Job;
use candor_core::oracle::{self, Loopback};

use super::case::{CLASSIC_ONLY, Case, DOWN, FENCE, INTERFACES, SOURCES};
use super::mutation::Mutation;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The frames that sockets receive, by burst and bus.
    pub(super) delivered: Vec<Vec<Vec<Frame>>>,
    pub(super) counters: Vec<Counted>,
}

/// Handled, dropped and deleted frames of a job.
pub(super) type Counted = [u64; 3];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// In the frame at this position.
    Frame { burst: usize, bus: usize, at: usize, expected: Option<Frame>, seen: Option<Frame> },
    /// In the counters of this job.
    Counters { job: usize, expected: Counted, seen: Counted },
    /// The kernel lists another job than it was given.
    Dump { job: usize, given: String, listed: String },
}

impl Outcome {
    /// Of the kernel, where a frame that a bus carries may match further jobs.
    pub(super) fn of_machine(case: &Case, mutation: Mutation) -> Self {
        let jobs = mutation.of_jobs(case.all_jobs());
        let mut world = case.world(&jobs);
        let mut delivered = Vec::new();
        for burst in &case.bursts {
            let mut by_bus = vec![Vec::new(); INTERFACES.len()];
            for frame in case.for_kernel(burst) {
                let outcome = world.send_locally(burst.from, &frame, Loopback::On).unwrap();
                // The first is the frame itself, which its sender does not receive.
                for seen in &outcome.seen[1..] {
                    see(&mut by_bus, seen.on, seen.frame, mutation);
                }
            }
            delivered.push(by_bus);
        }
        let counters = world.list().into_iter();
        let counters = counters.map(|listed| [listed.handled, listed.dropped, listed.deleted].map(u64::from));
        Self { delivered, counters: mutation.of_counters(counters.collect()) }
    }

    /// Of candor's engines: every job once for each incoming frame. They never receive their own frames, and notice an
    /// interface that is down only when they send, after the check of the length.
    pub(super) fn of_process(case: &Case, mutation: Mutation) -> Self {
        let jobs = mutation.of_jobs(case.all_jobs());
        let mut delivered = Vec::new();
        let mut sent = Vec::new();
        let mut dropped = vec![0; jobs.len()];
        for burst in &case.bursts {
            let mut by_bus = vec![Vec::new(); INTERFACES.len()];
            for frame in Case::fenced(burst) {
                sent.push((burst.from, frame));
                for delivery in oracle::deliver(&jobs, burst.from, &frame) {
                    let job = &jobs[delivery.job];
                    if !takes(job.to, &delivery.frame) {
                        dropped[delivery.job] += 1;
                    } else if job.echo == Echo::On {
                        see(&mut by_bus, job.to, delivery.frame, mutation);
                    }
                }
            }
            delivered.push(by_bus);
        }
        let counters = oracle::count(&jobs, &sent).into_iter().zip(dropped);
        let counters = counters.map(|(counted, dropped)| [counted.handled - dropped, dropped, counted.deleted]);
        Self { delivered, counters: mutation.of_counters(counters.collect()) }
    }

    /// Of programs, which see a frame before everybody else and send without echo. What arrives at the other end of each bus,
    /// then what others receive beside the gateway. Counters by route.
    pub(super) fn of_programs(case: &Case, mutation: Mutation) -> Self {
        let given = case.all_jobs_for_programs();
        // A program sends no FD frame where it has no room: such a job takes none. Nor does one for CAN XL frames.
        let has_no_room = |job: &Job| job.to == CLASSIC_ONLY && job.format == FrameFormat::Fd;
        let jobs: Vec<_> =
            mutation.of_jobs(given.clone()).into_iter().map(|job| Job { is_xl: has_no_room(&job), ..job }).collect();
        let mut delivered = Vec::new();
        let mut sent = Vec::new();
        let mut dropped = vec![0; jobs.len()];
        for burst in &case.bursts {
            let mut by_bus = vec![Vec::new(); INTERFACES.len() + SOURCES];
            for frame in Case::fenced(burst) {
                sent.push((burst.from, frame));
                let mut is_taken = false;
                for delivery in oracle::deliver(&jobs, burst.from, &frame) {
                    let job = &jobs[delivery.job];
                    is_taken |= case.exclusive.contains(&job.route);
                    if job.to != DOWN {
                        see(&mut by_bus, job.to, delivery.frame, mutation);
                    } else {
                        dropped[delivery.job] += 1;
                    }
                }
                if !is_taken {
                    let beside = BusIndex(INTERFACES.len() + burst.from.0);
                    by_bus[beside.0].extend(Some(frame).filter(can_be_seen));
                }
            }
            delivered.push(by_bus);
        }
        let counters = oracle::count(&jobs, &sent).into_iter().zip(dropped);
        let counters = counters.map(|(counted, dropped)| [counted.handled - dropped, dropped, counted.deleted]);
        let mut counters = mutation.of_counters(counters.collect()).into_iter();
        let of_route = |jobs: &[Job]| {
            let of_jobs = counters.by_ref().take(jobs.len());
            of_jobs.fold([0; 3], |sum, counted| std::array::from_fn(|at| sum[at] + counted[at]))
        };
        let counters = Case::routes(&given).map(of_route).collect();
        Self { delivered, counters }
    }

    /// Frames without fences.
    pub(super) fn frames(&self) -> u64 {
        self.delivered.iter().flat_map(|by_bus| &by_bus[..FENCE.0]).map(|frames| frames.len() as u64).sum()
    }

    pub(super) fn difference(&self, seen: &Self) -> Option<Box<Difference>> {
        let places = self.delivered.iter().zip(&seen.delivered).enumerate().flat_map(|(burst, (expected, seen))| {
            expected.iter().zip(seen).enumerate().map(move |(bus, pair)| (burst, bus, pair))
        });
        for (burst, bus, (expected, seen)) in places {
            let at = (0..expected.len().max(seen.len())).find(|&at| expected.get(at) != seen.get(at));
            if let Some(at) = at {
                let (expected, seen) = (expected.get(at).copied(), seen.get(at).copied());
                return Some(Difference::Frame { burst, bus, at, expected, seen }.into());
            }
        }
        let counters = self.counters.iter().zip(&seen.counters).enumerate();
        counters
            .into_iter()
            .find(|(_, (expected, seen))| expected != seen)
            .map(|(job, (expected, seen))| Difference::Counters { job, expected: *expected, seen: *seen }.into())
    }
}

pub(super) fn takes(bus: BusIndex, frame: &Frame) -> bool {
    match bus {
        CLASSIC_ONLY => frame.format == FrameFormat::Classic,
        other => other != DOWN,
    }
}

/// No filter matches an error frame without a class.
pub(crate) fn can_be_seen(frame: &Frame) -> bool {
    !frame.id.is_err() || frame.id.0 & CAN_EFF_MASK != 0
}

fn see(by_bus: &mut [Vec<Frame>], on: BusIndex, frame: Frame, mutation: Mutation) {
    by_bus[on.0].extend(mutation.of_frame(frame).filter(can_be_seen));
}
