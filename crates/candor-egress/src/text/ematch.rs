//! Expressions: `canid(sff 0x123) and not cmp(u8 at 4 layer link eq 0)`.

mod matches;
mod tokens;

pub(super) use matches::{MOST_RULES_OF_TC, can_rule};

use super::args::Args;
use super::code;
use crate::ematch::Ematch;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use tokens::{Token, Tokens};

/// Nesting limit of the kernel.
pub(super) const MOST_LEVELS: usize = 32;

/// Reads the expression after `match`, which ends where neither `and` nor `or` follows.
pub(super) fn read(args: &mut Args<'_>) -> Option<Ematch> {
    let mut tokens = Tokens::of(args.rest());
    let end = args.span().end;
    let expression = Parser { tokens: &mut tokens, findings: args.findings, end }.expression(0);
    let next = tokens.peek().map(|(_, position)| position.clone());
    match (expression, next) {
        (Some(expression), Some(position)) if position.is_first => {
            args.at += position.arg;
            Some(expression)
        }
        (Some(_), Some(position)) => {
            args.skip_all();
            let help = "join it with `and` or `or`, or remove it";
            args.fail(code::SYNTAX, position.span, "Unexpected text after the expression", help)
        }
        (expression, _) => {
            args.skip_all();
            expression
        }
    }
}

struct Parser<'p, 'a> {
    tokens: &'p mut Tokens<'a>,
    findings: &'p mut Findings,
    end: usize,
}

impl Parser<'_, '_> {
    fn refuse<T>(&mut self, span: Span, message: &str, help: &str) -> Option<T> {
        self.findings.report(Diagnostic::error(code::SYNTAX, span, message).help(help));
        None
    }

    fn expression(&mut self, level: usize) -> Option<Ematch> {
        let start = self.tokens.peek().map_or(self.end, |(_, position)| position.span.start);
        let mut terms = vec![(self.term(level)?, false)];
        while let Some(is_and) = self.joint() {
            terms.last_mut().expect("an expression has a term").1 = is_and;
            terms.push((self.term(level)?, false));
        }
        let joints = terms.len() - 1;
        let first_and = terms[..joints].iter().position(|(_, is_and)| *is_and);
        if first_and.is_some_and(|at| terms[at..joints].iter().any(|(_, is_and)| !is_and)) {
            let message = "The kernel reads `a and b or c` as `a and (b or c)`";
            let span = start..self.tokens.last_end();
            let note = Diagnostic::note(code::MEANING, span, message);
            self.findings.report(note.help("add brackets"));
        }
        Some(Ematch::joined(terms))
    }

    /// Takes a joint; true for `and`.
    fn joint(&mut self) -> Option<bool> {
        let is_and = match self.tokens.peek()? {
            (Token::Word(word), _) if word.eq_ignore_ascii_case("and") => true,
            (Token::Word(word), _) if word.eq_ignore_ascii_case("or") => false,
            _ => return None,
        };
        self.tokens.take();
        Some(is_and)
    }

    fn term(&mut self, level: usize) -> Option<Ematch> {
        const EXAMPLE: &str = "write a match such as canid(sff 0x123); valid: canid, cmp, meta, nbyte and u32";
        let Some((token, position)) = self.tokens.take() else {
            return self.refuse(self.end..self.end, "The expression is incomplete", EXAMPLE);
        };
        if level > MOST_LEVELS {
            return self.refuse(
                position.span,
                "The groups are nested deeper than the kernel supports",
                "use fewer levels of brackets",
            );
        }
        match token {
            Token::Word(word) if word.eq_ignore_ascii_case("not") => {
                Some(Ematch::Not(Box::new(self.negated(level + 1)?)))
            }
            Token::Open => {
                let inner = self.expression(level + 1)?;
                match self.tokens.take() {
                    Some((Token::Close, _)) => Some(inner),
                    found => {
                        let span = found.map_or(self.end..self.end, |(_, position)| position.span);
                        self.refuse(span, "A closing bracket is missing here", "add )")
                    }
                }
            }
            Token::Word(name) => {
                let name = name.to_owned();
                if !matches!(self.tokens.take(), Some((Token::Open, _))) {
                    return self.refuse(position.span, "The name of a match must be followed by (", EXAMPLE);
                }
                matches::read(&name, position.span, self.tokens, self.end, self.findings)
            }
            _ => self.refuse(position.span, "Expected a match", EXAMPLE),
        }
    }

    /// The operand of `not`; `tc` rejects a second `not` without brackets.
    fn negated(&mut self, level: usize) -> Option<Ematch> {
        match self.tokens.peek() {
            Some((Token::Word(word), position)) if word.eq_ignore_ascii_case("not") => {
                let span = position.span.clone();
                self.refuse(span, "tc does not accept `not not`", "remove both, or write not (not …)")
            }
            _ => self.term(level),
        }
    }
}
