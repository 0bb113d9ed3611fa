//! A place in a text, and what is wrong there.

/// Something that cannot be read.
pub(crate) struct Unexpected {
    pub(crate) expected: &'static str,
    pub(crate) found: String,
    pub(crate) line: u32,
}

/// The error is what was expected, at the place where the reader stands. It needs no memory, so that the many places that
/// pass it on are short.
pub(crate) type Scanned<T> = Result<T, &'static str>;

/// The rest of a text, and its line.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    pub(crate) rest: &'a str,
    /// From 1.
    pub(crate) line: u32,
}

impl<'a> Place<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Passes this number of bytes. Returns them.
    pub(crate) fn advance(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        let lines = passed.bytes().filter(|one| *one == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
        passed
    }

    pub(crate) fn unexpected(&self, expected: &'static str) -> Unexpected {
        let found = if self.rest.is_empty() { "the end of the file".to_owned() } else { beginning(self.rest) };
        Unexpected { expected, found, line: self.line }
    }
}

/// The first letters of a text, in one line.
pub(crate) fn beginning(text: &str) -> String {
    let end = text.char_indices().nth(20).map_or(text.len(), |(at, _)| at);
    let found: String = text[..end].chars().take_while(|one| !one.is_control()).collect();
    found.trim_end().to_owned()
}
