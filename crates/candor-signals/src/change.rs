//! Changes of signals in frames that are forwarded.

use std::any::Any;

use candor_core::frame::{CAN_EFF_FLAG, CANFD_MAX_DLEN, RawId};
use candor_core::job::{Compute, Computed, Seen};
use candor_core::payload::PayloadPattern;
use candor_core::rule::Verdict;

use crate::codec::Codec;
use crate::condition::pattern;
use crate::database::{Message, Signal};
use crate::expression::pieces::{Line, NotLines, Pieces};
use crate::expression::{ExpressionError, Node, Scope, parse};
use crate::ratio::{Ratio, divide_rounded};
use crate::scale::Physical;

/// What a signal becomes in the frames of its message, compiled once.
///
/// An expression of the signal alone is computed with whole numbers of 128 bits and rounded once, to the nearest raw value, halves
/// to the even one; a result beyond the bits is saturated. One with other signals, or with products of the signal, is computed with
/// exact fractions; if it divides by 0, or if a step needs more than 128 bits, the signal stays as it is. For floating-point signals
/// every step is rounded to 64 bits; a finite signal does not become infinite or NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    codec: Codec,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    /// These bits, and where they are unless the signal is multiplexed.
    Constant(u64, Option<Box<PayloadPattern>>),
    /// Up to a raw value, by this line; the last one is for all others.
    Lines(Box<[(i128, WholeLine)]>),
    /// With exact fractions.
    Exact(Box<Node>, Box<[Codec]>),
    /// With floating-point numbers of 64 bits.
    Float(Box<Node>, Box<[Codec]>),
}

/// new raw value = (raw × slope + base) ÷ divisor, which is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WholeLine {
    slope: i128,
    base: i128,
    divisor: i128,
}

impl WholeLine {
    /// A line of physical values as one of raw values. `None` if it does not fit.
    fn new(line: Line, signal: &Signal, ends: [i128; 2]) -> Option<Self> {
        let slope = line.slope.checked_div(signal.factor)?;
        let base = line.base.checked_sub(signal.offset)?.checked_div(signal.factor)?;
        let [slope, base, divisor] = slope.over_one_denominator(base)?;
        let whole = Self { slope, base, divisor };
        // Rounding adds less than a divisor.
        let fits =
            |raw: i128| raw.checked_mul(whole.slope)?.checked_add(whole.base)?.checked_abs()?.checked_add(divisor);
        ends.into_iter().all(|raw| fits(raw).is_some()).then_some(whole)
    }

    #[inline]
    fn at(self, raw: i128) -> i128 {
        divide_rounded(raw * self.slope + self.base, self.divisor)
    }
}

impl Change {
    /// Compiles an expression for a signal of a message that can be used.
    ///
    /// # Errors
    /// What is wrong with the expression, and where.
    pub fn new(message: &Message, signal: &Signal, text: &str) -> Result<Self, ExpressionError> {
        let whole =
            |message: String, help: &str| ExpressionError { range: 0..text.len(), message, help: help.to_owned() };
        let codec = Codec::new(message, signal).ok_or_else(|| {
            whole(format!("Signal {} cannot be used", signal.name), "`candor-lab database FILE` says why")
        })?;
        if signal.factor.is_zero() {
            return Err(whole(format!("The factor of {} is 0", signal.name), "correct the database"));
        }
        let mut scope = Scope { message, signal, others: Vec::new() };
        let node = parse(text, &mut scope)?;
        let Scope { others, .. } = scope;
        let others = others.iter().filter_map(|other| Codec::new(message, other)).collect();
        let Some(range) = signal.raw_range() else {
            return Ok(Self { codec, rule: Rule::Float(Box::new(node), others) });
        };
        let itself = Line { slope: signal.factor, base: signal.offset };
        let pieces = if node.reads_only_itself() { Pieces::of(&node, itself, range) } else { Err(NotLines::Curved) };
        let rule = match pieces {
            Ok(pieces) => lines(&pieces, &codec, signal, range.0),
            Err(NotLines::Curved | NotLines::TooLarge) => None,
            Err(NotLines::TooMany) => {
                return Err(whole("The expression has too many corners".to_owned(), "use fewer points"));
            }
        };
        Ok(Self { codec, rule: rule.unwrap_or_else(|| Rule::Exact(Box::new(node), others)) })
    }

    /// The signal.
    #[must_use]
    pub const fn codec(&self) -> &Codec {
        &self.codec
    }

    /// The bits that every frame of the message gets, if they are always the same: those that the frame has, if it is too short for
    /// the whole signal.
    #[must_use]
    pub fn constant(&self) -> Option<&PayloadPattern> {
        match &self.rule {
            Rule::Constant(_, pattern) => pattern.as_deref(),
            _ => None,
        }
    }

