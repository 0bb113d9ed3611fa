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

/// The words of a command that are left, and the findings about them.
#[derive(Debug)]
pub(super) struct Args<'a> {
    args: &'a [Arg<'a>],
    pub(super) at: usize,
    pub(super) findings: &'a mut Findings,
}

impl<'a> Args<'a> {
    pub(super) const fn new(args: &'a [Arg<'a>], findings: &'a mut Findings) -> Self {
        Self { args, at: 0, findings }
    }

    pub(super) fn peek(&self) -> Option<&'a Arg<'a>> {
        self.args.get(self.at)
    }

    /// The text of the next word; empty at the end.
    pub(super) fn next_text(&self) -> &'a str {
        self.peek().map_or("", Arg::text)
    }

    pub(super) fn take(&mut self) -> Option<&'a Arg<'a>> {
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

    pub(super) fn rest(&self) -> &'a [Arg<'a>] {
        &self.args[self.at..]
    }

    pub(super) fn skip_all(&mut self) {
        self.at = self.args.len();
    }

    pub(super) fn span(&self) -> Span {
        let ends = self.args.first().zip(self.args.last());
        ends.map_or(0..0, |(first, last)| first.span().start..last.span().end)
    }

    fn last_arg(&self) -> Option<&'a Arg<'a>> {
        self.args.get(self.at.checked_sub(1)?)
    }

    pub(super) fn last_span(&self) -> Span {
        self.last_arg().map_or_else(|| self.span(), Arg::span)
    }

    pub(super) fn last(&self) -> Option<&'a str> {
        self.last_arg().map(Arg::text)
    }

    /// Reports an error with its remedy, and returns `None`.
    pub(super) fn fail<T>(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        self.findings.report(Diagnostic::error(code, span, message.into()).help(help.into()));
        None
    }

    pub(super) fn note(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.findings.report(Diagnostic::note(code, span, message.into()).help(help.into()));
    }

    pub(super) fn missing<T>(&mut self, what: &str, help: &str) -> Option<T> {
        self.fail(code::MISSING, self.span(), format!("Missing {what}"), help)
    }

    /// Reports an unknown word, and skips the rest: it may have a value.
    pub(super) fn unknown<T>(&mut self, arg: &Arg<'_>, of: &str, known: &[&str]) -> Option<T> {
        self.skip_all();
        let message = format!("{} is not valid in {of}", quote(arg.text()));
        let help = match (closest(arg.text(), known), known) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, []) => "remove it".to_owned(),
            (None, _) => format!("valid here: {}", known.join(", ")),
        };
        self.fail(code::WORD, arg.span(), message, help)
    }

    /// Reports an unknown kind, and skips the rest.
    pub(super) fn unknown_kind<T>(
        &mut self,
        kind: &Arg<'_>,
        what: &str,
        known: &[&str],
        reasons: &[(&str, &str)],
    ) -> Option<T> {
        let Some((name, reason)) = reasons.iter().find(|(name, _)| *name == kind.text()) else {
            return self.unknown(kind, &format!("a {what}"), known);
        };
        self.skip_all();
        let message = format!("candor does not support the {what} `{name}`: {reason}");
        self.fail(code::KIND, kind.span(), message, format!("supported: {}", known.join(", ")))
    }

    pub(super) fn value<T>(&mut self, read: impl FnOnce(&str) -> Result<T, Wrong>) -> Option<T> {
        let option = self.last_span();
        let Some(arg) = self.take() else {
            let name = self.args.last().map_or("", Arg::text);
            return self.fail(code::VALUE, option, format!("{} has no value", quote(name)), "write its value after it");
        };
        match read(arg.text()) {
            Ok(value) => Some(value),
            Err(wrong) => self.fail(code::VALUE, arg.span(), wrong.message, wrong.help),
        }
    }

    /// Reads options up to the end of the command. `None`, after reporting it, if one is wrong; the others are still read.
    pub(super) fn options(
        &mut self,
        of: &str,
        known: &[&str],
        mut read: impl FnMut(&str, &mut Self) -> Option<()>,
    ) -> Option<()> {
        let mut is_right = true;
        while let Some(arg) = self.take() {
            if !known.contains(&arg.text()) {
                return self.unknown(arg, of, known);
            }
            is_right &= read(arg.text(), self).is_some();
        }
        is_right.then_some(())
    }
}
