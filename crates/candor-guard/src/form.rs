//! What a frame must look like.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;

use candor_core::frame::{FrameFormat, RawId};
use candor_core::job::{Compute, Seen};
use candor_core::payload::PayloadPattern;
use candor_core::rule::Verdict;

use crate::rule::{OnViolation, Rule};
use crate::tally::Tally;

/// Requirements on the payload. Remote frames have none and meet all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The payload has one of these lengths in bytes; any, if there is none.
    pub lengths: Vec<u8>,
    /// Each of these holds.
    pub needs: Vec<Need>,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What frames violate that do not meet it.
    pub rule: Rule,
    /// For frames of this identifier only.
    pub id: Option<RawId>,
    /// A payload has one of these.
    pub any: Vec<PayloadPattern>,
}

/// Refuses frames of another shape.
#[derive(Debug)]
pub struct Form {
    shape: Shape,
    on_violation: OnViolation,
    /// A bit for each length below 64.
    lengths: u64,
    allows_64: bool,
    needs: Box<[Compiled]>,
    tally: Tally,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    id: Option<RawId>,
    any: Box<[Pattern]>,
}

/// Compared as one number if the payload has 8 bytes, as most have.
#[derive(Debug)]
struct Pattern {
    mask: u64,
    value: u64,
    /// All bytes that are compared.
    whole: PayloadPattern,
    bytes: usize,
}

impl Pattern {
    #[inline]
    fn matches(&self, payload: &[u8]) -> bool {
        match <&[u8; 8]>::try_from(payload) {
            Ok(eight) if self.bytes <= 8 => u64::from_ne_bytes(*eight) & self.mask == self.value,
            _ => self.matches_long(payload),
        }
    }

    #[inline(never)]
    fn matches_long(&self, payload: &[u8]) -> bool {
        let bits = self.whole.mask.iter().zip(&self.whole.value);
        payload.len() >= self.bytes && payload.iter().zip(bits).all(|(byte, (mask, value))| byte & mask == *value)
    }
}

impl Form {
    /// Compiles the requirements.
    #[must_use]
    pub fn new(shape: Shape, on_violation: OnViolation) -> Self {
        let lengths = shape.lengths.iter().filter(|len| **len < 64).fold(0, |bits, len| bits | 1 << len);
        let is_any = shape.lengths.is_empty();
        let allows_64 = is_any || shape.lengths.contains(&64);
        let pattern = |whole: &PayloadPattern| {
            let first = |bytes: &[u8]| bytes.first_chunk().map_or(0, |first| u64::from_ne_bytes(*first));
            Pattern { mask: first(&whole.mask), value: first(&whole.value), whole: *whole, bytes: whole.bytes() }
        };
        let compiled =
            |need: &Need| Compiled { rule: need.rule, id: need.id, any: need.any.iter().map(pattern).collect() };
        let needs = shape.needs.iter().map(compiled).collect();
        let lengths = if is_any { u64::MAX } else { lengths };
        Self { shape, on_violation, lengths, allows_64, needs, tally: Tally::default() }
    }

    /// The requirements.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its violations.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    #[inline]
    fn has_length(&self, len: usize) -> bool {
        if len < 64 { self.lengths >> len & 1 != 0 } else { len == 64 && self.allows_64 }
    }

    // Separate, so that the length alone needs no registers of it.
    #[inline(never)]
    fn unmet(&self, id: RawId, payload: &[u8]) -> Option<Rule> {
        let is_met = |need: &Compiled| {
            need.id.is_some_and(|of| of != id) || need.any.iter().any(|pattern| pattern.matches(payload))
        };
        self.needs.iter().find(|need| !is_met(need)).map(|need| need.rule)
    }

    #[inline]
    fn broken(&self, id: RawId, payload: &[u8]) -> Option<Rule> {
        if !self.has_length(payload.len()) {
            return Some(Rule::Length);
        }
        if self.needs.is_empty() { None } else { self.unmet(id, payload) }
    }

    #[inline(always)]
    fn judge_of(&self, format: FrameFormat, seen: Seen, payload: &[u8]) -> Verdict {
        if !seen.id.carries_data() {
            return Verdict::Send;
        }
        match self.broken(seen.id, payload) {
            None => Verdict::Send,
            Some(rule) => self.tally.violated(rule, format, seen, payload, self.on_violation),
        }
    }
}

impl Compute for Form {
    fn change(&self, seen: Seen, payload: &mut [u8]) -> Verdict {
        self.judge(seen, payload)
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.judge_of(FrameFormat::Classic, seen, payload)
    }

    fn judge_fd(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.judge_of(FrameFormat::Fd, seen, payload)
    }

    fn fault(&self, id: RawId, payload: &[u8]) -> Option<&'static str> {
        if id.carries_data() { self.broken(id, payload).map(Rule::name) } else { None }
    }

    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| (&self.shape, self.on_violation) == (&other.shape, other.on_violation);
        other.downcast_ref().is_some_and(same)
    }
}