    /// The new bits of the signal in a frame with this payload. `None` if the frame does not have it, or if it stays as it is.
    #[inline]
    #[must_use]
    pub fn bits(&self, payload: &[u8]) -> Option<u64> {
        let bits = self.codec.get(payload)?;
        let scale = self.codec.scale();
        match &self.rule {
            Rule::Constant(bits, _) => Some(*bits),
            Rule::Lines(lines) => {
                let raw = scale.raw(bits);
                let at = if lines.len() == 1 { 0 } else { lines.partition_point(|(last, _)| *last < raw) };
                lines.get(at).map(|(_, line)| scale.saturate(line.at(raw)).bits)
            }
            Rule::Exact(node, others) => {
                let value = |codec: &Codec| match codec.physical(payload)? {
                    Physical::Exact(ratio) => Some(ratio),
                    Physical::Float(value) => Ratio::from_f64(value),
                };
                if others.iter().any(|other| value(other).is_none()) {
                    return None;
                }
                let input = |number: usize| {
                    let codec = number.checked_sub(1).and_then(|at| others.get(at)).unwrap_or(&self.codec);
                    value(codec).unwrap_or(Ratio::ZERO)
                };
                let result = node.exact(&input)?;
                self.codec.encode(Physical::Exact(result)).ok().map(|encoded| encoded.bits)
            }
            Rule::Float(node, others) => {
                if others.iter().any(|other| !other.is_present(payload)) {
                    return None;
                }
                let input = |number: usize| {
                    let codec = number.checked_sub(1).and_then(|at| others.get(at)).unwrap_or(&self.codec);
                    codec.get(payload).map_or(0.0, |bits| codec.scale().physical_f64(bits))
                };
                let result = node.float(&input);
                if !result.is_finite() && input(0).is_finite() {
                    return None;
                }
                self.codec.encode(Physical::Float(result)).ok().map(|encoded| encoded.bits)
            }
        }
    }
}

/// `None` if the numbers do not fit.
fn lines(pieces: &Pieces, codec: &Codec, signal: &Signal, first: i128) -> Option<Rule> {
    if let [only] = pieces.list()
        && only.line.slope.is_zero()
    {
        let bits = codec.encode(Physical::Exact(only.line.base)).ok()?.bits;
        let pattern = signal.present.is_none().then(|| Box::new(pattern(signal, bits.into(), 0)));
        return Some(Rule::Constant(bits, pattern));
    }
    let mut next = first;
    let mut lines = Vec::with_capacity(pieces.list().len());
    for piece in pieces.list() {
        lines.push((piece.last, WholeLine::new(piece.line, signal, [next, piece.last])?));
        next = piece.last + 1;
    }
    Some(Rule::Lines(lines.into()))
}

/// The changes of a route: those of all its messages.
#[derive(Debug, PartialEq)]
pub struct Changes {
    messages: Box<[OfMessage]>,
}

#[derive(Debug, PartialEq)]
struct OfMessage {
    /// Identifier and `CAN_EFF_FLAG`.
    id: u32,
    changes: Box<[Change]>,
}

impl Changes {
    /// The changes of each message, as a job has them. Signals of one message are computed from the received frame, so their order
    /// does not matter; none may be written twice.
    #[must_use]
    pub fn computed(messages: Vec<(RawId, Vec<Change>)>) -> Computed {
        let of_message = |(id, changes): (RawId, Vec<Change>)| OfMessage { id: key(id), changes: changes.into() };
        let messages = messages.into_iter().map(of_message).collect();
        Computed::new(Self { messages })
    }
}

const fn key(id: RawId) -> u32 {
    id.bits() | id.0 & CAN_EFF_FLAG
}

impl Compute for Changes {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn change(&self, Seen { id, .. }: Seen, payload: &mut [u8]) -> Verdict {
        if !id.carries_data() {
            return Verdict::Send;
        }
        let id = key(id);
        let Some(of_message) = self.messages.iter().find(|message| message.id == id) else { return Verdict::Send };
        match &*of_message.changes {
            [Change { codec, rule: Rule::Lines(lines) }] if lines.len() == 1 => line(codec, lines[0].1, payload),
            changes => {
                let mut copy = [0; CANFD_MAX_DLEN];
                let Some(received) = copy.get_mut(..payload.len()) else { return Verdict::Delete };
                received.copy_from_slice(payload);
                for change in changes {
                    apply(change, received, payload);
                }
            }
        }
        Verdict::Send
    }
}

/// The usual change, without a copy of the frame.
#[inline]
fn line(codec: &Codec, line: WholeLine, payload: &mut [u8]) {
    if let Some(bits) = codec.get(payload) {
        let raw = line.at(codec.scale().raw(bits));
        // A field that could be read can be written.
        let _ = codec.field().set(payload, codec.scale().saturate(raw).bits);
    }
}

fn apply(change: &Change, received: &[u8], payload: &mut [u8]) {
    if let Some(pattern) = change.constant() {
        for (byte, (mask, value)) in payload.iter_mut().zip(pattern.mask.iter().zip(&pattern.value)) {
            *byte = *byte & !mask | value;
        }
    } else if let Some(bits) = change.bits(received) {
        let _ = change.codec.field().set(payload, bits);
    }
}

#[cfg(test)]
mod tests;
