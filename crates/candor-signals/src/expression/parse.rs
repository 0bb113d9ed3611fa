//! Text of an expression → [`Node`], with units.

use std::ops::Range;

use super::{ExpressionError, Input, Node, Operator};
use crate::database::{Message, Signal};
use crate::ratio::Ratio;

/// Nested parentheses and calls.
const DEEPEST: usize = 32;

/// Operators and values of one expression, which are nested in each other.
const MOST_PARTS: usize = 256;

/// The names of an expression: a signal and its message.
pub(crate) struct Scope<'d> {
    pub(crate) message: &'d Message,
    pub(crate) signal: &'d Signal,
    /// The other signals that it reads.
    pub(crate) others: Vec<&'d Signal>,
}

/// Reads an expression.
pub(crate) fn parse(text: &str, scope: &mut Scope<'_>) -> Result<Node, ExpressionError> {
    let mut reader = Reader { text, at: 0, depth: 0, parts: 0, scope };
    let Valued { node, unit, range } = reader.sum()?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.here(
            "This is after the end of the expression",
            "write an operator, put names with spaces between two ', or remove it",
        ));
    }
    if let (Some(unit), Some(wanted)) = (unit, unit_of(reader.scope.signal))
        && unit != wanted
    {
        let message = format!("The value is in {unit}, and the signal in {wanted}");
        return Err(error(range, message, "write the unit of the signal, or convert with a factor"));
    }
    Ok(node)
}

/// The unit of a signal, if the database has one.
fn unit_of(signal: &Signal) -> Option<String> {
    Some(signal.unit.clone()).filter(|unit| !unit.is_empty())
}

fn error(range: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> ExpressionError {
    // Names and units are those of the text.
    let message = message.into().replace(char::is_control, "?");
    ExpressionError { range, message, help: help.into() }
}

/// A part of an expression, and its unit if it is known.
struct Valued {
    node: Node,
    unit: Option<String>,
    range: Range<usize>,
}

struct Reader<'t, 's, 'd> {
    text: &'t str,
    at: usize,
    depth: usize,
    parts: usize,
    scope: &'s mut Scope<'d>,
}

