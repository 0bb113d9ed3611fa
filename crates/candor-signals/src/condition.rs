//! Conditions on signals as patterns of bits, which every engine that matches payloads compares.

use candor_core::payload::PayloadPattern;

use crate::check::switches;
use crate::database::{Kind, Message, Signal};
use crate::expression::{ExpressionError, constant};
use crate::id::MessageId;
use crate::ratio::{Ratio, floor};

/// Patterns of one condition. Each frame is compared with one after another.
pub const MOST_PATTERNS: usize = 256;

/// Frames of one message whose signals meet some conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The message.
    pub id: MessageId,
    /// A frame has one of these; never empty.
    pub patterns: Vec<PayloadPattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    NotEqual,
}

/// The longer ones first, because others are the start of them.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// Looks up `Message.Signal`.
type Find<'f, 'd> = dyn Fn(&str) -> Result<(&'d Message, &'d Signal), String> + 'f;

impl Condition {
    /// True if a text is a condition rather than the name of a message.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.contains(['<', '>', '='])
    }

    /// Reads `ABS1.VehSpd > 50 && ABS1.Gear == DRIVE`: comparisons of signals of one message with constants. `find` looks up
    /// `Message.Signal`.
    ///
    /// Physical values are compared exactly. A multiplexed signal meets no condition in frames that do not have it. Only bytes
    /// that decide are compared, and a frame must have those, so one that ends within a signal may meet a condition or not.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse<'d>(
        text: &str,
        find: impl Fn(&str) -> Result<(&'d Message, &'d Signal), String>,
    ) -> Result<Self, ExpressionError> {
        Self::parse_with(text, &find)
    }

    /// A program has this once, whatever looks up names.
    fn parse_with<'d>(text: &str, find: &Find<'_, 'd>) -> Result<Self, ExpressionError> {
        let mut of: Option<&Message> = None;
        let mut patterns = vec![PayloadPattern::ANY];
        let mut at = 0;
        for part in text.split("&&") {
            let range = at..at + part.len();
            at = range.end + 2;
            let error =
                |message: String, help: &str| ExpressionError { range: range.clone(), message, help: help.to_owned() };
            let first = COMPARISONS.iter().filter_map(|(sign, comparison)| Some((part.find(sign)?, sign, *comparison)));
            let Some((sign_at, sign, comparison)) = first.min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()))
            else {
                let help = "write a comparison, such as ABS1.VehSpd > 50; join several with &&";
                return Err(error("There is no comparison here".to_owned(), help));
            };
            let name = part[..sign_at].trim();
            let (message, signal) =
                find(name).map_err(|why| error(why, "`candor-lab database FILE` shows the names"))?;
            if of.is_some_and(|other| other.id != message.id) {
                let help = "a frame has the signals of one message: write a second route for the other one";
                return Err(error(format!("{} is another message", message.name), help));
            }
            of = Some(message);
            let value_at = range.start + sign_at + sign.len();
            let value = constant(&part[sign_at + sign.len()..], message, signal).map_err(|wrong| ExpressionError {
                range: value_at + wrong.range.start..value_at + wrong.range.end,
                ..wrong
            })?;
            if signal.factor.is_zero() {
                return Err(error(format!("The factor of {name} is 0"), "correct the database"));
            }
            let Some(ends) = signal.raw_range() else {
                return Err(error(
                    format!("{name} is a floating-point number"),
                    "match whole-number signals, or the message alone",
                ));
            };
            let ranges = raw_ranges(signal, comparison, value, ends).ok_or_else(|| {
                error(format!("{name} cannot be compared with {value} exactly"), "use a number with fewer digits")
            })?;
            if ranges.is_empty() {
                return Err(error(format!("No value of {name} meets this"), near(signal, value)));
            }
            if ranges == [ends] {
                return Err(error(format!("Every value of {name} meets this"), "remove the comparison"));
            }
            patterns = both(&patterns, &of_ranges(signal, &ranges));
            let position = message.signals.iter().position(|one| std::ptr::eq(one, signal));
            let selecting = position.into_iter().flat_map(|at| switches(message, at)).map(|at| &message.signals[at]);
            for one in std::iter::once(signal).chain(selecting) {
                if let Some(presence) = &one.present
                    && let Some(switch) = message.signals.get(presence.switch)
                {
                    let ranges: Vec<_> = presence.ranges.iter().map(|&(from, to)| (from.into(), to.into())).collect();
                    patterns = both(&patterns, &of_ranges(switch, &ranges));
                }
            }
            if patterns.is_empty() {
                return Err(error("No frame meets all of these conditions".to_owned(), "change or remove one of them"));
            }
            if patterns.len() > MOST_PATTERNS {
                let help = "compare with a value near a power of 2, or with fewer signals";
                return Err(error(format!("This needs more than {MOST_PATTERNS} patterns of bits"), help));
            }
        }
        let Some(id) = of.and_then(|message| message.id) else {
            return Err(ExpressionError {
                range: 0..text.len(),
                message: "The message has no identifier that a frame can have".to_owned(),
                help: "correct the database".to_owned(),
            });
        };
        Ok(Self { id, patterns })
    }
}

