//! What must come out, by the oracle.

use candor_config::plan::{BusIndex, Echo};
use candor_core::frame::{CAN_EFF_MASK, Frame, FrameFormat};
use candor_core::job::Job;
use candor_core::oracle::{self, Loopback};

use super::case::{CLASSIC_ONLY, Case, DOWN, FENCE, INTERFACES};
use super::mutation::Mutation;

/// What a gateway did with a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// By burst and bus, in the order of delivery: what sockets on the bus see.
    pub(super) delivered: Vec<Vec<Vec<Frame>>>,
    /// By job.
    pub(super) counters: Vec<Counted>,
}

/// What a job counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) handled: u64,
    pub(super) dropped: u64,
    pub(super) deleted: u64,
}

/// Where a gateway differs from the oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// At this place in the order of delivery.
    Frame { burst: usize, bus: usize, at: usize, expected: Option<Frame>, seen: Option<Frame> },
    /// In what this job counted.
    Counters { job: usize, expected: Counted, seen: Counted },
    /// The kernel tells another list of jobs than it was given.
    Dump { job: usize, given: String, told: String },
}

impl Outcome {
    /// What the kernel must do: the whole machine, with frames that are routed on when they are seen on a bus.
    pub(super) fn of_machine(case: &Case, mutation: Mutation) -> Self {
        let jobs = mutation.of_jobs(case.all_jobs());
        let mut world = case.world(&jobs);
        let mut delivered = Vec::new();
        for burst in &case.bursts {
            let mut by_bus = vec![Vec::new(); INTERFACES.len()];
            for frame in case.for_kernel(burst) {
                let outcome = world.send_locally(burst.from, &frame, Loopback::On).unwrap();
                // The first that is seen is the frame itself, which its sender does not see.
                for seen in &outcome.seen[1..] {
                    see(&mut by_bus, seen.on, seen.frame, mutation);
                }
            }
            delivered.push(by_bus);
        }
        let counters = world.list().into_iter().map(|listed| Counted {
            handled: listed.handled.into(),
            dropped: listed.dropped.into(),
            deleted: listed.deleted.into(),
        });
        Self { delivered, counters: mutation.of_counters(counters.collect()) }
    }

    /// What candor's own gateway must do: every job once, with what comes in. It never hears what it sent itself, and
    /// it only knows that an interface is down when it sends, after it has looked at the length.
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
        let counters = oracle::count(&jobs, &sent).into_iter().zip(dropped).map(|(counted, dropped)| Counted {
            handled: counted.handled - dropped,
            dropped,
            deleted: counted.deleted,
        });
        Self { delivered, counters: mutation.of_counters(counters.collect()) }
    }

    /// Frames that sockets saw, fences left out.
    pub(super) fn frames(&self) -> u64 {
        self.delivered.iter().flat_map(|by_bus| &by_bus[..FENCE.0]).map(|frames| frames.len() as u64).sum()
    }

    /// The first difference of what was seen from this.
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

/// Whether the interface of a bus takes a frame.
pub(super) fn takes(bus: BusIndex, frame: &Frame) -> bool {
    match bus {
        CLASSIC_ONLY => frame.format == FrameFormat::Classic,
        other => other != DOWN,
    }
}

/// Whether a socket can see the frame: no filter selects an error frame of no class.
pub(super) fn can_be_seen(frame: &Frame) -> bool {
    !frame.id.is_err() || frame.id.0 & CAN_EFF_MASK != 0
}

fn see(by_bus: &mut [Vec<Frame>], on: BusIndex, frame: Frame, mutation: Mutation) {
    by_bus[on.0].extend(mutation.of_frame(frame).filter(can_be_seen));
}

/// Whether local sockets see what a job sends; on vcan without echo nobody does.
pub(super) fn is_echoed(job: &Job) -> bool {
    job.echo == Echo::On
}
