//! A parser for a subset of shell scripts. It finds commands, and the conditions under which they run.
//!
//! It expands nothing. A word with `$X` is marked, and callers that need its value must report it.

mod lexer;
mod word;

pub use word::{Expansion, ExpansionKind, Word};

use crate::diagnostic::Span;
use lexer::{Separator, Token};

/// A command with its words and redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The words, at least one.
    pub words: Vec<Word>,
    /// Condition under which the command runs.
    pub runs: Runs,
}

impl Command {
    /// Byte range from the first to the last word.
    pub fn span(&self) -> Span {
        let ends = self.words.first().zip(self.words.last());
        ends.map_or(0..0, |(first, last)| first.span().start..last.span().end)
    }
}

/// The condition under which a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Once, if the commands joined with `&&` succeed.
    Once,
    /// If the command before it fails, with the place of the `||`.
    AfterFailure(Span),
    /// If a test before it succeeds, with the place of the test.
    AfterTest(Span),
    /// Depending on a construct, with its place.
    Inside(Construct, Span),
    /// Never, because the script ended before, with the place of the last command.
    Never(Span),
}

/// A construct that decides whether and how often its commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
    /// `case`
    Case,
    /// A function definition: `name() { … }`.
    Function,
    /// `( … )`, `{ … }`: runs once.
    Group,
    /// `if`
    If,
    /// `for`, `while`, `until`, `select`
    Loop,
}

/// A part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// One command with its words and redirections.
    Command(Command),
    /// The lines of a here-document.
    Document(Span),
}

/// Splits a script into commands and here-documents.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut parser = Parser::default();
    for token in lexer::tokens(text) {
        parser.take(token);
    }
    parser.finish(Separator::Then);
    parser.pieces
}

#[derive(Debug, Default)]
struct Parser {
    pieces: Vec<Piece>,
    words: Vec<Word>,
    around: Vec<(Construct, Span)>,
    expects: Expects,
    /// Separator before the next command.
    joined: Option<(Separator, Span)>,
    /// The last command of this list, if it is a test.
    test: Option<Span>,
    /// The command that ends the script.
    end: Option<Span>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expects {
    #[default]
    Command,
    /// The words of `for X in …`, up to the end of the command.
    Header,
    /// The word of `case X in`.
    Subject,
    /// The name after the word `function`.
    FunctionName,
    /// The second bracket of `name()`.
    FunctionClose,
    /// The bracket that begins a function.
    FunctionBody,
    /// The same, or an empty pair of brackets: `function name ()`.
    FunctionNamed,
    /// Token after an opening parenthesis: the closing one, or the first command.
    FunctionNamedOpen,
}

impl Parser {
    fn take(&mut self, token: Token) {
        if self.expects == Expects::FunctionNamedOpen {
            if matches!(token, Token::Close(_)) {
                self.around.pop();
                self.expects = Expects::FunctionBody;
                return;
            }
            self.expects = Expects::Command;
        }
        match token {
            // Within `[[ … ]]` these join conditions, not commands.
            Token::Open(_)
            | Token::Close(_)
            | Token::Separator(Separator::And | Separator::Or | Separator::Pipe, _)
                if self.is_within_test() => {}
            Token::Document(span) => self.pieces.push(Piece::Document(span)),
            Token::Separator(separator, span) => {
                if self.expects == Expects::Header {
                    self.expects = Expects::Command;
                }
                self.finish(separator);
                self.joined = Some((separator, span));
            }
            Token::Open(span) => self.open(span),
            Token::Close(_) if self.expects == Expects::FunctionClose => self.expects = Expects::FunctionBody,
            // The end of a pattern in `case`.
            Token::Close(_) if matches!(self.around.last(), Some((Construct::Case, _))) => self.words.clear(),
            Token::Close(_) => {
                self.finish(Separator::Then);
                self.close(&[Construct::Group, Construct::Function]);
            }
            Token::Word(word) => self.word(word),
        }
    }

    /// Returns true within `[[ … ]]`.
    fn is_within_test(&self) -> bool {
        let has_text = |word: Option<&Word>, text| word.is_some_and(|word| word.text() == text);
        has_text(self.words.first(), "[[") && !has_text(self.words.last(), "]]")
    }

    fn open(&mut self, span: Span) {
        match self.expects {
            Expects::FunctionBody => {
                self.around.push((Construct::Function, span));
                self.expects = Expects::Command;
            }
            Expects::FunctionNamed => {
                self.around.push((Construct::Function, span));
                self.expects = Expects::FunctionNamedOpen;
            }
            _ if self.words.is_empty() => self.around.push((Construct::Group, span)),
            _ if self.words.len() == 1 => {
                self.words.clear();
                self.expects = Expects::FunctionClose;
            }
            // Not valid in any shell; keep the words before it.
            _ => {
                self.finish(Separator::Then);
                self.around.push((Construct::Group, span));
            }
        }
    }

