//! Steps of one job for one frame.

use super::Deleted;
use crate::plan::SendAs;
use candor_core::frame::{CANFD_FDF, CANFD_MAX_DLEN, Frame, FrameFormat};
use candor_core::job::{Computed, Job, RealtimeNs};
use candor_core::rule::{ChecksumSpan, Operation, Verdict, convert};
use candor_guard::Claimed;

/// Result of a job for a frame that it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// In order; empty if the job changes nothing.
    pub steps: Vec<Step>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The frame to send.
    Leaves(Frame),
    Deleted(Deleted),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub act: Act,
    pub frame: Frame,
    pub changed: Changes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    Checksum(ChecksumKind),
    /// Signals are computed.
    Change,
    /// A check of the received frame, and what it found.
    Check(Option<&'static str>),
    /// Its source address must not be claimed on the other bus, which a file does not say.
    Claimed,
    /// Limits over time, which one frame by itself does not violate.
    Pace,
    /// A checksum and a counter are written.
    Protect,
    /// Not computed: a position from the end is before the start of the frame.
    ChecksumLeftOut(ChecksumKind),
    Convert(SendAs),
    /// The network layer marks the frame as CAN FD again (`CANFD_FDF`).
    Mark,
    Modify(Operation),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChecksumKind {
    Crc8,
    Xor,
}

/// Fields in which two frames differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Changes {
    pub format: bool,
    /// Identifier or its flags.
    pub id: bool,
    /// Length or raw DLC.
    pub len: bool,
    pub flags: bool,
    /// Data bytes: bit `k` is byte `k`, also beyond the length.
    pub bytes: u64,
}

impl Changes {
    pub fn between(before: &Frame, after: &Frame) -> Self {
        let byte = |at: usize| u64::from(before.data[at] != after.data[at]) << at;
        Self {
            format: before.format != after.format,
            id: before.id != after.id,
            len: (before.len, before.len8_dlc) != (after.len, after.len8_dlc),
            flags: before.flags != after.flags,
            bytes: (0..CANFD_MAX_DLEN).fold(0, |bytes, at| bytes | byte(at)),
        }
    }

    /// Positions of the changed data bytes.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..CANFD_MAX_DLEN).filter(move |at| self.bytes >> at & 1 != 0)
    }
}

/// As [`Job::apply`], but keeps the frame after each step.
pub fn trace(job: &Job, frame: &Frame) -> Trace {
    let mut tracer = Tracer { frame: *frame, steps: Vec::new() };
    let end = tracer.run(job).map_or_else(|| End::Leaves(tracer.frame), End::Deleted);
    Trace { steps: tracer.steps, end }
}

/// True if a check refuses what was claimed on a bus.
fn learns(check: &Computed) -> bool {
    check.downcast_ref().is_some_and(Claimed::learns)
}

struct Tracer {
    frame: Frame,
    steps: Vec<Step>,
}

impl Tracer {
    /// The reason if the frame is deleted.
    fn run(&mut self, job: &Job) -> Option<Deleted> {
        let received = self.frame;
        let act_of = |check: &Computed| match check.fault(&received) {
            None if check.is_timed() => Act::Pace,
            None if received.id.is_eff() && learns(check) => Act::Claimed,
            fault => Act::Check(fault),
        };
        let checks = job.checks.iter().map(|check| (act_of(check), check));
        for (act, computed) in checks.chain(job.computed.iter().map(|change| (Act::Change, change))) {
            let before = self.frame;
            if computed.change_frame(RealtimeNs::UNKNOWN, &mut self.frame) == Verdict::Delete {
                return Some(Deleted::Refused(act));
            }
            self.note(act, &before);
        }
        if let Some(send_as) = job.send_as.filter(|send_as| send_as.format() != self.frame.format) {
            let before = self.frame;
            if convert(&mut self.frame, send_as) == Verdict::Delete {
                return Some(Deleted::NoForm(send_as));
            }
            self.note(Act::Convert(send_as), &before);
        }
        if !job.modifications.is_empty()
            && let Some(deleted) = self.modify(job)
        {
            return Some(deleted);
        }
        if let Some(protected) = &job.protected
            && self.step(Act::Protect, |frame| protected.change_frame(RealtimeNs::UNKNOWN, frame)) == Verdict::Delete
        {
            return Some(Deleted::Refused(Act::Protect));
        }
        if self.frame.format == FrameFormat::Fd && self.frame.flags & CANFD_FDF == 0 {
            self.step(Act::Mark, |frame| frame.flags |= CANFD_FDF);
        }
        None
    }

    fn modify(&mut self, job: &Job) -> Option<Deleted> {
        for (operation, operand) in job.modifications.operands() {
            if !operand.is_empty() {
                self.step(Act::Modify(operation), |frame| operand.apply(frame, operation));
            }
        }
        let (len, max) = (self.frame.len, self.frame.format.max_len());
        if usize::from(len) > max {
            return Some(Deleted::Length { len, max });
        }
        if let Some(crc8) = &job.checksums.crc8 {
            self.checksum(ChecksumKind::Crc8, crc8.span, |frame| crc8.apply(frame));
        }
        if let Some(xor) = &job.checksums.xor {
            self.checksum(ChecksumKind::Xor, xor.span, |frame| xor.apply(frame));
        }
        None
    }

    fn checksum(&mut self, kind: ChecksumKind, span: ChecksumSpan, compute: impl FnOnce(&mut Frame)) {
        let act = if span.fits(&self.frame) { Act::Checksum(kind) } else { Act::ChecksumLeftOut(kind) };
        self.step(act, compute);
    }

    fn step<T>(&mut self, act: Act, change: impl FnOnce(&mut Frame) -> T) -> T {
        let before = self.frame;
        let result = change(&mut self.frame);
        self.note(act, &before);
        result
    }

    fn note(&mut self, act: Act, before: &Frame) {
        self.steps.push(Step { act, frame: self.frame, changed: Changes::between(before, &self.frame) });
    }
}
