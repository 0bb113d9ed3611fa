//! The words of a DBC file.

/// A statement that cannot be read.
pub(super) struct Unexpected {
    pub(super) expected: &'static str,
    pub(super) found: String,
    pub(super) line: u32,
}

/// The error is what was expected, at the place where the scanner stands. It needs no memory, so that the many places that
/// pass it on are short.
pub(super) type Scanned<T> = Result<T, &'static str>;

/// A place in the text.
#[derive(Clone)]
pub(super) struct Scanner<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Line of the next word, from 1. White space before it is skipped.
    pub(super) fn line(&mut self) -> u32 {
        self.skip_space();
        self.line
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.rest.is_empty()
    }

    /// Skips white space, and comments as C++ has them, which the format does not know but files have.
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest.trim_start_matches(|letter: char| letter.is_ascii_whitespace() || letter == '\u{1A}');
            self.advance(self.rest.len() - rest.len());
            if !self.rest.starts_with("//") {
                return;
            }
            self.skip_line();
        }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        let lines = passed.bytes().filter(|one| *one == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
        passed
    }

    /// Skips to the end of the line. Returns what was skipped.
    pub(super) fn skip_line(&mut self) -> &'a str {
        self.advance(self.rest.find('\n').unwrap_or(self.rest.len()))
    }

    /// True if there is nothing but white space before the end of the line.
    pub(super) fn is_at_line_end(&self) -> bool {
        let line = self.rest.split('\n').next().unwrap_or_default();
        line.trim_start().is_empty()
    }

    /// Skips to the semicolon that is not in a text, or to the end of the file.
    pub(super) fn skip_statement(&mut self) {
        let mut is_text = false;
        let mut is_escaped = false;
        let end = self.rest.bytes().position(|one| {
            let was_escaped = is_escaped;
            is_escaped = is_text && one == b'\\' && !was_escaped;
            if one == b'"' && !was_escaped {
                is_text = !is_text;
            }
            one == b';' && !is_text
        });
        self.advance(end.map_or(self.rest.len(), |end| end + 1));
    }

    /// The next word without taking it: letters, digits and what names have, or a number.
    pub(super) fn peek(&mut self) -> &'a str {
        self.skip_space();
        let is_part = |letter: char| {
            letter.is_ascii_alphanumeric() || !letter.is_ascii() || matches!(letter, '_' | '.' | '+' | '-' | '$' | '#')
        };
        &self.rest[..self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len())]
    }

    /// A name or number.
    pub(super) fn word(&mut self, expected: &'static str) -> Scanned<&'a str> {
        let word = self.peek();
        if word.is_empty() {
            return Err(expected);
        }
        Ok(self.advance(word.len()))
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
        let is_next = self.rest.starts_with(character);
        if is_next {
            self.advance(character.len_utf8());
        }
        is_next
    }

    pub(super) fn expect(&mut self, character: char, expected: &'static str) -> Scanned<()> {
        if self.take(character) { Ok(()) } else { Err(expected) }
    }

    /// True if a text is next.
    pub(super) fn is_text(&mut self) -> bool {
        self.skip_space();
        self.rest.starts_with('"')
    }

    /// A text in quotes, which may have several lines. `\"` is a quote.
    pub(super) fn text(&mut self, expected: &'static str) -> Scanned<String> {
        if !self.is_text() {
            return Err(expected);
        }
        let mut is_escaped = false;
        let end = self.rest.bytes().skip(1).position(|one| {
            let was_escaped = is_escaped;
            is_escaped = one == b'\\' && !was_escaped;
            one == b'"' && !was_escaped
        });
        let Some(end) = end else {
            self.advance(self.rest.len());
            return Err("a quote at the end of the text");
        };
        let text = self.advance(end + 2);
        Ok(text[1..=end].replace("\\\"", "\""))
    }

    pub(super) fn unexpected(&mut self, expected: &'static str) -> Unexpected {
        self.skip_space();
        let line = self.line;
        let end = self.rest.char_indices().nth(20).map_or(self.rest.len(), |(at, _)| at);
        let found: String = self.rest[..end].chars().take_while(|one| !one.is_control()).collect();
        let found = if self.rest.is_empty() { "the end of the file".to_owned() } else { found.trim_end().to_owned() };
        Unexpected { expected, found, line }
    }
}
