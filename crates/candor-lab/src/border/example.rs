//! Frames that a route forwards, found by what it does with candidates.

use candor_config::explain::{End, trace};
use candor_config::lower;
use candor_config::plan::{Plan, Route, RouteIndex};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, Frame, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::payload::PayloadPattern;

/// Lengths of CAN FD frames in bytes, the longest last; the first nine are those of classic frames.
const LENGTHS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
/// Combinations of patterns that are tried for an identifier.
const MOST_PATTERNS: usize = 64;

/// A route and its jobs.
#[derive(Debug)]
pub struct Forwarder<'a> {
    route: &'a Route,
    jobs: Vec<Job>,
}

impl<'a> Forwarder<'a> {
    pub fn new(plan: &'a Plan, index: RouteIndex) -> Self {
        let jobs = lower(plan).into_iter().filter(|job| job.route == index && !job.is_xl).collect();
        Self { route: plan.route(index), jobs }
    }

    /// The frame that leaves if this one comes. Limits over time are not applied.
    pub fn forward(&self, frame: &Frame) -> Option<Frame> {
        let job = self.jobs.iter().find(|job| job.filter.normalise().matches(frame.id) && job.takes(frame))?;
        match trace(job, frame).end {
            End::Leaves(frame) => Some(frame),
            End::Deleted(_) => None,
        }
    }

    /// Data frames that are forwarded, of up to `most` identifiers from the lowest to the highest.
    pub fn examples(&self, most: usize) -> Vec<Frame> {
        let mut ids: Vec<RawId> = self.jobs.iter().flat_map(|job| identifiers(job.filter)).collect();
        ids.sort_unstable_by_key(|id| (id.is_eff(), id.bits()));
        ids.dedup();
        let frames: Vec<Frame> = ids.into_iter().filter_map(|id| self.with_id(id)).collect();
        let last = frames.len().saturating_sub(1);
        let steps = most.min(frames.len()).saturating_sub(1).max(1);
        let mut places: Vec<usize> = (0..most).map(|step| (step * last / steps).min(last)).collect();
        places.dedup();
        places.into_iter().filter_map(|place| frames.get(place).copied()).collect()
    }

    /// The longest data frame with this identifier that is forwarded.
    pub fn with_id(&self, id: RawId) -> Option<Frame> {
        if !id.carries_data() {
            return None;
        }
        let jobs = self.jobs.iter().filter(|job| job.filter.normalise().matches(id));
        jobs.flat_map(|job| self.candidates(job, id)).find(|frame| self.forward(frame).is_some())
    }

    fn candidates(&self, job: &Job, id: RawId) -> Vec<Frame> {
        let patterns = self.patterns(job, id);
        let lengths = LENGTHS.iter().rev().filter(|len| usize::from(**len) <= job.format.max_len());
        let lengths = lengths
            .filter(|len| self.route.shapes().all(|shape| shape.lengths.is_empty() || shape.lengths.contains(len)));
        let frames = lengths.flat_map(|len| {
            let patterns = patterns.iter().filter(|pattern| pattern.bytes() <= usize::from(*len));
            patterns.flat_map(|pattern| [0x00, 0xFF].map(|rest| frame(job.format, id, *len, pattern, rest)))
        });
        frames.flatten().collect()
    }

    /// Each is enough for the payloads that the route matches and its guard requires.
    fn patterns(&self, job: &Job, id: RawId) -> Vec<PayloadPattern> {
        let needs = self.route.shapes().flat_map(|shape| &shape.needs);
        let needs = needs.filter(|need| need.id.is_none_or(|of| of == id)).map(|need| &need.any);
        let alternatives = [&job.payload].into_iter().filter(|any| !any.is_empty()).chain(needs);
        alternatives.fold(vec![PayloadPattern::ANY], |all, any| {
            let both = all.iter().flat_map(|one| any.iter().filter_map(|other| one.and(other)));
            both.take(MOST_PATTERNS).collect()
        })
    }
}

fn frame(format: FrameFormat, id: RawId, len: u8, pattern: &PayloadPattern, rest: u8) -> Option<Frame> {
    let payload: Vec<u8> = pattern.mask.iter().zip(&pattern.value).map(|(mask, value)| value | rest & !mask).collect();
    let payload = payload.get(..usize::from(len))?;
    match format {
        FrameFormat::Classic => Frame::classic(id, payload).ok(),
        FrameFormat::Fd => Frame::fd(id, 0, payload).ok(),
    }
}

/// All 11-bit identifiers of data frames that a filter matches; of 29-bit ones the lowest, the highest and two others.
fn identifiers(filter: Filter) -> Vec<RawId> {
    let normal = filter.normalise();
    let mut found: Vec<RawId> = (0..=CAN_SFF_MASK).map(RawId).filter(|id| normal.matches(*id)).collect();
    let free = CAN_EFF_MASK & !normal.mask;
    let least = 1_u32.checked_shl(free.trailing_zeros()).unwrap_or(0);
    let extended = [0, least, free & !least, free].map(|bits| RawId(normal.id & CAN_EFF_MASK | bits | CAN_EFF_FLAG));
    let inverted = [0, CAN_EFF_MASK].map(|bits| RawId(bits | CAN_EFF_FLAG));
    found.extend(extended.into_iter().chain(inverted).filter(|id| normal.matches(*id)));
    found
}

/// Bytes of a payload in which frames are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// One or two; the high byte first.
    at: Vec<usize>,
}

impl Numbering {
    /// Finds bytes that pass unchanged with every value, in all of these frames.
    pub fn of(forwarder: &Forwarder<'_>, frames: &[Frame]) -> Option<Self> {
        let passes = |numbering: &Self, number: u32| {
            frames.iter().all(|frame| {
                let leaves = forwarder.forward(&numbering.number(frame, number));
                leaves.is_some_and(|leaves| numbering.read(&leaves) == Some(number))
            })
        };
        let shortest = frames.iter().map(|frame| frame.payload().len()).min()?;
        let is_free = |at: &usize| (0..=0xFF).all(|number| passes(&Self { at: vec![*at] }, number));
        let free: Vec<usize> = (0..shortest).filter(is_free).take(2).collect();
        let both = Self { at: free };
        // A prime, so that all values of both bytes are met together with others.
        let pass_together = || (0..both.room()).step_by(127).all(|number| passes(&both, number));
        match both.at[..] {
            [] => None,
            [_, _] if !pass_together() => Some(Self { at: both.at[..1].to_vec() }),
            _ => Some(both),
        }
    }

    /// The numbers 0 to this one, without it, are different.
    pub fn room(&self) -> u32 {
        self.at.iter().fold(1, |room, _| room << 8)
    }

    pub fn number(&self, frame: &Frame, number: u32) -> Frame {
        let mut frame = *frame;
        for (at, byte) in self.at.iter().rev().zip(number.to_le_bytes()) {
            frame.data[*at] = byte;
        }
        frame
    }

    /// `None` if the frame is too short.
    pub fn read(&self, frame: &Frame) -> Option<u32> {
        let byte = |at: &usize| frame.payload().get(*at).copied();
        self.at.iter().try_fold(0, |number, at| Some(number << 8 | u32::from(byte(at)?)))
    }
}

#[cfg(test)]
mod tests;