fn near(signal: &Signal, value: Ratio) -> &'static str {
    let is_between = value.checked_sub(signal.offset).and_then(|value| value.checked_div(signal.factor));
    match is_between {
        Some(raw) if raw.denominator() != 1 => "the value is between two steps of the signal: use < or > instead",
        _ => "the value is beyond the bits of the signal",
    }
}

/// Raw values that meet a comparison, in ascending order. `None` if numbers do not fit.
pub(crate) fn raw_ranges(
    signal: &Signal,
    comparison: Comparison,
    value: Ratio,
    (first, last): (i128, i128),
) -> Option<Vec<(i128, i128)>> {
    let raw = value.checked_sub(signal.offset)?.checked_div(signal.factor)?;
    let (below, is_whole) = (floor(raw), raw.denominator() == 1);
    let is_falling = signal.factor.compare(Ratio::ZERO).is_lt();
    let less = (first, if is_whole { below - 1 } else { below });
    let greater = (below + 1, last);
    let equal = if is_whole { (below, below) } else { (1, 0) };
    let (less, greater) = if is_falling { (greater, less) } else { (less, greater) };
    let join = |one: (i128, i128)| if is_whole { (one.0.min(below), one.1.max(below)) } else { one };
    let wanted = match comparison {
        Comparison::Equal => vec![equal],
        Comparison::Greater => vec![greater],
        Comparison::GreaterOrEqual => vec![join(greater)],
        Comparison::Less => vec![less],
        Comparison::LessOrEqual => vec![join(less)],
        Comparison::NotEqual if is_whole => vec![less.min(greater), less.max(greater)],
        Comparison::NotEqual => vec![(first, last)],
    };
    let inside = wanted.into_iter().map(|(from, to)| (from.max(first), to.min(last)));
    Some(inside.filter(|(from, to)| from <= to).collect())
}

/// Patterns that together match the values of these ranges.
fn of_ranges(signal: &Signal, ranges: &[(i128, i128)]) -> Vec<PayloadPattern> {
    let size = 1_i128 << signal.bits;
    let mut patterns = Vec::new();
    for &(from, to) in ranges {
        // Negative values are above the positive ones.
        let parts = if signal.kind == Kind::Signed && from < 0 {
            let negative = Some((from + size, to.min(-1) + size));
            [negative, (to >= 0).then_some((0, to))]
        } else {
            [Some((from, to)), None]
        };
        for (mut from, to) in parts.into_iter().flatten() {
            while from <= to {
                // The largest block that starts here and does not pass the end.
                let mut free = 0;
                while free < signal.bits && from & ((2 << free) - 1) == 0 && from + (2 << free) - 1 <= to {
                    free += 1;
                }
                patterns.push(pattern(signal, from, free));
                from += 1 << free;
            }
        }
    }
    patterns
}

/// A pattern that compares all bits of the value but the lowest ones.
pub(crate) fn pattern(signal: &Signal, value: i128, free: u16) -> PayloadPattern {
    let mut pattern = PayloadPattern::ANY;
    for (bit, position) in (0..signal.bits).rev().zip(signal.positions()) {
        let byte = usize::try_from(position / 8).unwrap_or(usize::MAX);
        if bit >= free
            && let (Some(mask), Some(wanted)) = (pattern.mask.get_mut(byte), pattern.value.get_mut(byte))
        {
            *mask |= 1 << (position % 8);
            *wanted |= u8::from(value >> bit & 1 == 1) << (position % 8);
        }
    }
    pattern
}

/// Payloads that match a pattern of each.
fn both(ones: &[PayloadPattern], others: &[PayloadPattern]) -> Vec<PayloadPattern> {
    let pairs = ones.iter().flat_map(|one| others.iter().filter_map(|other| one.and(other)));
    pairs.take(MOST_PATTERNS + 1).collect()
}

#[cfg(test)]
mod tests;
