//! The compiled form of the jobs: what user-space engines run.
//!
//! Everything that can be known from the jobs is decided once, in [`RuleSet::compile`]. A frame then costs a look into
//! the list of its bus and format, one comparison for each filter with a mask, one look-up for all filters with a single
//! identifier, and a copy only where a job changes the frame. Nothing is allocated for a frame.

mod lists;

use crate::frame::{CANFD_FDF, Frame, FrameFormat};
use crate::job::Job;
use crate::payload::PayloadPattern;
use crate::plan::{BusIndex, SendAs};
use crate::rule::{self, Checksums, Modifications, Verdict};
use lists::Lists;

/// What a job did with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routed<'a> {
    /// It sends this frame to this bus.
    Send {
        /// Where to.
        to: BusIndex,
        /// What; the received frame itself if the job changes nothing.
        frame: &'a Frame,
    },
    /// It deletes the frame: its length became impossible.
    Delete,
}

/// All jobs of a gateway, ready to run.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// By source bus.
    buses: Vec<BusRules>,
    /// By job.
    actions: Vec<Action>,
}

#[derive(Clone, Debug)]
struct BusRules {
    classic: Lists,
    fd: Lists,
}

#[derive(Clone, Debug)]
struct Action {
    to: BusIndex,
    /// `None`: the frame passes as it is. Boxed because most jobs have none and it is large.
    change: Option<Box<Change>>,
    /// Payloads that pass; all if there is none.
    payload: Box<[PayloadPattern]>,
}

#[derive(Clone, Debug)]
struct Change {
    send_as: Option<SendAs>,
    modifications: Modifications,
    checksums: Checksums,
}

impl RuleSet {
    /// Compiles the jobs of a gateway with this many buses. Jobs of one receive list keep their order.
    #[must_use]
    pub fn compile(jobs: &[Job], buses: usize) -> Self {
        let lists = |from: usize, format: FrameFormat| {
            let of_list = jobs.iter().enumerate().filter(|(_, job)| job.from.0 == from && job.format == format);
            Lists::build(of_list.map(|(index, job)| (index, job.filter.normalise())))
        };
        Self {
            buses: (0..buses)
                .map(|from| BusRules { classic: lists(from, FrameFormat::Classic), fd: lists(from, FrameFormat::Fd) })
                .collect(),
            actions: jobs.iter().map(Action::of).collect(),
        }
    }

    /// Runs every job that is for this frame, in the order of delivery, and tells what each did with it.
    ///
    /// The first argument of `visit` is the position of the job in the slice that was compiled. Frames that no job takes
    /// (wrong format, impossible length, unknown bus) are not told of, as can-gw counts them nowhere.
    pub fn route(&self, from: BusIndex, frame: &Frame, mut visit: impl FnMut(usize, Routed<'_>)) {
        let Some(bus) = self.buses.get(from.0) else { return };
        if usize::from(frame.len) > frame.format.max_len() {
            return;
        }
        match frame.format {
            FrameFormat::Classic => {
                bus.classic.for_each_match(frame.id, |job| self.run(job, frame, &mut visit));
            }
            FrameFormat::Fd if frame.flags & CANFD_FDF != 0 => {
                bus.fd.for_each_match(frame.id, |job| self.run(job, frame, &mut visit));
            }
            FrameFormat::Fd => {
                // Not every driver marks the FD frames that it delivers, but the kernel marks all that are sent.
                let marked = Frame { flags: frame.flags | CANFD_FDF, ..*frame };
                bus.fd.for_each_match(frame.id, |job| self.run(job, &marked, &mut visit));
            }
        }
    }

    fn run(&self, job: usize, frame: &Frame, visit: &mut impl FnMut(usize, Routed<'_>)) {
        let Action { to, change, payload } = &self.actions[job];
        if !payload.is_empty() && !payload.iter().any(|pattern| pattern.matches(frame)) {
            return;
        }
        let Some(change) = change else {
            return visit(job, Routed::Send { to: *to, frame });
        };
        let mut frame = *frame;
        let mut verdict = change.send_as.map_or(Verdict::Send, |send_as| rule::convert(&mut frame, send_as));
        if verdict == Verdict::Send {
            verdict = rule::change(&mut frame, &change.modifications, &change.checksums);
        }
        match verdict {
            Verdict::Send => {
                if frame.format == FrameFormat::Fd {
                    frame.flags |= CANFD_FDF;
                }
                visit(job, Routed::Send { to: *to, frame: &frame });
            }
            Verdict::Delete => visit(job, Routed::Delete),
        }
    }
}

impl Action {
    fn of(job: &Job) -> Self {
        let changes = !job.modifications.is_empty() || job.send_as.is_some();
        let change = || {
            let (modifications, checksums) = (job.modifications, job.checksums);
            Box::new(Change { send_as: job.send_as, modifications, checksums })
        };
        Self { to: job.to, change: changes.then(change), payload: job.payload.clone().into() }
    }
}

#[cfg(test)]
mod tests;
