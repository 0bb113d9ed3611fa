//! The worst case of a message, frame by frame.

use alloc::vec::Vec;

use crate::analysis::Analysis;
use crate::model::MessageId;
use crate::scenario::{Scenario, Stream, Worst};
use crate::time::Ns;

/// What a time on the bus is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// A frame that started just before the window.
    Blocking,
    /// Error frames, and the repetition of frames.
    Errors,
    /// A frame of the same node, which is in the controller when the window begins.
    Controller,
    /// A frame of the same node, which is sent first.
    Queue,
    /// A frame of another node, which wins arbitration.
    Arbitration,
    /// The frame itself.
    Message,
}

/// A time in which the bus is busy. Times count from the start of the window, the critical instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its start.
    pub start: Ns,
    /// Its end, including the intermission of the frame; of the message itself, the end of frame.
    pub end: Ns,
    /// What it is used for.
    pub used_for: Use,
    /// Whose frame it is. `None` for errors.
    pub message: Option<MessageId>,
}

/// The worst case of a message on its bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The release from which the response counts, in nanoseconds from the start of the window; negative if it is before.
    pub released_ns: i64,
    /// When it is queued.
    pub queued: Ns,
    /// Who uses the bus, without gaps.
    pub slots: Vec<Slot>,
}

/// A frame that is sent before.
struct Job {
    arrival: u64,
    stream: Stream,
    used_for: Use,
}

impl Analysis {
    /// The worst case on the bus of this message, as the bound assumes it.
    ///
    /// `None` without a bound, and for a band with a rate or with turns, whose bound is not made of single frames. In rare networks
    /// a bound is more than any single scenario gives; there is none for it, either.
    ///
    /// # Panics
    /// If the network has no such message.
    #[must_use]
    pub fn timeline(&self, message: MessageId) -> Option<Timeline> {
        let (_, scenario, worst) = self.least(message.0)?;
        if !self.gives(message, worst) || scenario.spacing > 0 || !scenario.groups.is_empty() {
            return None;
        }
        let mut slots = Vec::new();
        let mut now = 0;
        let mut push = |now: &mut u64, message: Option<usize>, used_for: Use, time: u64| {
            let start = *now;
            *now += time;
            slots.push(Slot { start: Ns(start), end: Ns(*now), used_for, message: message.map(MessageId) });
        };
        if let Some((message, time)) = scenario.blocking {
            push(&mut now, Some(message), Use::Blocking, time);
        }
        if scenario.errors > 0 {
            push(&mut now, None, Use::Errors, scenario.errors);
        }
        let mut held = scenario.controller.iter();
        let mut jobs = jobs(&scenario, worst);
        loop {
            let waits =
                |job: &Job, used_for: Use| job.used_for == used_for && job.arrival < now.saturating_add(scenario.bit);
            if let Some(at) = jobs.iter().position(|job| waits(job, Use::Arbitration)) {
                let job = jobs.remove(at);
                push(&mut now, Some(job.stream.message), job.used_for, job.stream.cost);
            } else if let Some((message, time)) = held.next() {
                push(&mut now, Some(*message), Use::Controller, *time);
            } else if let Some(at) = jobs.iter().position(|job| waits(job, Use::Queue)) {
                let job = jobs.remove(at);
                push(&mut now, Some(job.stream.message), job.used_for, job.stream.cost);
            } else {
                break;
            }
        }
        now = now.max(worst.starts);
        push(&mut now, Some(message.0), Use::Message, scenario.own.received);
        let signed = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let released_ns = signed(worst.queued) - signed(scenario.own.offset);
        Some(Timeline { released_ns, queued: Ns(worst.queued), slots })
    }
}

/// All frames that the bound counts, in the order of arrival.
fn jobs(scenario: &Scenario, worst: Worst) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut add = |stream: &Stream, count: u64, used_for: Use| {
        jobs.extend((0..count).map(|number| Job { arrival: stream.arrival(number), stream: *stream, used_for }));
    };
    add(&scenario.own, worst.instance, Use::Queue);
    for stream in &scenario.fifo {
        add(stream, stream.frames(worst.queued, 1), Use::Queue);
    }
    for stream in &scenario.urgent {
        add(stream, stream.frames(worst.leaves, scenario.bit), Use::Queue);
    }
    for stream in &scenario.rivals {
        add(stream, stream.frames(worst.starts, scenario.bit), Use::Arbitration);
    }
    let early = scenario.early();
    for stream in &scenario.early_rivals {
        add(stream, stream.frames(worst.starts.min(early), scenario.bit), Use::Arbitration);
    }
    candor_core::order::sort_by_key(&mut jobs, |job| job.arrival);
    jobs
}
