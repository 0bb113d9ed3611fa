//! Expressions over the signals of one frame: what a signal becomes.
//!
//! ```text
//!  sum     = product { ("+" | "-") product }
//!  product = factor { ("*" | "/") factor }
//!  factor  = "-" factor | "(" sum ")" | number [ "[" unit "]" ] | x | name | 'name of a value' | call
//!  call    = ("min" | "max") "(" sum { "," sum } ")" | "abs" "(" sum ")" | "clamp" "(" sum "," sum "," sum ")"
//!          | "table" "(" sum { "," number ":" number } ")"
//!          | "map" "(" sum { "," key ":" sum } [ "," "other" ":" sum ] ")"
//! ```
//!
//! `x` is the physical value of the signal that is changed, and a name is another signal of its message, or a named value. There
//! are no loops and no state.

mod parse;
pub(crate) mod pieces;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use crate::database::{Message, Signal};
use crate::ratio::Ratio;

pub(crate) use parse::{Scope, parse};

/// What an expression reads: the signal itself is 0, others follow in the order of their first use.
pub(crate) type Input = usize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Number(Ratio),
    Input(Input),
    Negative(Box<Self>),
    Two(Operator, Box<Self>, Box<Self>),
    /// Straight lines between points in ascending order, and constant beyond them.
    Table(Box<Self>, Vec<(Ratio, Ratio)>),
    /// The value of the first equal key; otherwise that of the last node, or the value itself.
    Map(Box<Self>, Vec<(Ratio, Self)>, Option<Box<Self>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Divide,
    Max,
    Min,
    Multiply,
    Subtract,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// The bytes of the text.
    pub range: Range<usize>,
    /// What is wrong there.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// The physical value that a text gives: a number, one with the unit of the signal, the name of a value, or an expression of these.
///
/// # Errors
/// What is wrong, and where.
pub fn constant(text: &str, message: &Message, signal: &Signal) -> Result<Ratio, ExpressionError> {
    let mut scope = Scope { message, signal, others: Vec::new() };
    match parse(text, &mut scope)? {
        Node::Number(number) => Ok(number),
        _ => Err(whole(text, "This is no constant", "write a number or the name of a value")),
    }
}

/// An error about a whole text.
pub(crate) fn whole(text: &str, message: &str, help: &str) -> ExpressionError {
    ExpressionError { range: 0..text.len(), message: message.to_owned(), help: help.to_owned() }
}

impl Node {
    /// The exact value. `None` for a division by 0, or if a step needs more than 128 bits.
    pub(crate) fn exact(&self, inputs: &impl Fn(Input) -> Ratio) -> Option<Ratio> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Input(input) => Some(inputs(*input)),
            Self::Negative(node) => Ratio::ZERO.checked_sub(node.exact(inputs)?),
            Self::Two(operator, left, right) => operator.exact(left.exact(inputs)?, right.exact(inputs)?),
            Self::Table(node, points) => {
                let value = node.exact(inputs)?;
                let after = points.partition_point(|(from, _)| from.compare(value).is_lt());
                let Some((end, last)) = points.get(after) else { return points.last().map(|(_, to)| *to) };
                let Some((start, first)) = after.checked_sub(1).and_then(|before| points.get(before)) else {
                    return Some(*last);
                };
                let share = value.checked_sub(*start)?.checked_div(end.checked_sub(*start)?)?;
                first.checked_add(last.checked_sub(*first)?.checked_mul(share)?)
            }
            Self::Map(node, pairs, other) => {
                let value = node.exact(inputs)?;
                match pairs.iter().find(|(key, _)| *key == value) {
                    Some((_, node)) => node.exact(inputs),
                    None => other.as_ref().map_or(Some(value), |other| other.exact(inputs)),
                }
            }
        }
    }

    /// The value in floating-point numbers of 64 bits, each step rounded.
    pub(crate) fn float(&self, inputs: &impl Fn(Input) -> f64) -> f64 {
        match self {
            Self::Number(number) => number.to_f64(),
            Self::Input(input) => inputs(*input),
            Self::Negative(node) => -node.float(inputs),
            Self::Two(operator, left, right) => operator.float(left.float(inputs), right.float(inputs)),
            Self::Table(node, points) => {
                let value = node.float(inputs);
                if value.is_nan() {
                    return value;
                }
                let after = points.partition_point(|(from, _)| from.to_f64() < value);
                let [before, after] = [after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)];
                match (before, after) {
                    (Some((start, first)), Some((end, last))) => {
                        let share = (value - start.to_f64()) / (end.to_f64() - start.to_f64());
                        first.to_f64() + (last.to_f64() - first.to_f64()) * share
                    }
                    (Some((_, only)), None) | (None, Some((_, only))) => only.to_f64(),
                    (None, None) => value,
                }
            }
            Self::Map(node, pairs, other) => {
                let value = node.float(inputs);
                match pairs.iter().find(|(key, _)| key.to_f64().total_cmp(&value) == Ordering::Equal) {
                    Some((_, node)) => node.float(inputs),
                    None => other.as_ref().map_or(value, |other| other.float(inputs)),
                }
            }
        }
    }

    /// True if it reads only the signal itself, or nothing.
    pub(crate) fn reads_only_itself(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Input(input) => *input == 0,
            Self::Negative(node) | Self::Table(node, _) => node.reads_only_itself(),
            Self::Two(_, left, right) => left.reads_only_itself() && right.reads_only_itself(),
            Self::Map(node, pairs, other) => {
                node.reads_only_itself()
                    && pairs.iter().all(|(_, node)| node.reads_only_itself())
                    && other.as_ref().is_none_or(|other| other.reads_only_itself())
            }
        }
    }
}

impl Operator {
    fn exact(self, left: Ratio, right: Ratio) -> Option<Ratio> {
        match self {
            Self::Add => left.checked_add(right),
            Self::Divide => left.checked_div(right),
            Self::Max => Some(if left.compare(right).is_lt() { right } else { left }),
            Self::Min => Some(if right.compare(left).is_lt() { right } else { left }),
            Self::Multiply => left.checked_mul(right),
            Self::Subtract => left.checked_sub(right),
        }
    }

    fn float(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Divide => left / right,
            Self::Max => left.max(right),
            Self::Min => left.min(right),
            Self::Multiply => left * right,
            Self::Subtract => left - right,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Divide => "/",
            Self::Max => "max",
            Self::Min => "min",
            Self::Multiply => "*",
            Self::Subtract => "-",
        })
    }
}
