//! Expressions of one whole-number signal as straight lines over its raw values, exactly.

use super::{Node, Operator};
use crate::ratio::{Ratio, floor};

/// Lines of one signal: a table of a few hundred points.
const MOST_PIECES: usize = 1024;

/// value = raw × slope + base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) slope: Ratio,
    pub(crate) base: Ratio,
}

/// A line up to a raw value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The largest raw value; the first one is above that of the piece before.
    pub(crate) last: i128,
    pub(crate) line: Line,
}

/// Lines over all raw values, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    first: i128,
    list: Vec<Piece>,
}

/// Why an expression is not made of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotLines {
    /// A product or quotient of values that both change.
    Curved,
    /// More than [`MOST_PIECES`].
    TooMany,
    /// A number needs more than 128 bits.
    TooLarge,
}

impl Line {
    pub(crate) const fn constant(base: Ratio) -> Self {
        Self { slope: Ratio::ZERO, base }
    }

    /// The number at which it has this value. `None` if it is constant, or if the number does not fit.
    fn where_it_is(self, value: Ratio) -> Option<Ratio> {
        value.checked_sub(self.base)?.checked_div(self.slope)
    }
}

impl Pieces {
    fn new(first: i128) -> Self {
        Self { first, list: Vec::new() }
    }

    pub(crate) fn list(&self) -> &[Piece] {
        &self.list
    }

    fn next(&self) -> i128 {
        self.list.last().map_or(self.first, |piece| piece.last + 1)
    }

    /// Continues up to a raw value, if it is not yet there.
    fn push(&mut self, last: i128, line: Line) -> Result<(), NotLines> {
        if last < self.next() {
            return Ok(());
        }
        match self.list.last_mut() {
            Some(piece) if piece.line == line => piece.last = last,
            _ => self.list.push(Piece { last, line }),
        }
        if self.list.len() > MOST_PIECES { Err(NotLines::TooMany) } else { Ok(()) }
    }

    /// Continues up to a raw value with what another has there.
    fn push_from(&mut self, last: i128, other: &Self) -> Result<(), NotLines> {
        let next = self.next();
        let after = other.list.partition_point(|piece| piece.last < next);
        for piece in &other.list[after..] {
            self.push(piece.last.min(last), piece.line)?;
            if piece.last >= last {
                break;
            }
        }
        Ok(())
    }

    /// An expression of a signal with these raw values.
    pub(crate) fn of(node: &Node, signal: Line, (first, last): (i128, i128)) -> Result<Self, NotLines> {
        let of = |node: &Node| Self::of(node, signal, (first, last));
        let one = |line| {
            let mut pieces = Self::new(first);
            pieces.push(last, line).map(|()| pieces)
        };
        match node {
            Node::Number(number) => one(Line::constant(*number)),
            Node::Input(_) => one(signal),
            Node::Negative(node) => of(&Node::Number(Ratio::ZERO))?.with(&of(node)?, Operator::Subtract),
            Node::Two(operator, left, right) => of(left)?.with(&of(right)?, *operator),
            Node::Table(node, points) => of(node)?.through(points),
            Node::Map(node, pairs, other) => {
                let value = of(node)?;
                let other = other.as_ref().map_or_else(|| Ok(value.clone()), |other| of(other))?;
                let pairs: Result<Vec<_>, _> = pairs.iter().map(|(key, node)| Ok((*key, of(node)?))).collect();
                value.mapped(&pairs?, &other)
            }
        }
    }

    fn with(&self, other: &Self, operator: Operator) -> Result<Self, NotLines> {
        let mut result = Self::new(self.first);
        let mut others = other.list.iter().peekable();
        for piece in &self.list {
            while let Some(right) = others.peek() {
                let (last, left, right_line) = (piece.last.min(right.last), piece.line, right.line);
                result.push_two(last, left, right_line, operator)?;
                if right.last > piece.last {
                    break;
                }
                others.next();
            }
        }
        Ok(result)
    }

