//! A cursor over the words of a command.

use std::borrow::Cow;
use std::ops::Range;

use super::code;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::{closest, quote};
use candor_core::shell::Word;

/// A word as `tc` receives it, with its position.
#[derive(Clone, Debug)]
pub(super) struct Arg<'w> {
    text: Cow<'w, str>,
    word: &'w Word,
}

impl<'w> Arg<'w> {
    pub(super) fn plain(word: &'w Word) -> Self {
        Self { text: Cow::Borrowed(word.text()), word }
    }

    pub(super) fn replaced(word: &'w Word, value: String) -> Self {
        Self { text: Cow::Owned(value), word }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn span(&self) -> Span {
        self.word.span()
    }

    /// Position of a part of the text; for a variable, of all of it.
    pub(super) fn part(&self, range: Range<usize>) -> Span {
        match self.text {
            Cow::Borrowed(_) => self.word.part(range),
            Cow::Owned(_) => self.word.span(),
        }
    }
}

/// A value that cannot be read, and the remedy.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) help: String,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

#[derive(Debug)]
pub(super) struct Args<'a, 'w> {
    args: &'a [Arg<'w>],
    pub(super) at: usize,
}

impl<'a, 'w> Args<'a, 'w> {
    pub(super) const fn new(args: &'a [Arg<'w>]) -> Self {
        Self { args, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<&'a Arg<'w>> {
        self.args.get(self.at)
    }

    /// The text of the next word; empty at the end.
    pub(super) fn next_text(&self) -> &'a str {
        self.peek().map_or("", Arg::text)
    }

    pub(super) fn take(&mut self) -> Option<&'a Arg<'w>> {
        let arg = self.peek()?;
        self.at += 1;
        Some(arg)
    }

    /// Takes the next word if it is this one.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|arg| arg.text() == word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn rest(&self) -> &'a [Arg<'w>] {
        &self.args[self.at..]
    }

    pub(super) fn skip_all(&mut self) {
        self.at = self.args.len();
    }

    pub(super) fn span(&self) -> Span {
        let ends = self.args.first().zip(self.args.last());
        ends.map_or(0..0, |(first, last)| first.span().start..last.span().end)
    }

    pub(super) fn last_span(&self) -> Span {
        self.at.checked_sub(1).and_then(|at| self.args.get(at)).map_or_else(|| self.span(), Arg::span)
    }

    pub(super) fn last(&self) -> Option<&'a str> {
        self.at.checked_sub(1).and_then(|at| self.args.get(at)).map(Arg::text)
    }

    pub(super) fn value<T>(
        &mut self,
        findings: &mut Findings,
        read: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let option = self.last_span();
        let Some(arg) = self.take() else {
            let name = self.args.last().map_or("", Arg::text);
            let diagnostic = Diagnostic::error(code::VALUE, option, format!("{} has no value", quote(name)));
            findings.report(diagnostic.help("write its value behind it"));
            return None;
        };
        match read(arg.text()) {
            Ok(value) => Some(value),
            Err(wrong) => {
                findings.report(Diagnostic::error(code::VALUE, arg.span(), wrong.message).help(wrong.help));
                None
            }
        }
    }

    /// Reads options up to the end of the command. `None`, after reporting it, if one is wrong; the others are still read.
    pub(super) fn options(
        &mut self,
        of: &str,
        known: &[&str],
        findings: &mut Findings,
        mut read: impl FnMut(&str, &mut Self, &mut Findings) -> Option<()>,
    ) -> Option<()> {
        let mut is_right = true;
        while let Some(arg) = self.take() {
            if !known.contains(&arg.text()) {
                unknown(arg, of, known, findings);
                // Whether a value of it follows is not known either.
                self.skip_all();
                return None;
            }
            is_right &= read(arg.text(), self, findings).is_some();
        }
        is_right.then_some(())
    }
}

pub(super) fn unknown(arg: &Arg<'_>, of: &str, known: &[&str], findings: &mut Findings) {
    let message = format!("{} is no word of {of}", quote(arg.text()));
    let help = match (closest(arg.text(), known), known) {
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, []) => "remove it".to_owned(),
        (None, _) => format!("known here: {}", known.join(", ")),
    };
    findings.report(Diagnostic::error(code::WORD, arg.span(), message).help(help));
}

pub(super) fn missing(args: &Args<'_, '_>, what: &str, help: &str, findings: &mut Findings) {
    findings.report(Diagnostic::error(code::MISSING, args.span(), format!("There is no {what}")).help(help));
}

pub(super) fn unknown_kind(
    kind: &Arg<'_>,
    what: &str,
    known: &[&str],
    reasons: &[(&str, &str)],
    findings: &mut Findings,
) {
    match reasons.iter().find(|(name, _)| *name == kind.text()) {
        Some((name, reason)) => {
            let message = format!("candor has no {what} `{name}`: {reason}");
            let help = format!("take another one: {}", known.join(", "));
            findings.report(Diagnostic::error(code::KIND, kind.span(), message).help(help));
        }
        None => unknown(kind, &format!("a {what}"), known, findings),
    }
}
