//! A reader of XML files, for files that nobody has checked.
//!
//! It reads elements, attributes, text, `CDATA`, comments and processing instructions. A document type (DTD) is an error, so
//! there are no entities but the five that XML has. Nothing is recursive, and memory is a small multiple of the text.
//!
//! # Source
//! <https://www.w3.org/TR/xml/>, 5th edition

use std::borrow::Cow;

use crate::place::{Place, Scanned, Unexpected};

/// Elements inside each other: KCD needs 8.
const MOST_OPEN: usize = 100;
/// Attributes of one element: KCD needs 10.
const MOST_ATTRIBUTES: usize = 100;

/// A part of the file.
pub(crate) enum Event<'a> {
    Start(Element<'a>),
    /// The end of the last element that has none.
    End,
    Text(Cow<'a, str>),
}

/// A start tag.
pub(crate) struct Element<'a> {
    /// With its prefix.
    pub(crate) name: &'a str,
    pub(crate) line: u32,
    /// Names and values, in the order of the file; no name is there twice.
    pub(crate) attributes: Vec<(&'a str, Cow<'a, str>)>,
}

impl Element<'_> {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(one, _)| *one == name).map(|(_, value)| value.as_ref())
    }

    /// What it declares for a prefix, which is empty or ends with a colon.
    pub(crate) fn namespace(&self, prefix: &str) -> Option<&str> {
        let is_own = |name: &str| match name.strip_prefix("xmlns") {
            Some("") => prefix.is_empty(),
            Some(own) => own.strip_prefix(':').is_some_and(|own| prefix.strip_suffix(':') == Some(own)),
            None => false,
        };
        self.attributes.iter().find(|(name, _)| is_own(name)).map(|(_, value)| value.as_ref())
    }
}

