//! Why a job does not take a frame.

use candor_core::filter::ReceiveList;
use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, Frame, FrameFormat, RawId,
};
use candor_core::job::Job;
use candor_core::payload::PayloadPattern;

/// A job that does not take a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// Position of the job.
    pub job: usize,
    /// Everything that stands against it; never empty.
    pub reasons: Vec<Reason>,
}

/// Something that stands between a frame and a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The error classes of an error frame are others.
    ErrorClass {
        /// Classes that the filter is for.
        wanted: u32,
        /// Classes of the frame.
        found: u32,
    },
    /// An error message frame; the filter is for other frames, as all are whose mask does not ask for these.
    ErrorFrame,
    /// A frame of the other format; the job is for this one.
    Format(FrameFormat),
    /// An inverted filter, and the frame is what it is not for: `id` in the bits of `mask`, flags included.
    HeldBack {
        /// Bits of the frame.
        id: u32,
        /// In these bits.
        mask: u32,
    },
    /// The filter compares the format of the identifier.
    IdFormat {
        /// True if the filter matches 29-bit identifiers.
        is_eff: bool,
    },
    /// Bits of the identifier differ.
    Identifier {
        /// The identifier of the frame, with its flags.
        id: RawId,
        /// Bits of the filter.
        wanted: u32,
        /// Bits of the frame.
        found: u32,
        /// Bits that are compared.
        mask: u32,
    },
    /// The frame says that it is longer than its format allows.
    Length {
        /// Length field of the frame, in bytes.
        len: u8,
    },
    /// An inverted filter that holds back every frame.
    NeverMatches,
    /// The filter is for error message frames, and this is none.
    OnlyErrorFrames,
    /// A data byte differs.
    PayloadByte {
        /// Its position.
        at: usize,
        /// Actual value.
        found: u8,
        /// Required value, in the bits of `mask`.
        wanted: u8,
        /// In these bits.
        mask: u8,
    },
    /// A remote frame, which carries no data that could be compared.
    PayloadOfRemote,
    /// The frame has fewer data bytes than are compared.
    PayloadTooShort {
        /// Bytes that are needed.
        needs: usize,
        /// Bytes that it has.
        carries: usize,
    },
    /// The filter compares whether the frame is a remote frame.
    Remote {
        /// True if the filter matches remote frames.
        is_rtr: bool,
    },
}

impl Reason {
    /// Returns true if the filter rejects the identifier, its format or its kind.
    #[must_use]
    pub const fn is_of_identifiers(&self) -> bool {
        matches!(self, Self::HeldBack { .. } | Self::IdFormat { .. } | Self::Identifier { .. } | Self::Remote { .. })
    }
}

impl Miss {
    /// Everything that stands against a job; `None` if it takes the frame.
    #[must_use]
    pub fn of(at: usize, job: &Job, frame: &Frame) -> Option<Self> {
        let mut reasons = Vec::new();
        if frame.format != job.format {
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
    /// identifier; among misses of the same kind, by how far the identifier is from the nearest that is taken.
    #[must_use]
    pub fn distance(&self) -> (u32, u32) {
        let kind = |reason: &Reason| match reason {
            Reason::PayloadByte { .. } | Reason::PayloadTooShort { .. } => 1,
            Reason::Format(_) | Reason::PayloadOfRemote | Reason::Remote { .. } => 8,
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