impl<'t> Reader<'t, '_, '_> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.space();
        let is_there = self.rest().starts_with(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    /// An error at the next character.
    fn here(&self, message: impl Into<String>, help: impl Into<String>) -> ExpressionError {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        error(self.at..self.at + len, message, help)
    }

    fn expect(&mut self, wanted: char) -> Result<(), ExpressionError> {
        if self.eat(wanted) {
            return Ok(());
        }
        Err(self.here(format!("{wanted:?} is missing here"), "write it, or see the page about signals"))
    }

    fn sum(&mut self) -> Result<Valued, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.here("Parentheses are nested too deeply", format!("use up to {DEEPEST} levels")));
        }
        let mut left = self.product()?;
        loop {
            let operator = if self.eat('+') {
                Operator::Add
            } else if self.eat('-') {
                Operator::Subtract
            } else {
                self.depth -= 1;
                return Ok(left);
            };
            let right = self.product()?;
            left = alike(operator, left, right)?;
        }
    }

    fn product(&mut self) -> Result<Valued, ExpressionError> {
        let mut left = self.factor()?;
        loop {
            let operator = if self.eat('*') {
                Operator::Multiply
            } else if self.eat('/') {
                Operator::Divide
            } else {
                return Ok(left);
            };
            let right = self.factor()?;
            // A number without a unit is a pure number; the unit of other products is not known.
            let is_pure = |side: &Valued| side.unit.is_none() && matches!(side.node, Node::Number(_));
            let unit = match (is_pure(&left), is_pure(&right)) {
                (_, true) => left.unit.clone(),
                (true, false) if operator == Operator::Multiply => right.unit.clone(),
                _ => None,
            };
            left = two(operator, left, right, unit);
        }
    }

    fn factor(&mut self) -> Result<Valued, ExpressionError> {
        self.space();
        let start = self.at;
        self.parts += 1;
        if self.parts > MOST_PARTS {
            return Err(self.here("The expression is too long", format!("use up to {MOST_PARTS} values")));
        }
        if self.eat('-') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.here("Too many signs", "use one"));
            }
            let Valued { node, unit, .. } = self.factor()?;
            self.depth -= 1;
            let node = match node {
                Node::Number(number) => Node::Number(number.negative()),
                node => Node::Negative(Box::new(node)),
            };
            return Ok(Valued { node, unit, range: start..self.at });
        }
        if self.eat('(') {
            let inner = self.sum()?;
            self.expect(')')?;
            return Ok(Valued { range: start..self.at, ..inner });
        }
        match self.rest().chars().next() {
            Some('\'') => self.quoted(),
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(first) if first.is_alphabetic() || first == '_' => self.name(),
            _ => Err(self.here(
                "A number, a name or a parenthesis is missing here",
                "write a number, or the name of a signal or value",
            )),
        }
    }

    /// A number, and its unit in brackets.
    fn number(&mut self) -> Result<Valued, ExpressionError> {
        let start = self.at;
        let number = self.digits()?;
        let mut unit = None;
        if self.eat('[') {
            let Some(end) = self.rest().find(']') else {
                return Err(self.here("The unit has no end", "write a unit in brackets, such as [km/h]"));
            };
            unit = Some(self.rest()[..end].trim().to_owned());
            self.at += end + 1;
        }
        Ok(Valued { node: Node::Number(number), unit, range: start..self.at })
    }

    fn digits(&mut self) -> Result<Ratio, ExpressionError> {
        self.space();
        let start = self.at;
        let mut before = '0';
        let len = self.rest().find(|next| {
            let is_exponent_sign = matches!(next, '+' | '-') && matches!(before, 'e' | 'E');
            let is_part = matches!(next, '0'..='9' | '.' | 'e' | 'E') || is_exponent_sign;
            before = next;
            !is_part
        });
        self.at += len.unwrap_or_else(|| self.rest().len());
        let written = &self.text[start..self.at];
        written
            .parse()
            .map_err(|why| error(start..self.at, format!("{written:?}: {why}"), "write a decimal number, such as 0.5"))
    }

    fn word(&mut self) -> &'t str {
        let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '.';
        let len = self.rest().find(is_end).unwrap_or_else(|| self.rest().len());
        let word = &self.rest()[..len];
        self.at += len;
        word
    }

    fn name(&mut self) -> Result<Valued, ExpressionError> {
        let start = self.at;
        let word = self.word();
        self.space();
        if self.rest().starts_with('(') {
            return self.call(word, start);
        }
        if word == "x" {
            let unit = unit_of(self.scope.signal);
            return Ok(Valued { node: Node::Input(0), unit, range: start..start + 1 });
        }
        let range = start..start + word.len();
        let value = self.value_named(word);
        let (message, itself) = (self.scope.message, self.scope.signal);
        let own = word.strip_prefix(message.name.as_str()).and_then(|rest| rest.strip_prefix('.')).unwrap_or(word);
        let Some(signal) = message.signals.iter().find(|signal| signal.name == own) else {
            let node = Node::Number(value.ok_or_else(|| self.unknown(word, range.clone()))?);
            return Ok(Valued { node, unit: unit_of(itself), range });
        };
        if value.is_some() {
            let text = format!("{word} is a signal, and a value of {}", itself.name);
            let help = format!("write {}.{word} for the signal, or '{word}' for the value", message.name);
            return Err(error(range, text, help));
        }
        if let Some(refusal) = &signal.refusal {
            return Err(error(range, format!("Signal {own} cannot be used: {refusal}"), "correct the database"));
        }
        Ok(self.input(own, range))
    }

    /// A signal of the message, which exists.
    fn input(&mut self, name: &str, range: Range<usize>) -> Valued {
        let Scope { message, signal: itself, others } = &mut *self.scope;
        let found = message.signals.iter().find(|signal| signal.name == name);
        let signal = found.filter(|signal| signal.name != itself.name);
        let input: Input = signal.map_or(0, |signal| {
            let known = others.iter().position(|other| other.name == signal.name);
            1 + known.unwrap_or_else(|| {
                others.push(signal);
                others.len() - 1
            })
        });
        let unit = unit_of(signal.unwrap_or(itself));
        Valued { node: Node::Input(input), unit, range }
    }

    fn unknown(&self, word: &str, range: Range<usize>) -> ExpressionError {
        let Scope { message, signal, .. } = &self.scope;
        let names = message.signals.iter().map(|signal| signal.name.as_str());
        let names = names.chain(signal.values.iter().map(|value| value.name.as_str()));
        let help = crate::database::similar(word, names).map_or_else(
            || "write x for the value of the signal, or the name of another signal of its message".to_owned(),
            |name| format!("did you mean {name}?"),
        );
        error(range, format!("{word} is neither a signal of {} nor a value of {}", message.name, signal.name), help)
    }

    /// The physical value with this name.
    fn value_named(&self, name: &str) -> Option<Ratio> {
        let signal = self.scope.signal;
        let value = signal.values.iter().find(|value| value.name == name)?;
        signal.factor.checked_mul(Ratio::integer(value.raw))?.checked_add(signal.offset)
    }

    /// `'Not active'`: a named value.
    fn quoted(&mut self) -> Result<Valued, ExpressionError> {
        let start = self.at;
        let Some(len) = self.text[start + 1..].find('\'') else {
            return Err(self.here("The name has no end", "write the name of a value between two '"));
        };
        self.at = start + len + 2;
        let (name, range) = (&self.text[start + 1..start + 1 + len], start..self.at);
        let number = self.value_named(name).ok_or_else(|| self.unknown(name, range.clone()))?;
        Ok(Valued { node: Node::Number(number), unit: unit_of(self.scope.signal), range })
    }

    fn call(&mut self, name: &str, start: usize) -> Result<Valued, ExpressionError> {
        self.expect('(')?;
        let first = self.sum()?;
        let mut result = match name {
            "abs" => {
                let unit = first.unit.clone();
                let negative = Box::new(Node::Negative(Box::new(first.node.clone())));
                Valued { node: Node::Two(Operator::Max, Box::new(first.node), negative), unit, ..first }
            }
            "min" | "max" => {
                let operator = if name == "min" { Operator::Min } else { Operator::Max };
                let mut all = first;
                while self.eat(',') {
                    let next = self.sum()?;
                    all = alike(operator, all, next)?;
                }
                all
            }
            "clamp" => {
                self.expect(',')?;
                let low = self.sum()?;
                self.expect(',')?;
                let high = self.sum()?;
                if let (Node::Number(from), Node::Number(to)) = (&low.node, &high.node)
                    && from.compare(*to).is_gt()
                {
                    let range = low.range.start..high.range.end;
                    return Err(error(range, "The lower limit is above the upper one", "exchange them"));
                }
                alike(Operator::Min, alike(Operator::Max, first, low)?, high)?
            }
            "table" => self.table(first)?,
            "map" => self.map(first)?,
            _ => {
                let help = "the functions are abs, clamp, map, max, min and table";
                return Err(error(start..start + name.len(), format!("There is no function {name}"), help));
            }
        };
        self.expect(')')?;
        result.range = start..self.at;
        Ok(result)
    }

    fn table(&mut self, value: Valued) -> Result<Valued, ExpressionError> {
        let start = self.at;
        let mut points: Vec<(Ratio, Ratio)> = Vec::new();
        while self.eat(',') {
            let from = self.signed()?;
            self.expect(':')?;
            points.push((from, self.signed()?));
        }
        if points.len() < 2 || points.windows(2).any(|pair| !pair[0].0.compare(pair[1].0).is_lt()) {
            let help = "write at least two points in ascending order, such as table(x, 0:0, 50:60, 100:100)";
            return Err(error(start..self.at, "The points of the table are not in ascending order", help));
        }
        Ok(Valued { node: Node::Table(Box::new(value.node), points), unit: None, range: value.range })
    }

    fn signed(&mut self) -> Result<Ratio, ExpressionError> {
        let is_negative = self.eat('-');
        let number = self.digits()?;
        Ok(if is_negative { number.negative() } else { number })
    }

    fn map(&mut self, value: Valued) -> Result<Valued, ExpressionError> {
        let (mut pairs, mut other) = (Vec::new(), None);
        while self.eat(',') {
            self.space();
            let start = self.at;
            if self.rest().starts_with("other") {
                self.word();
                self.expect(':')?;
                other = Some(Box::new(self.sum()?.node));
                break;
            }
            let Valued { node: Node::Number(key), .. } = self.factor()? else {
                let help = "write a number or the name of a value before the colon";
                return Err(error(start..self.at, "The key of a map must be constant", help));
            };
            self.expect(':')?;
            pairs.push((key, self.sum()?.node));
        }
        if pairs.is_empty() {
            return Err(self.here("The map has no pair", "write pairs, such as map(x, PARK: DRIVE, other: x)"));
        }
        Ok(Valued { node: Node::Map(Box::new(value.node), pairs, other), unit: None, range: value.range })
    }
}

/// Two values that must have the same unit, if both have one that is known.
fn alike(operator: Operator, left: Valued, right: Valued) -> Result<Valued, ExpressionError> {
    if let (Some(one), Some(other)) = (&left.unit, &right.unit)
        && one != other
    {
        let message = format!("{one} and {other} are combined with {operator}");
        let range = left.range.start..right.range.end;
        return Err(error(range, message, "convert one of them with a factor"));
    }
    let unit = left.unit.clone().or_else(|| right.unit.clone());
    Ok(two(operator, left, right, unit))
}

/// Constants are computed here.
fn two(operator: Operator, left: Valued, right: Valued, unit: Option<String>) -> Valued {
    let range = left.range.start..right.range.end;
    let constant = match (&left.node, &right.node) {
        (Node::Number(left), Node::Number(right)) => operator.exact(*left, *right),
        _ => None,
    };
    let node = constant.map_or_else(|| Node::Two(operator, Box::new(left.node), Box::new(right.node)), Node::Number);
    Valued { node, unit, range }
}
