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
pub(super) fn read(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Ematch> {
    let mut tokens = Tokens::of(args.rest());
    let expression = Parser { tokens: &mut tokens, findings, end: args.span().end }.expression(0);
    let Some(expression) = expression else {
        args.skip_all();
        return None;
    };
    match tokens.peek() {
        None => args.skip_all(),
        Some((token, place)) if place.is_first => {
            let _ = token;
            args.at += place.arg;
        }
        Some((_, place)) => {
            let diagnostic =
                Diagnostic::error(code::SYNTAX, place.span.clone(), "The expression is complete before this");
            findings.report(diagnostic.help("join it with and, or or; or remove it"));
            args.skip_all();
            return None;
        }
    }
    Some(expression)
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
        let start = self.tokens.peek().map_or(self.end, |(_, place)| place.span.start);
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
            self.findings.report(note.help("say with brackets what is meant"));
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
        const EXAMPLE: &str = "write a match such as canid(sff 0x123); there are canid, cmp, meta, nbyte and u32";
        let Some((token, place)) = self.tokens.take() else {
            return self.refuse(self.end..self.end, "The expression ends too early", EXAMPLE);
        };
        if level > MOST_LEVELS {
            return self.refuse(
                place.span,
                "So many groups in groups are more than the kernel takes",
                "write it flatter",
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
                        let span = found.map_or(self.end..self.end, |(_, place)| place.span);
                        self.refuse(span, "A closing bracket is missing here", "add )")
                    }
                }
            }
            Token::Word(name) => {
                let name = name.to_owned();
                if !matches!(self.tokens.take(), Some((Token::Open, _))) {
                    return self.refuse(place.span, "Behind the name of a match stands a bracket", EXAMPLE);
                }
                matches::read(&name, place.span, self.tokens, self.end, self.findings)
            }
            _ => self.refuse(place.span, "A match should stand here", EXAMPLE),
        }
    }

    /// The operand of `not`; `tc` rejects a second `not` without brackets.
    fn negated(&mut self, level: usize) -> Option<Ematch> {
        match self.tokens.peek() {
            Some((Token::Word(word), place)) if word.eq_ignore_ascii_case("not") => {
                let span = place.span.clone();
                self.refuse(span, "tc takes one `not`", "remove both, or write not (not …)")
            }
            _ => self.term(level),
        }
    }
}
