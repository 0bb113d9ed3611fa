//! Reasons why a job does not match a frame.

use candor_core::filter::ReceiveList;
use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, Frame, FrameFormat, RawId,
};
use candor_core::job::Job;
use candor_core::payload::PayloadPattern;

/// A job that does not match a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    pub job: usize,
    /// At least one.
    pub reasons: Vec<Reason>,
}

/// A reason why a job does not match a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Error classes of the filter, and others of the frame.
    ErrorClass { wanted: u32, found: u32 },
    /// An error message frame, and the mask of the filter does not select these.
    ErrorFrame,
    /// The job is for this format, the frame has the other one.
    Format(FrameFormat),
    /// The job is for CAN XL frames.
    Xl,
    /// An inverted filter excludes the frame: it has `id` in the bits of `mask`, flags included.
    HeldBack { id: u32, mask: u32 },
    /// The filter is for identifiers of the other format.
    IdFormat { is_eff: bool },
    /// Bits of the identifier in `mask` differ; `id` is that of the frame, with flags.
    Identifier { id: RawId, wanted: u32, found: u32, mask: u32 },
    /// The length field, in bytes, is above the maximum of the format.
    Length { len: u8 },
    /// An inverted filter that excludes every frame.
    NeverMatches,
    /// The filter is for error message frames only.
    OnlyErrorFrames,
    /// A data byte differs in the bits of `mask`.
    PayloadByte { at: usize, found: u8, wanted: u8, mask: u8 },
    /// A remote frame has no data to compare.
    PayloadOfRemote,
    /// The frame has fewer data bytes than the pattern.
    PayloadTooShort { needs: usize, carries: usize },
    /// The filter is only for remote frames, or only for others.
    Remote { is_rtr: bool },
}

impl Reason {
    /// Returns true if the filter rejects the identifier, its format or its kind.
    pub const fn is_of_identifiers(&self) -> bool {
        matches!(self, Self::HeldBack { .. } | Self::IdFormat { .. } | Self::Identifier { .. } | Self::Remote { .. })
    }
}

impl Miss {
    /// All reasons; `None` if the job matches the frame.
    pub fn of(at: usize, job: &Job, frame: &Frame) -> Option<Self> {
        let mut reasons = Vec::new();
        if job.is_xl {
            reasons.push(Reason::Xl);
        } else if frame.format != job.format {
            reasons.push(Reason::Format(job.format));
        }
        if usize::from(frame.len) > frame.format.max_len() {
            reasons.push(Reason::Length { len: frame.len });
        }
        filter(job, frame, &mut reasons);
        payload(job, frame, &mut reasons);
        (!reasons.is_empty()).then_some(Self { job: at, reasons })
    }

    /// Distance of the frame from a match, for sorting only. Data bytes count least, then kinds of frames, then the
    /// identifier; the second number is the distance to the nearest matching identifier.
    pub fn distance(&self) -> (u32, u32) {
        let kind = |reason: &Reason| match reason {
            Reason::PayloadByte { .. } | Reason::PayloadTooShort { .. } => 1,
            Reason::Format(_) | Reason::Xl | Reason::PayloadOfRemote | Reason::Remote { .. } => 8,
            Reason::HeldBack { .. } | Reason::Length { .. } => 16,
            Reason::IdFormat { .. } => 32,
            Reason::Identifier { .. } => 64,
            Reason::ErrorClass { .. } => 128,
            Reason::ErrorFrame | Reason::NeverMatches | Reason::OnlyErrorFrames => 256,
        };
        (self.reasons.iter().map(kind).sum(), self.reasons.iter().map(apart).sum())
    }
}

/// Distance of an identifier from those that a filter matches.
fn apart(reason: &Reason) -> u32 {
    let Reason::Identifier { id, wanted, mask, .. } = reason else { return 0 };
    let all_bits = if id.is_eff() { CAN_EFF_MASK } else { CAN_SFF_MASK };
    let (id, last) = (id.0 & CAN_EFF_MASK, wanted | all_bits & !mask);
    wanted.saturating_sub(id).max(id.saturating_sub(last))
}

fn filter(job: &Job, frame: &Frame, reasons: &mut Vec<Reason>) {
    let filter = job.filter.normalise();
    if filter.matches(frame.id) {
        return;
    }
    let (mask, differing) = (filter.mask, (frame.id.0 ^ filter.id) & filter.mask);
    match (frame.id.is_err(), filter.list) {
        (true, ReceiveList::Error) => {
            reasons.push(Reason::ErrorClass { wanted: mask, found: frame.id.0 & (CAN_ERR_FLAG - 1) });
        }
        (true, _) => reasons.push(Reason::ErrorFrame),
        (false, ReceiveList::Error) => reasons.push(Reason::OnlyErrorFrames),
        (false, ReceiveList::Inverted) if mask == 0 => reasons.push(Reason::NeverMatches),
        (false, ReceiveList::Inverted) => reasons.push(Reason::HeldBack { id: filter.id, mask }),
        (false, _) => {
            if differing & CAN_EFF_FLAG != 0 {
                reasons.push(Reason::IdFormat { is_eff: filter.id & CAN_EFF_FLAG != 0 });
            }
            if differing & CAN_RTR_FLAG != 0 {
                reasons.push(Reason::Remote { is_rtr: filter.id & CAN_RTR_FLAG != 0 });
            }
            if differing & CAN_EFF_MASK != 0 {
                let (id, mask) = (frame.id, mask & CAN_EFF_MASK);
                reasons.push(Reason::Identifier { id, wanted: filter.id & mask, found: id.0 & mask, mask });
            }
        }
    }
}

fn payload(job: &Job, frame: &Frame, reasons: &mut Vec<Reason>) {
    if job.payload.is_empty() || job.payload.iter().any(|pattern| pattern.matches(frame)) {
        return;
    }
    if frame.id.is_rtr() {
        reasons.push(Reason::PayloadOfRemote);
        return;
    }
    let nearest = job.payload.iter().map(|pattern| against(pattern, frame)).min_by_key(Vec::len);
    reasons.extend(nearest.into_iter().flatten());
}

/// Differences to one payload pattern.
fn against(pattern: &PayloadPattern, frame: &Frame) -> Vec<Reason> {
    let carried = frame.payload();
    let needs = pattern.bytes();
    let too_short = (needs > carried.len()).then_some(Reason::PayloadTooShort { needs, carries: carried.len() });
    let bytes = carried.iter().zip(pattern.mask.iter().zip(&pattern.value)).enumerate();
    let differing = bytes.filter(|(_, (byte, (mask, value)))| *byte & *mask != **value);
    let differing = differing.map(|(at, (&found, (&mask, &wanted)))| Reason::PayloadByte { at, found, wanted, mask });
    too_short.into_iter().chain(differing).collect()
}
