//! The words and brackets of an expression, with their places.

use crate::text::args::Arg;
use candor_core::diagnostic::Span;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Close,
    Open,
    /// Quoted text with its escapes resolved.
    Quoted(Vec<u8>),
    /// An unclosed quote, or an escape that is no byte.
    Unreadable,
    Word(&'a str),
}

#[derive(Clone, Debug)]
pub(super) struct TokenPosition {
    pub(super) span: Span,
    /// In which word of the command.
    pub(super) arg: usize,
    pub(super) is_first: bool,
}

#[derive(Debug)]
pub(super) struct Tokens<'a> {
    list: Vec<(Token<'a>, TokenPosition)>,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(args: &'a [Arg<'_>]) -> Self {
        let mut list = Vec::new();
        for (arg, word) in args.iter().enumerate() {
            let (text, mut at) = (word.text(), 0);
            while let Some(first) = text[at..].chars().next() {
                if first.is_whitespace() {
                    at += first.len_utf8();
                    continue;
                }
                let (token, length) = token(&text[at..], first);
                let is_first = at == 0;
                list.push((token, TokenPosition { span: word.part(at..at + length), arg, is_first }));
                at += length;
            }
        }
        Self { list, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<&(Token<'a>, TokenPosition)> {
        self.list.get(self.at)
    }

    pub(super) fn take(&mut self) -> Option<(Token<'a>, TokenPosition)> {
        let token = self.peek()?.clone();
        self.at += 1;
        Some(token)
    }

    pub(super) fn last_end(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |at| self.list[at].1.span.end)
    }
}

fn token(text: &str, first: char) -> (Token<'_>, usize) {
    match first {
        '(' => (Token::Open, 1),
        ')' => (Token::Close, 1),
        '"' => quoted(text),
        _ => {
            let end = text.find(|c: char| c.is_whitespace() || "()\"".contains(c)).unwrap_or(text.len());
            (Token::Word(&text[..end]), end)
        }
    }
}

/// Escapes are those of C as `tc` knows them: octal numbers, `\n`, `\t`, `\r`, `\b`, `\f`; any other character stands for
/// itself.
fn quoted(text: &str) -> (Token<'_>, usize) {
    let mut bytes = Vec::new();
    let mut rest = text[1..].bytes().enumerate().peekable();
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => return (Token::Quoted(bytes), at + 2),
            b'\\' => match rest.next() {
                Some((_, digit @ b'0'..=b'7')) => {
                    let mut number = u32::from(digit - b'0');
                    while let Some((_, digit)) = rest.next_if(|(_, byte)| (b'0'..=b'7').contains(byte)) {
                        number = number.saturating_mul(8).saturating_add(u32::from(digit - b'0'));
                    }
                    match u8::try_from(number) {
                        Ok(byte) => bytes.push(byte),
                        Err(_) => return (Token::Unreadable, text.len()),
                    }
                }
                Some((_, b'n')) => bytes.push(b'\n'),
                Some((_, b't')) => bytes.push(b'\t'),
                Some((_, b'r')) => bytes.push(b'\r'),
                Some((_, b'b')) => bytes.push(8),
                Some((_, b'f')) => bytes.push(12),
                Some((_, other)) => bytes.push(other),
                None => {}
            },
            other => bytes.push(other),
        }
    }
    (Token::Unreadable, text.len())
}