pub(crate) struct Reader<'a> {
    at: Place<'a>,
    /// Names of the elements without an end, the outermost first.
    open: Vec<&'a str>,
    /// The last element was written as `<name/>`.
    is_empty: bool,
    /// The outermost element has ended.
    is_done: bool,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { at: Place::new(text), open: Vec::new(), is_empty: false, is_done: false }
    }

    /// The next part. `None` at the end of a complete file.
    ///
    /// # Errors
    /// If the file is not well-formed. Nothing after that place means anything.
    pub(crate) fn next(&mut self) -> Result<Option<Event<'a>>, Unexpected> {
        self.event().map_err(|expected| self.at.unexpected(expected))
    }

    fn event(&mut self) -> Scanned<Option<Event<'a>>> {
        if std::mem::take(&mut self.is_empty) {
            return Ok(Some(self.end()));
        }
        loop {
            if self.take("<!--") {
                self.through("-->", "--> at the end of the comment")?;
            } else if self.take("<?") {
                self.through("?>", "?> at the end of the instruction")?;
            } else if self.is_outside() {
                if self.skip_space() {
                    continue;
                }
                if self.at.rest.starts_with("<!DOCTYPE") {
                    return Err("no document type (DTD)");
                }
                return match (self.is_done, self.at.rest.is_empty()) {
                    (true, true) => Ok(None),
                    (true, false) => Err("nothing after the end of the outermost element"),
                    (false, _) => self.start().map(Some),
                };
            } else if self.take("<![CDATA[") {
                return Ok(Some(Event::Text(self.through("]]>", "]]> at the end of the text")?.into())));
            } else if self.take("</") {
                let before = self.at.clone();
                let name = self.name("the name of the element that ends")?;
                if self.open.last() != Some(&name) {
                    self.at = before;
                    return Err("the end of the last element that has none");
                }
                self.skip_space();
                self.expect(">", "> at the end of the tag")?;
                return Ok(Some(self.end()));
            } else if self.at.rest.starts_with('<') {
                return self.start().map(Some);
            } else if self.at.rest.is_empty() {
                return Err("the ends of all elements");
            } else {
                let len = self.at.rest.find('<').unwrap_or(self.at.rest.len());
                return Ok(Some(Event::Text(self.text(len)?)));
            }
        }
    }

    const fn is_outside(&self) -> bool {
        self.open.is_empty()
    }

    fn end(&mut self) -> Event<'a> {
        self.open.pop();
        self.is_done = self.open.is_empty();
        Event::End
    }

    fn start(&mut self) -> Scanned<Event<'a>> {
        if self.open.len() == MOST_OPEN {
            return Err("at most 100 elements inside each other");
        }
        let line = self.at.line;
        self.expect("<", "an element")?;
        let name = self.name("the name of an element")?;
        let mut element = Element { name, line, attributes: Vec::new() };
        loop {
            let has_space = self.skip_space();
            self.is_empty = self.take("/>");
            if self.is_empty || self.take(">") {
                self.open.push(name);
                return Ok(Event::Start(element));
            }
            if !has_space {
                return Err("a space or the end of the tag");
            }
            let before = self.at.clone();
            let name = self.name("an attribute or the end of the tag")?;
            if element.attribute(name).is_some() || element.attributes.len() == MOST_ATTRIBUTES {
                self.at = before;
                return Err("another attribute, and at most 100");
            }
            self.skip_space();
            self.expect("=", "= after the name of the attribute")?;
            self.skip_space();
            let quote = if self.take("'") { '\'' } else { '"' };
            if quote == '"' {
                self.expect("\"", "the value of the attribute in quotes")?;
            }
            let value = self.at.rest.find([quote, '<']).unwrap_or(self.at.rest.len());
            let value = self.text(value)?;
            if !self.at.rest.starts_with(quote) {
                return Err("a quote at the end of the value");
            }
            self.at.advance(1);
            element.attributes.push((name, value));
        }
    }

    /// A text of this number of bytes, in which references are replaced.
    fn text(&mut self, len: usize) -> Scanned<Cow<'a, str>> {
        let mut left = len;
        let mut text = Cow::Borrowed("");
        while left > 0 {
            let before = self.at.rest.len();
            let plain = self.at.rest[..left].find('&').unwrap_or(left);
            if plain > 0 {
                text += self.characters(plain)?;
            } else {
                let end = self.at.rest[..left].find(';').ok_or(REFERENCE)?;
                text.to_mut().push(character(&self.at.rest[1..end]).ok_or(REFERENCE)?);
                self.at.advance(end + 1);
            }
            left -= before - self.at.rest.len();
        }
        Ok(text)
    }

    /// Passes this number of bytes.
    fn characters(&mut self, len: usize) -> Scanned<&'a str> {
        match self.at.rest[..len].find(|one| !is_character(one)) {
            None => Ok(self.at.advance(len)),
            Some(wrong) => {
                self.at.advance(wrong);
                Err("a character that XML allows")
            }
        }
    }

    /// Passes everything up to and with a mark. Returns what is before it.
    fn through(&mut self, mark: &str, expected: &'static str) -> Scanned<&'a str> {
        let Some(len) = self.at.rest.find(mark) else {
            self.at.advance(self.at.rest.len());
            return Err(expected);
        };
        let passed = self.characters(len)?;
        self.at.advance(mark.len());
        Ok(passed)
    }

    fn name(&mut self, expected: &'static str) -> Scanned<&'a str> {
        let is_part = |one: char| {
            one.is_ascii_alphanumeric() || matches!(one, '_' | ':' | '-' | '.' | '\u{B7}') || is_letter_of_others(one)
        };
        let len = self.at.rest.find(|one| !is_part(one)).unwrap_or(self.at.rest.len());
        if self.at.rest[..len].starts_with(|one: char| !one.is_ascii_digit() && !matches!(one, '-' | '.' | '\u{B7}')) {
            Ok(self.at.advance(len))
        } else {
            Err(expected)
        }
    }

    /// True if there was any.
    fn skip_space(&mut self) -> bool {
        let len = self.at.rest.len() - self.at.rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.at.advance(len);
        len > 0
    }

    fn take(&mut self, mark: &str) -> bool {
        let is_next = self.at.rest.starts_with(mark);
        if is_next {
            self.at.advance(mark.len());
        }
        is_next
    }

    fn expect(&mut self, mark: &str, expected: &'static str) -> Scanned<()> {
        if self.take(mark) { Ok(()) } else { Err(expected) }
    }
}

const REFERENCE: &str = "a reference such as &amp; or &#176;";

/// What stands between `&` and `;`.
fn character(reference: &str) -> Option<char> {
    let number = |digits: &str, radix| {
        // Rust accepts a sign, XML does not.
        let digits = Some(digits).filter(|one| !one.starts_with('+'))?;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?).filter(|one| is_character(*one))
    };
    match reference {
        "amp" => Some('&'),
        "apos" => Some('\''),
        "gt" => Some('>'),
        "lt" => Some('<'),
        "quot" => Some('"'),
        _ => match reference.strip_prefix("#x") {
            Some(digits) => number(digits, 16),
            None => number(reference.strip_prefix('#')?, 10),
        },
    }
}

const fn is_character(one: char) -> bool {
    matches!(one, ' '..|'\t'| '\n' | '\r') && !matches!(one, '\u{FFFE}' | '\u{FFFF}')
}

/// Letters of other alphabets, which names may have.
const fn is_letter_of_others(one: char) -> bool {
    matches!(one, '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{1FFF}' | '\u{2070}'..='\u{2FEF}'
        | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

#[cfg(test)]
mod tests;
