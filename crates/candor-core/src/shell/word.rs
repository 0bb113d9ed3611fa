//! A word of the shell after its quotes are gone, with the place of each of its bytes.

use std::ops::Range;

use crate::diagnostic::Span;

/// A word as the program gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    text: String,
    /// Where in the source each byte of the text stands.
    places: Vec<usize>,
    /// Where in the source the word stands, quotes included.
    span: Span,
    /// The first part that only a shell can work out.
    expansion: Option<Expansion>,
    /// True if a part of it is quoted, so it is not a reserved word.
    is_quoted: bool,
}

/// Something that only a shell that runs can replace by its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Where it stands.
    pub span: Span,
    /// Kind of expansion.
    pub kind: ExpansionKind,
}

/// Kind of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpansionKind {
    /// `$(…)`, `` `…` ``, `$((…))`.
    Command,
    /// `{a,b}`, `{0..3}`.
    Braces,
    /// `*`, `?`, `[`.
    Pattern,
    /// A quote that is never closed.
    Unclosed,
    /// `$X`, `${X}`.
    Variable,
}

impl Word {
    pub(crate) fn starting_at(place: usize) -> Self {
        Self { span: place..place, ..Self::default() }
    }

    /// A word that stands in the source as it is.
    pub fn plain(text: &str, start: usize) -> Self {
        let end = start + text.len();
        Self { text: text.to_owned(), places: (start..end).collect(), span: start..end, ..Self::default() }
    }

    pub(crate) fn push(&mut self, character: char, place: usize) {
        self.text.push(character);
        self.places.extend(place..place + character.len_utf8());
    }

    /// The first one is kept, unless a later one is never closed: then nothing of the word is known.
    pub(crate) fn push_expansion(&mut self, span: Span, kind: ExpansionKind) {
        if self.expansion.is_none() || kind == ExpansionKind::Unclosed {
            self.expansion = Some(Expansion { span, kind });
        }
    }

    pub(crate) const fn set_quoted(&mut self) {
        self.is_quoted = true;
    }

    pub(crate) const fn end_at(&mut self, place: usize) {
        self.span.end = place;
    }

    /// The word as the program gets it, as far as it is known.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte range in the script, quotes included.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// The first part that only a running shell could expand.
    pub const fn expansion(&self) -> Option<&Expansion> {
        self.expansion.as_ref()
    }

    /// Returns true if a quote or bracket in it is never closed.
    pub fn is_unclosed(&self) -> bool {
        self.expansion.as_ref().is_some_and(|expansion| expansion.kind == ExpansionKind::Unclosed)
    }

    /// Returns true if it is unquoted and contains nothing to expand, as reserved words do.
    pub(crate) const fn is_literal(&self) -> bool {
        !self.is_quoted && self.expansion.is_none()
    }

    /// Where a part of the text stands. An empty part is a place between two characters.
    pub fn part(&self, range: Range<usize>) -> Span {
        let place = |at: usize| self.places.get(at).copied().unwrap_or(self.span.end);
        let start = place(range.start);
        let end = range.end.checked_sub(1).filter(|last| *last >= range.start).map_or(start, |last| place(last) + 1);
        start..end.min(self.span.end.max(start))
    }
}
