//! A word without its quotes, with the source position of each byte.

use std::ops::Range;

use crate::diagnostic::Span;

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    text: String,
    /// Source position of each byte of the text.
    places: Vec<usize>,
    /// Byte range in the source, including quotes.
    span: Span,
    /// The first part that only a shell can expand.
    expansion: Option<Expansion>,
    /// Set if a part is quoted, so the word is not a reserved word.
    is_quoted: bool,
}

/// A part of a word that only a shell can expand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Byte range in the source.
    pub span: Span,
    /// The expansion that the shell would apply.
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

    /// An unquoted word at a position of the source.
    pub fn plain(text: &str, start: usize) -> Self {
        let end = start + text.len();
        Self { text: text.to_owned(), places: (start..end).collect(), span: start..end, ..Self::default() }
    }

    pub(crate) fn push(&mut self, character: char, place: usize) {
        self.text.push(character);
        self.places.extend(place..place + character.len_utf8());
    }

    /// Keeps the first expansion, unless a later one is unclosed: then the word is unknown.
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

    /// The text of the word, without expansions.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte range in the source, including quotes.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// The first part that only a running shell could expand.
    pub const fn expansion(&self) -> Option<&Expansion> {
        self.expansion.as_ref()
    }

    /// Returns true if a quote or bracket is not closed.
    pub fn is_unclosed(&self) -> bool {
        self.expansion.as_ref().is_some_and(|expansion| expansion.kind == ExpansionKind::Unclosed)
    }

    /// Returns true if nothing is quoted or expanded, as in reserved words.
    pub(crate) const fn is_literal(&self) -> bool {
        !self.is_quoted && self.expansion.is_none()
    }

    /// Source range of a part of the text. An empty part is a position between two characters.
    pub fn part(&self, range: Range<usize>) -> Span {
        let place = |at: usize| self.places.get(at).copied().unwrap_or(self.span.end);
        let start = place(range.start);
        let end = range.end.checked_sub(1).filter(|last| *last >= range.start).map_or(start, |last| place(last) + 1);
        start..end.min(self.span.end.max(start))
    }
}
