//! The words of a DBC file.

use crate::place::{Place, Scanned, Unexpected};

/// A place in the text.
#[derive(Clone)]
pub(super) struct Scanner<'a> {
    at: Place<'a>,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { at: Place::new(text) }
    }

    /// Line of the next word, from 1. White space before it is skipped.
    pub(super) fn line(&mut self) -> u32 {
        self.skip_space();
        self.at.line
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at.rest.is_empty()
    }

    /// Skips white space, and comments as C++ has them, which the format does not know but files have.
    fn skip_space(&mut self) {
        loop {
            let rest =
                self.at.rest.trim_start_matches(|letter: char| letter.is_ascii_whitespace() || letter == '\u{1A}');
            self.at.advance(self.at.rest.len() - rest.len());
            if !self.at.rest.starts_with("//") {
                return;
            }
            self.skip_line();
        }
    }

    /// Skips to the end of the line. Returns what was skipped.
    pub(super) fn skip_line(&mut self) -> &'a str {
        self.at.advance(self.at.rest.find('\n').unwrap_or(self.at.rest.len()))
    }

    /// True if there is nothing but white space before the end of the line.
    pub(super) fn is_at_line_end(&self) -> bool {
        let line = self.at.rest.split('\n').next().unwrap_or_default();
        line.trim_start().is_empty()
    }

    /// Skips to the semicolon that is not in a text, or to the end of the file.
    pub(super) fn skip_statement(&mut self) {
        let mut is_text = false;
        let mut is_escaped = false;
        let end = self.at.rest.bytes().position(|one| {
            let was_escaped = is_escaped;
            is_escaped = is_text && one == b'\\' && !was_escaped;
            if one == b'"' && !was_escaped {
                is_text = !is_text;
            }
            one == b';' && !is_text
        });
        self.at.advance(end.map_or(self.at.rest.len(), |end| end + 1));
    }

    /// The next word without taking it: letters, digits and what names have, or a number.
    pub(super) fn peek(&mut self) -> &'a str {
        self.skip_space();
        let is_part = |letter: char| {
            letter.is_ascii_alphanumeric() || !letter.is_ascii() || matches!(letter, '_' | '.' | '+' | '-' | '$' | '#')
        };
        &self.at.rest[..self.at.rest.find(|letter| !is_part(letter)).unwrap_or(self.at.rest.len())]
    }

    /// A name or number.
    pub(super) fn word(&mut self, expected: &'static str) -> Scanned<&'a str> {
        let word = self.peek();
        if word.is_empty() {
            return Err(expected);
        }
        Ok(self.at.advance(word.len()))
    }

    /// A whole number.
    pub(super) fn number<T: std::str::FromStr>(&mut self, expected: &'static str) -> Scanned<T> {
        let before = self.clone();
        let word = self.word(expected)?;
        word.parse().map_err(|_other| {
            *self = before;
            expected
        })
    }

    /// True, and takes it, if this character is next.
    pub(super) fn take(&mut self, character: char) -> bool {
        self.skip_space();
        let is_next = self.at.rest.starts_with(character);
        if is_next {
            self.at.advance(character.len_utf8());
        }
        is_next
    }

    pub(super) fn expect(&mut self, character: char, expected: &'static str) -> Scanned<()> {
        if self.take(character) { Ok(()) } else { Err(expected) }
    }

    /// True if a text is next.
    pub(super) fn is_text(&mut self) -> bool {
        self.skip_space();
        self.at.rest.starts_with('"')
    }

    /// A text in quotes, which may have several lines. `\"` is a quote.
    pub(super) fn text(&mut self, expected: &'static str) -> Scanned<String> {
        if !self.is_text() {
            return Err(expected);
        }
        let mut is_escaped = false;
        let end = self.at.rest.bytes().skip(1).position(|one| {
            let was_escaped = is_escaped;
            is_escaped = one == b'\\' && !was_escaped;
            one == b'"' && !was_escaped
        });
        let Some(end) = end else {
            self.at.advance(self.at.rest.len());
            return Err("a quote at the end of the text");
        };
        let text = self.at.advance(end + 2);
        Ok(text[1..=end].replace("\\\"", "\""))
    }

    pub(super) fn unexpected(&mut self, expected: &'static str) -> Unexpected {
        self.skip_space();
        self.at.unexpected(expected)
    }
}