    fn push_two(&mut self, last: i128, left: Line, right: Line, operator: Operator) -> Result<(), NotLines> {
        let large = NotLines::TooLarge;
        let line = |slope: Option<Ratio>, base: Option<Ratio>| -> Result<Line, NotLines> {
            Ok(Line { slope: slope.ok_or(large)?, base: base.ok_or(large)? })
        };
        let scaled = |line_: Line, by: Ratio| line(line_.slope.checked_mul(by), line_.base.checked_mul(by));
        let result = match operator {
            Operator::Add => line(left.slope.checked_add(right.slope), left.base.checked_add(right.base))?,
            Operator::Subtract => line(left.slope.checked_sub(right.slope), left.base.checked_sub(right.base))?,
            Operator::Multiply if right.slope.is_zero() => scaled(left, right.base)?,
            Operator::Multiply if left.slope.is_zero() => scaled(right, left.base)?,
            Operator::Divide if right.slope.is_zero() && !right.base.is_zero() => {
                scaled(left, Ratio::ONE.checked_div(right.base).ok_or(large)?)?
            }
            Operator::Divide | Operator::Multiply => return Err(NotLines::Curved),
            Operator::Max | Operator::Min => {
                let steeper = left.slope.checked_sub(right.slope).ok_or(large)?;
                let above = right.base.checked_sub(left.base).ok_or(large)?;
                if steeper.is_zero() {
                    let takes_left = (above.compare(Ratio::ZERO).is_ge()) == (operator == Operator::Min);
                    return self.push(last, if takes_left { left } else { right });
                }
                let meeting = floor(above.checked_div(steeper).ok_or(large)?);
                let falls_below = steeper.compare(Ratio::ZERO).is_gt() == (operator == Operator::Min);
                let (before, after) = if falls_below { (left, right) } else { (right, left) };
                self.push(meeting.min(last), before)?;
                after
            }
        };
        self.push(last, result)
    }

    /// Through a table of points.
    fn through(&self, points: &[(Ratio, Ratio)]) -> Result<Self, NotLines> {
        let large = NotLines::TooLarge;
        let (Some(first), Some(end)) = (points.first(), points.last()) else { return Ok(self.clone()) };
        // Lines of the value: below the first point, between two, and above the last one.
        let mut lines = vec![Line::constant(first.1)];
        for pair in points.windows(2) {
            let [(from, start), (to, goal)] = [pair[0], pair[1]];
            let rise = goal.checked_sub(start).ok_or(large)?;
            let slope = rise.checked_div(to.checked_sub(from).ok_or(large)?).ok_or(large)?;
            let base = start.checked_sub(slope.checked_mul(from).ok_or(large)?).ok_or(large)?;
            lines.push(Line { slope, base });
        }
        lines.push(Line::constant(end.1));
        let of_value = |of: Line, value: Line| {
            let slope = of.slope.checked_mul(value.slope)?;
            Some(Line { slope, base: of.slope.checked_mul(value.base)?.checked_add(of.base)? })
        };
        let mut result = Self::new(self.first);
        for piece in &self.list {
            if piece.line.slope.is_zero() {
                let at = points.partition_point(|(from, _)| from.compare(piece.line.base).is_lt());
                result.push(piece.last, of_value(lines[at], piece.line).ok_or(large)?)?;
                continue;
            }
            let is_rising = piece.line.slope.compare(Ratio::ZERO).is_gt();
            let number = |at: usize| if is_rising { at } else { lines.len() - 1 - at };
            for at in 0..lines.len() {
                let line = of_value(lines[number(at)], piece.line).ok_or(large)?;
                let end =
                    if is_rising { points.get(at) } else { points.len().checked_sub(at + 1).map(|at| &points[at]) };
                let last = match end {
                    Some((value, _)) => floor(piece.line.where_it_is(*value).ok_or(large)?).min(piece.last),
                    None => piece.last,
                };
                result.push(last, line)?;
            }
        }
        Ok(result)
    }

    /// Where the value is that of a key, what belongs to it, otherwise another.
    fn mapped(&self, pairs: &[(Ratio, Self)], other: &Self) -> Result<Self, NotLines> {
        let mut result = Self::new(self.first);
        for piece in &self.list {
            if piece.line.slope.is_zero() {
                let found = pairs.iter().find(|(key, _)| *key == piece.line.base);
                result.push_from(piece.last, found.map_or(other, |(_, of_key)| of_key))?;
                continue;
            }
            // The first pair with a key counts.
            let mut single: Vec<(i128, &Self)> = Vec::new();
            for (key, of_key) in pairs {
                let raw = piece.line.where_it_is(*key).ok_or(NotLines::TooLarge)?;
                if raw.denominator() == 1 && single.iter().all(|(known, _)| *known != raw.numerator()) {
                    single.push((raw.numerator(), of_key));
                }
            }
            candor_core::order::sort_by_key(&mut single, |(raw, _)| *raw);
            let next = result.next();
            for (raw, of_key) in single.into_iter().filter(|(raw, _)| (next..=piece.last).contains(raw)) {
                result.push_from(raw - 1, other)?;
                result.push_from(raw, of_key)?;
            }
            result.push_from(piece.last, other)?;
        }
        Ok(result)
    }
}
