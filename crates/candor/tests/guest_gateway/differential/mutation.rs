//! Errors of a gateway, made by the oracle.

use candor_core::frame::{CANFD_ESI, Frame};
use candor_core::job::Job;
use candor_core::rule::{ChecksumSpan, Operand};

use super::expected::Counted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    None,
    AndAfterOr,
    CountsOneMore,
    NoErrorState,
    NoRawDlc,
    NoRemote,
    /// In each receive list the oldest job is served first.
    OldestFirst,
    /// Bytes beyond the length are cleared.
    OnlyPayload,
    ShortCrc8,
    ShortXorChecksum,
    XorBeforeOr,
}

impl Mutation {
    pub(super) const WRONG: [Self; 10] = [
        Self::AndAfterOr,
        Self::CountsOneMore,
        Self::NoErrorState,
        Self::NoRawDlc,
        Self::NoRemote,
        Self::OldestFirst,
        Self::OnlyPayload,
        Self::ShortCrc8,
        Self::ShortXorChecksum,
        Self::XorBeforeOr,
    ];

    pub(super) fn of_jobs(self, mut jobs: Vec<Job>) -> Vec<Job> {
        match self {
            Self::AndAfterOr => jobs.iter_mut().for_each(run_and_after_or),
            Self::OldestFirst => jobs.reverse(),
            Self::ShortCrc8 => jobs.iter_mut().for_each(|job| {
                job.checksums.crc8.iter_mut().for_each(|crc8| shorten(&mut crc8.span));
            }),
            Self::ShortXorChecksum => jobs.iter_mut().for_each(|job| {
                job.checksums.xor.iter_mut().for_each(|xor| shorten(&mut xor.span));
            }),
            Self::XorBeforeOr => jobs.iter_mut().for_each(run_xor_before_or),
            _ => {}
        }
        jobs
    }

    pub(super) fn of_counters(self, mut counters: Vec<Counted>) -> Vec<Counted> {
        match self {
            Self::CountsOneMore => {
                counters.iter_mut().find(|job| job[0] > 0).into_iter().for_each(|job| job[0] += 1);
            }
            Self::OldestFirst => counters.reverse(),
            _ => {}
        }
        counters
    }

    pub(super) fn of_frame(self, frame: Frame) -> Option<Frame> {
        match self {
            Self::NoErrorState => Some(Frame { flags: frame.flags & !CANFD_ESI, ..frame }),
            Self::NoRawDlc => Some(Frame { len8_dlc: 0, ..frame }),
            Self::NoRemote if frame.id.is_rtr() => None,
            Self::OnlyPayload => {
                let mut only = frame;
                only.data[usize::from(frame.len)..].fill(0);
                Some(only)
            }
            _ => Some(frame),
        }
    }
}

fn shorten(span: &mut ChecksumSpan) {
    if !span.is_relative() && span.from < span.to {
        span.to -= 1;
    }
}

/// `(x | b) & a` is the same as `(x & a) | (b & a)`.
fn run_and_after_or(job: &mut Job) {
    let Operand { id, data, .. } = job.modifications.and;
    let or = &mut job.modifications.or;
    if let (Some(and), Some(or)) = (id, &mut or.id) {
        *or &= and;
    }
    if let (Some(and), Some(or)) = (data, &mut or.data) {
        or.iter_mut().zip(and).for_each(|(or, and)| *or &= and);
    }
}

/// `(x ^ b) | a` is the same as `(x | a) ^ (b & !a)`.
fn run_xor_before_or(job: &mut Job) {
    let Operand { id, data, .. } = job.modifications.or;
    let xor = &mut job.modifications.xor;
    if let (Some(or), Some(xor)) = (id, &mut xor.id) {
        *xor &= !or;
    }
    if let (Some(or), Some(xor)) = (data, &mut xor.data) {
        xor.iter_mut().zip(or).for_each(|(xor, or)| *xor &= !or);
    }
}
