//! Splits a script into words and operators.

use super::word::{ExpansionKind, Word};
use crate::diagnostic::Span;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// `(`
    Open(Span),
    /// `)`
    Close(Span),
    /// The lines of a here-document.
    Document(Span),
    /// Ends a command.
    Separator(Separator, Span),
    /// A word; the targets of redirections are left out.
    Word(Word),
}

/// Separator of two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// The end of a line, `;`, `&`, `;;`.
    Then,
}

pub(crate) fn tokens(text: &str) -> Vec<Token> {
    // A byte order mark is not part of the first word.
    let at = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let mut lexer = Lexer { text, at, tokens: Vec::new(), next_word: NextWord::Argument, documents: Vec::new() };
    lexer.run();
    lexer.tokens
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
    next_word: NextWord,
    /// Here-documents that begin in the next line.
    documents: Vec<Document>,
}

/// Role of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextWord {
    Argument,
    /// The file of a redirection.
    Target,
    /// The last line of a here-document.
    Delimiter {
        strips_tabs: bool,
    },
}

struct Document {
    delimiter: String,
    strips_tabs: bool,
}

impl<'t> Lexer<'t> {
    fn run(&mut self) {
        while let Some(character) = self.peek() {
            let start = self.at;
            match character {
                ' ' | '\t' => self.at += 1,
                '\r' if self.rest().starts_with("\r\n") => self.at += 1,
                '\\' if self.skip_line_continuation() => {}
                '#' => self.at += self.rest().split('\n').next().map_or(0, str::len),
                '\n' => {
                    self.at += 1;
                    self.separator(Separator::Then, start);
                    self.read_documents();
                }
                '(' => {
                    self.at += 1;
                    self.tokens.push(Token::Open(start..self.at));
                }
                ')' => {
                    self.at += 1;
                    self.tokens.push(Token::Close(start..self.at));
                }
                ';' => {
                    self.at += self.rest().bytes().take_while(|&byte| byte == b';').count();
                    self.separator(Separator::Then, start);
                }
                '&' => match self.skip(["&>>", "&>", "&&"]) {
                    Some("&&") => self.separator(Separator::And, start),
                    Some(_) => self.next_word = NextWord::Target,
                    None => {
                        self.at += 1;
                        self.separator(Separator::Then, start);
                    }
                },
                '|' => match self.skip(["||", "|&"]) {
                    Some("||") => self.separator(Separator::Or, start),
                    found => {
                        self.at += usize::from(found.is_none());
                        self.separator(Separator::Pipe, start);
                    }
                },
                '<' | '>' if self.rest()[1..].starts_with('(') => self.substitution(),
                '<' | '>' => self.redirection(),
                _ => self.word(),
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn bump(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Skips the first of these operators that is next in the text.
    fn skip<const N: usize>(&mut self, operators: [&'static str; N]) -> Option<&'static str> {
        let found = operators.into_iter().find(|operator| self.rest().starts_with(operator))?;
        self.at += found.len();
        Some(found)
    }

    /// Skips a backslash at the end of a line.
    fn skip_line_continuation(&mut self) -> bool {
        self.skip(["\\\n", "\\\r\n"]).is_some()
    }

    fn separator(&mut self, separator: Separator, start: usize) {
        self.next_word = NextWord::Argument;
        self.tokens.push(Token::Separator(separator, start..self.at));
    }

    fn redirection(&mut self) {
        self.next_word = match self.skip(["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"]) {
            Some("<<") => NextWord::Delimiter { strips_tabs: false },
            Some("<<-") => NextWord::Delimiter { strips_tabs: true },
            _ => NextWord::Target,
        };
    }

    /// `<(…)` and `>(…)`.
    fn substitution(&mut self) {
        let mut word = Word::starting_at(self.at);
        self.at += 1;
        self.brackets(&mut word);
        word.end_at(self.at);
        self.finish(word);
    }

    /// Skips a bracket up to the closing one.
    fn brackets(&mut self, word: &mut Word) {
        let (start, rest) = (self.at, self.rest());
        match commands_in_brackets(rest) {
            Some(length) => {
                self.at += length;
                word.push_expansion(start..self.at, ExpansionKind::Command);
            }
            None => {
                self.at += rest.len();
                word.push_expansion(start..start + 1, ExpansionKind::Unclosed);
            }
        }
    }

    /// Skips the lines of the here-documents that the last line announced.
    fn read_documents(&mut self) {
        for Document { delimiter, strips_tabs } in std::mem::take(&mut self.documents) {
            let start = self.at;
            while self.at < self.text.len() {
                let line = self.rest().split_inclusive('\n').next().unwrap_or_default();
                self.at += line.len();
                let line = line.trim_end_matches(['\r', '\n']);
                if (if strips_tabs { line.trim_start_matches('\t') } else { line }) == delimiter {
                    break;
                }
            }
            self.tokens.push(Token::Document(start..self.at));
        }
    }

    fn word(&mut self) {
        let mut word = Word::starting_at(self.at);
        while let Some(character) = self.peek() {
            let start = self.at;
            match character {
                // An array: X=(…)
                '(' if word.is_literal() && word.text().ends_with('=') => self.brackets(&mut word),
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\r' if self.rest().starts_with("\r\n") => break,
                '\\' if self.skip_line_continuation() => continue,
                '\\' => {
                    self.at += 1;
                    let place = self.at;
                    match self.bump() {
                        Some(escaped) => word.push(escaped, place),
                        None => word.push(character, start),
                    }
                    word.set_quoted();
                }
                '\'' => self.single_quotes(&mut word),
                '"' => self.double_quotes(&mut word),
                '$' | '`' => self.dollar(&mut word),
                '*' | '?' | '[' => {
                    self.at += 1;
                    word.push_expansion(start..self.at, ExpansionKind::Pattern);
                    word.push(character, start);
                }
                '{' => {
                    self.at += 1;
                    if let Some(length) = braces(self.rest()) {
                        word.push_expansion(start..self.at + length, ExpansionKind::Braces);
                    }
                    word.push(character, start);
                }
                _ => {
                    self.at += character.len_utf8();
                    word.push(character, start);
                }
            }
        }
        word.end_at(self.at);
        self.finish(word);
    }

    fn finish(&mut self, word: Word) {
        // An unclosed word contains the rest of the text.
        if word.is_unclosed() {
            return self.tokens.push(Token::Word(word));
        }
        match std::mem::replace(&mut self.next_word, NextWord::Argument) {
            NextWord::Target => {}
            NextWord::Delimiter { strips_tabs } => {
                self.documents.push(Document { delimiter: word.text().to_owned(), strips_tabs });
            }
            NextWord::Argument => {
                // The number of a redirected file descriptor: 2>/dev/null.
                let is_number = word.is_literal() && word.text().bytes().all(|byte| byte.is_ascii_digit());
                if !(is_number && self.rest().starts_with(['<', '>'])) {
                    self.tokens.push(Token::Word(word));
                }
            }
        }
    }

    fn single_quotes(&mut self, word: &mut Word) {
        let start = self.at;
        self.at += 1;
        word.set_quoted();
        while let Some(character) = self.peek() {
            let place = self.at;
            self.at += character.len_utf8();
            if character == '\'' {
                return;
            }
            word.push(character, place);
        }
        word.push_expansion(start..start + 1, ExpansionKind::Unclosed);
    }

    fn double_quotes(&mut self, word: &mut Word) {
        let start = self.at;
        self.at += 1;
        word.set_quoted();
        while let Some(character) = self.peek() {
            let place = self.at;
            match character {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' if self.skip_line_continuation() => {}
                '\\' if self.rest()[1..].starts_with(['$', '`', '"', '\\']) => {
                    self.at += 1;
                    let place = self.at;
                    if let Some(escaped) = self.bump() {
                        word.push(escaped, place);
                    }
                }
                '$' | '`' => self.dollar(word),
                _ => {
                    self.at += character.len_utf8();
                    word.push(character, place);
                }
            }
        }
        word.push_expansion(start..start + 1, ExpansionKind::Unclosed);
    }

    /// `$X`, `${X}`, `$(…)`, `` `…` ``, or a plain dollar.
    fn dollar(&mut self, word: &mut Word) {
        let start = self.at;
        let rest = self.rest();
        let (length, kind) = match rest.chars().nth(1) {
            _ if rest.starts_with('`') => (closed(&rest[1..], '`').map(|end| end + 2), ExpansionKind::Command),
            Some('(') => (commands_in_brackets(&rest[1..]).map(|length| length + 1), ExpansionKind::Command),
            Some('{') => (balanced(rest, '{', '}'), ExpansionKind::Variable),
            Some('\'') => (closed(&rest[2..], '\'').map(|end| end + 3), ExpansionKind::Variable),
            Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                let name = rest[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                (Some(name.map_or(rest.len(), |end| end + 1)), ExpansionKind::Variable)
            }
            Some('0'..='9' | '@' | '*' | '#' | '?' | '-' | '$' | '!') => (Some(2), ExpansionKind::Variable),
            _ => {
                self.at += 1;
                word.push('$', start);
                return;
            }
        };
        let (length, kind) = length.map_or((rest.len(), ExpansionKind::Unclosed), |length| (length, kind));
        self.at += length;
        let shown = if kind == ExpansionKind::Unclosed { start + 1 } else { self.at };
        word.push_expansion(start..shown, kind);
    }
}

/// Returns the length of a quoted text without the closing quote. A backslash escapes the next character.
fn closed(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, character)| {
        let ends = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// The length up to the bracket that closes the first one.
fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, character)| {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            return (depth == 0).then_some(at + 1);
        }
        None
    })
}

/// The length of commands in brackets at the start of the text. Brackets in quotes do not count.
fn commands_in_brackets(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') if depth <= 1 => return Some(at + 1),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The length of the rest of `{a,b}` or `{1..3}` after the first brace. Other braces are ordinary characters.
fn braces(rest: &str) -> Option<usize> {
    // cangw accepts no longer values, and the limit keeps the lexer fast for texts with many braces.
    const MOST: usize = 64;
    let end = rest.char_indices().take(MOST).find(|(_, c)| c.is_whitespace() || *c == '}');
    let inside = end.filter(|(_, c)| *c == '}').map(|(at, _)| &rest[..at])?;
    (inside.contains(',') || inside.contains("..")).then_some(inside.len() + 1)
}
