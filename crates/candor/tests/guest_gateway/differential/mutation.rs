//! Mistakes that a gateway could make, made by the oracle.

use candor_core::frame::Frame;
use candor_core::job::Job;
use candor_core::rule::Operand;

use super::expected::Counted;

/// What the oracle does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    /// Nothing.
    None,
    /// Raw DLCs of 9 to 15 become 8.
    NoRawDlc,
    /// Remote frames are not forwarded.
    NoRemote,
    /// In each receive list the oldest job is served first.
    OldestFirst,
    /// The XOR checksum covers one byte less.
    ShortXorChecksum,
    /// XOR runs before OR.
    XorBeforeOr,
}

impl Mutation {
    /// All that a comparison must notice.
    pub(super) const WRONG: [Self; 5] =
        [Self::NoRawDlc, Self::NoRemote, Self::OldestFirst, Self::ShortXorChecksum, Self::XorBeforeOr];

    pub(super) fn of_jobs(self, mut jobs: Vec<Job>) -> Vec<Job> {
        match self {
            Self::OldestFirst => jobs.reverse(),
            Self::ShortXorChecksum => jobs.iter_mut().for_each(shorten_xor_checksum),
            Self::XorBeforeOr => jobs.iter_mut().for_each(run_xor_before_or),
            Self::None | Self::NoRawDlc | Self::NoRemote => {}
        }
        jobs
    }

    pub(super) fn of_counters(self, mut counters: Vec<Counted>) -> Vec<Counted> {
        if self == Self::OldestFirst {
            counters.reverse();
        }
        counters
    }

    pub(super) fn of_frame(self, frame: Frame) -> Option<Frame> {
        match self {
            Self::NoRawDlc => Some(Frame { len8_dlc: 0, ..frame }),
            Self::NoRemote if frame.id.is_rtr() => None,
            _ => Some(frame),
        }
    }
}

fn shorten_xor_checksum(job: &mut Job) {
    if let Some(xor) = &mut job.checksums.xor
        && !xor.span.is_relative()
        && xor.span.from < xor.span.to
    {
        xor.span.to -= 1;
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