    fn word(&mut self, word: Word) {
        let is_reserved = word.is_literal();
        match self.expects {
            // The word contains the rest of the text; the caller reports it.
            _ if word.is_unclosed() => {
                self.words.push(word);
                return;
            }
            Expects::Header => return,
            Expects::Subject => {
                if is_reserved && word.text() == "in" {
                    self.expects = Expects::Command;
                }
                return;
            }
            Expects::FunctionName => {
                self.expects = Expects::FunctionNamed;
                return;
            }
            _ => {}
        }
        if !self.words.is_empty() || !is_reserved {
            self.words.push(word);
            return;
        }
        match word.text() {
            "if" => self.around.push((Construct::If, word.span())),
            "while" | "until" => self.around.push((Construct::Loop, word.span())),
            "for" | "select" => {
                self.around.push((Construct::Loop, word.span()));
                self.expects = Expects::Header;
            }
            "case" => {
                self.around.push((Construct::Case, word.span()));
                self.expects = Expects::Subject;
            }
            "function" => self.expects = Expects::FunctionName,
            "{" if matches!(self.expects, Expects::FunctionBody | Expects::FunctionNamed) => {
                self.around.push((Construct::Function, word.span()));
                self.expects = Expects::Command;
            }
            "{" => self.around.push((Construct::Group, word.span())),
            "}" => self.close(&[Construct::Group, Construct::Function]),
            "fi" => self.close(&[Construct::If]),
            "done" => self.close(&[Construct::Loop]),
            "esac" => self.close(&[Construct::Case]),
            "then" | "do" | "else" | "elif" | "!" | "time" => {}
            _ => self.words.push(word),
        }
    }

    fn close(&mut self, constructs: &[Construct]) {
        if let Some(at) = self.around.iter().rposition(|(construct, _)| constructs.contains(construct)) {
            self.around.truncate(at);
        }
    }

    /// Ends a command that this separator follows.
    fn finish(&mut self, separator: Separator) {
        let words = std::mem::take(&mut self.words);
        let mut test = None;
        if let Some(first) = words.first() {
            let is_test = first.is_literal() && ["[", "[[", "test", "grep"].contains(&first.text());
            // `[` is also a pattern, but a command if alone.
            let is_test = is_test || first.text() == "[" || first.text() == "[[";
            test = is_test.then(|| first.span());
            let runs = match std::mem::replace(&mut self.expects, Expects::Command) {
                // Some shells accept a function without brackets.
                Expects::FunctionBody | Expects::FunctionClose | Expects::FunctionNamed => {
                    Runs::Inside(Construct::Function, first.span())
                }
                _ => self.runs(),
            };
            if self.end.is_none() && runs == Runs::Once && self.ends_the_script(&words, separator) {
                self.end = Some(first.span());
            }
            self.pieces.push(Piece::Command(Command { words, runs }));
        }
        self.test = match separator {
            Separator::And => test.or_else(|| self.test.take()),
            Separator::Or | Separator::Pipe | Separator::Then => None,
        };
    }

    /// Returns true if the shell exits with this command, which runs once.
    fn ends_the_script(&self, words: &[Word], next: Separator) -> bool {
        let is_by_itself = matches!(self.joined, None | Some((Separator::Then, _))) && next != Separator::Pipe;
        let ends = match words {
            [exit, ..] if exit.is_literal() && ["exit", "return"].contains(&exit.text()) => true,
            // Without a program, it only redirects.
            [exec, program, ..] => exec.is_literal() && exec.text() == "exec" && !program.text().starts_with('{'),
            _ => false,
        };
        ends && is_by_itself && self.around.is_empty()
    }

    fn runs(&self) -> Runs {
        if let Some(end) = &self.end {
            return Runs::Never(end.clone());
        }
        let decides = |(construct, _): &&(Construct, Span)| *construct != Construct::Group;
        if let Some((construct, span)) = self.around.iter().rfind(decides) {
            return Runs::Inside(*construct, span.clone());
        }
        match (&self.joined, &self.test) {
            (Some((Separator::Or, span)), _) => Runs::AfterFailure(span.clone()),
            (Some((Separator::And, _)), Some(test)) => Runs::AfterTest(test.clone()),
            _ => Runs::Once,
        }
    }
}

#[cfg(test)]
mod tests;
