//! Enough of the shell's grammar to find the commands of a script, and to know which of them always run.
//!
//! Nothing is expanded: a word that holds `$X` says so, and whoever needs that word has to complain.

mod lexer;
mod word;

pub(super) use word::{ExpansionKind, Word};

use crate::config::diagnostic::Span;
use lexer::{Separator, Token};

/// A simple command: its words, and whether it always runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// Never empty.
    pub(super) words: Vec<Word>,
    pub(super) runs: Runs,
}

impl Command {
    pub(super) fn span(&self) -> Span {
        let ends = self.words.first().zip(self.words.last());
        ends.map_or(0..0, |(first, last)| first.span().start..last.span().end)
    }
}

/// When a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// Once, provided that the commands joined to it by `&&` succeed.
    Once,
    /// Only if the command before it fails: the place of the `||`.
    AfterFailure(Span),
    /// Only if a test before it succeeds: the place of the test.
    AfterTest(Span),
    /// As often as this decides.
    Inside(Construct, Span),
}

/// Something around commands that decides whether and how often they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Construct {
    /// `case`
    Case,
    /// A function.
    Function,
    /// `( … )`, `{ … }`: runs once.
    Group,
    /// `if`
    If,
    /// `for`, `while`, `until`, `select`
    Loop,
}

/// What a script consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Command(Command),
    /// The lines of a here-document.
    Document(Span),
}

pub(super) fn pieces(text: &str) -> Vec<Piece> {
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
    /// What joins the next command to the last one.
    joined: Option<(Separator, Span)>,
    /// The last command of this list, if it is a test.
    test: Option<Span>,
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
}

impl Parser {
    fn take(&mut self, token: Token) {
        match token {
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

    fn open(&mut self, span: Span) {
        match self.expects {
            Expects::FunctionBody => {
                self.around.push((Construct::Function, span));
                self.expects = Expects::Command;
            }
            _ if self.words.is_empty() => self.around.push((Construct::Group, span)),
            _ => {
                self.words.clear();
                self.expects = Expects::FunctionClose;
            }
        }
    }

    fn word(&mut self, word: Word) {
        let is_reserved = word.is_literal();
        match self.expects {
            Expects::Header => return,
            Expects::Subject => {
                if is_reserved && word.text() == "in" {
                    self.expects = Expects::Command;
                }
                return;
            }
            Expects::FunctionName => {
                self.expects = Expects::FunctionBody;
                return;
            }
            Expects::Command | Expects::FunctionBody | Expects::FunctionClose => {}
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
            "{" if self.expects == Expects::FunctionBody => {
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
            // `[` is a pattern too, but alone it is a command.
            let is_test = is_test || first.text() == "[" || first.text() == "[[";
            test = is_test.then(|| first.span());
            let runs = self.runs();
            self.pieces.push(Piece::Command(Command { words, runs }));
        }
        self.test = match separator {
            Separator::And => test.or_else(|| self.test.take()),
            Separator::Or | Separator::Pipe | Separator::Then => None,
        };
    }

    fn runs(&self) -> Runs {
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
