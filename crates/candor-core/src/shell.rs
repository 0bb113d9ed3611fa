//! Enough of the shell's grammar to find the commands of a script, and to know which of them always run.
//!
//! Nothing is expanded: a word that holds `$X` says so, and whoever needs that word has to complain.

mod lexer;
mod word;

pub use word::{Expansion, ExpansionKind, Word};

use crate::diagnostic::Span;
use lexer::{Separator, Token};

/// A simple command: its words, and whether it always runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Never empty.
    pub words: Vec<Word>,
    /// Condition under which it runs.
    pub runs: Runs,
}

impl Command {
    /// Byte range from the first to the last word.
    pub fn span(&self) -> Span {
        let ends = self.words.first().zip(self.words.last());
        ends.map_or(0..0, |(first, last)| first.span().start..last.span().end)
    }
}

/// When a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Once, provided that the commands joined to it by `&&` succeed.
    Once,
    /// Only if the command before it fails: the place of the `||`.
    AfterFailure(Span),
    /// Only if a test before it succeeds: the place of the test.
    AfterTest(Span),
    /// As often as this decides.
    Inside(Construct, Span),
    /// Never: this ended the script before.
    Never(Span),
}

/// Something around commands that decides whether and how often they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
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

/// Piece of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A simple command.
    Command(Command),
    /// The lines of a here-document.
    Document(Span),
}

/// Splits a script into commands and here-documents, without running or expanding anything.
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
    /// Command that ended the script.
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
    /// The same, or brackets that say nothing more: `function name ()`.
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

    /// Returns true if the words so far are `[[` and something, but not its end.
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
            // No shell takes this; what stands before it must not get lost.
            _ => {
                self.finish(Separator::Then);
                self.around.push((Construct::Group, span));
            }
        }
    }

    fn word(&mut self, word: Word) {
        let is_reserved = word.is_literal();
        match self.expects {
            // It has swallowed the rest of the text, which somebody has to say.
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
            // `[` is a pattern too, but alone it is a command.
            let is_test = is_test || first.text() == "[" || first.text() == "[[";
            test = is_test.then(|| first.span());
            let runs = match std::mem::replace(&mut self.expects, Expects::Command) {
                // What some shells take for a function without brackets around it.
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
            // Without a program it only redirects.
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
