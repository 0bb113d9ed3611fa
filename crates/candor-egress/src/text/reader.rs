//! Finds the commands for `tc` in a text, and their interfaces.

use std::collections::HashMap;

use super::args::{Arg, Args};
use super::code;
use super::command;
use super::trees::Growing;
use crate::tree::Tree;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::{closest, quote};
use candor_core::shell::{self, Command, ExpansionKind, Piece, Runs, Word};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Script,
    Tree,
}

const OBJECTS: &[&str] = &["qdisc", "class", "filter"];

/// The trees of all interfaces, in the order of the text, and the spans that are left out.
pub(super) fn read(text: &str, reading: Reading, findings: &mut Findings) -> (Vec<(String, Tree)>, Vec<Span>) {
    let mut reader = Reader {
        text,
        reading,
        findings,
        variables: HashMap::new(),
        trees: Vec::new(),
        left_out: Vec::new(),
        cut_off: None,
    };
    for piece in shell::pieces(text) {
        match piece {
            Piece::Command(command) => reader.command(&command),
            Piece::Document(span) => reader.left_out.push(span),
        }
    }
    let Reader { trees, left_out, .. } = reader;
    (trees.into_iter().map(|(interface, growing)| (interface, growing.finish())).collect(), left_out)
}

struct Reader<'t> {
    text: &'t str,
    reading: Reading,
    findings: &'t mut Findings,
    variables: HashMap<String, String>,
    trees: Vec<(String, Growing)>,
    left_out: Vec<Span>,
    /// End of a command that an unquoted bracket cuts off; the rest of its line is skipped.
    cut_off: Option<usize>,
}

impl Reader<'_> {
    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: &str) {
        self.findings.report(Diagnostic::error(code, span, message).help(help));
    }

    fn command(&mut self, command: &Command) {
        let span = command.span();
        if let Some(cut_off) = self.cut_off
            && !self.text[cut_off..span.start].contains('\n')
        {
            return;
        }
        self.cut_off = None;
        if let Some(word) = command.words.iter().find(|word| word.is_unclosed()) {
            let span = word.expansion().map_or_else(|| word.span(), |expansion| expansion.span.clone());
            return self.error(code::SYNTAX, span, "Unclosed quote or bracket", "write the closing quote or bracket");
        }
        if command.words.iter().all(is_assignment) {
            return self.assign(&command.words);
        }
        match self.program(&command.words) {
            Program::Tc(at) => self.tc(command, &command.words[at..]),
            Program::Elsewhere(at) => {
                let help = "a tree is for one namespace; read the commands of each namespace separately";
                self.error(code::COMMAND, command.words[at].span(), "This runs in another network namespace", help);
            }
            Program::Other(at) => self.other(command, &command.words[at]),
        }
    }

    fn program(&self, words: &[Word]) -> Program {
        const BEFORE: &[&str] = &["command", "doas", "env", "exec", "sudo"];
        let skipped = |word: &Word| BEFORE.contains(&word.text()) || is_assignment(word);
        let at = words.iter().position(|word| !skipped(word)).unwrap_or(0);
        let first = &words[at];
        let is_tc = |word: &Word| word.text().rsplit('/').next() == Some("tc");
        let next_is_object = words.get(at + 1).is_some_and(|word| OBJECTS.contains(&word.text()));
        if is_tc(first) || (first.expansion().is_some() && next_is_object) {
            Program::Tc(at + 1)
        } else if OBJECTS.contains(&first.text()) {
            Program::Tc(at)
        } else if ["ip", "nsenter"].contains(&first.text()) && words[at..].iter().any(is_tc) {
            Program::Elsewhere(at)
        } else {
            Program::Other(at)
        }
    }

    fn other(&mut self, command: &Command, program: &Word) {
        let name = program.text();
        if let Some(meant) = closest(name, OBJECTS).filter(|meant| *meant != name) {
            let message = format!("{} is not a tc object", quote(name));
            return self.error(code::COMMAND, program.span(), message, &format!("did you mean `{meant}`?"));
        }
        if self.reading == Reading::Tree && !["set", ":", "true"].contains(&name) {
            let message = format!("{} is not valid in a tree", quote(name));
            return self.error(code::COMMAND, program.span(), message, "a line begins with qdisc, class or filter");
        }
        self.left_out.push(command.span());
    }

    fn assign(&mut self, words: &[Word]) {
        for (name, value) in words
            .iter()
            .filter_map(|word| word.text().split_once('=').map(|both| (word, both)))
            .map(|(word, (name, value))| (name.to_owned(), word.expansion().is_none().then(|| value.to_owned())))
        {
            match value {
                Some(value) => self.variables.insert(name, value),
                None => self.variables.remove(&name),
            };
        }
    }

    fn tc(&mut self, command: &Command, words: &[Word]) {
        let Some(words) = self.without_options(command, words) else { return };
        let Some(object) = words.first() else {
            return self.error(code::COMMAND, command.span(), "Incomplete tc command", "add qdisc, class or filter");
        };
        if command::changes_nothing(words.get(1).map_or("", Word::text)) {
            self.left_out.push(command.span());
            return;
        }
        if !OBJECTS.contains(&object.text()) {
            let help = closest(object.text(), OBJECTS).map_or_else(
                || "a tree consists of qdisc, class and filter".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            let message = format!("candor does not support the object {}", quote(object.text()));
            return self.error(code::COMMAND, object.span(), message, &help);
        }
        if !self.always_runs(command) {
            return;
        }
        let Some(args) = self.expanded(words) else { return };
        let last = words.last().map_or(0, |word| word.span().end);
        if self.text[last..].starts_with('(') || self.text[last..].trim_start_matches([' ', '\t']).starts_with('(') {
            self.cut_off = Some(last);
            let help = "enclose the expression in '…'";
            return self.error(code::SYNTAX, last..last, "The shell would interpret this bracket", help);
        }
        self.grow(&args);
    }

    /// The words after the options of `tc` itself.
    fn without_options<'w>(&mut self, command: &Command, words: &'w [Word]) -> Option<&'w [Word]> {
        let count = words.iter().take_while(|word| word.text().starts_with('-')).count();
        let (options, words) = words.split_at(count);
        let has = |names: &[&str]| options.iter().find(|word| names.contains(&word.text()));
        if let Some(option) = has(&["-n", "-net", "-netns"]) {
            let help = "a tree is for one namespace; read the commands of each namespace separately";
            self.error(code::COMMAND, option.span(), "This runs in another network namespace", help);
            return None;
        }
        if has(&["-b", "-batch"]).is_some() {
            let help = "use the lines of that file, which are commands without the word tc";
            self.error(code::COMMAND, command.span(), "The commands are in another file", help);
            return None;
        }
        Some(words)
    }

    fn always_runs(&mut self, command: &Command) -> bool {
        let message = match &command.runs {
            Runs::Once => return true,
            Runs::Never(_) => {
                self.left_out.push(command.span());
                return false;
            }
            Runs::AfterTest(_) => "This runs only if the test before it succeeds",
            Runs::AfterFailure(_) => "This runs only if the command before it fails",
            Runs::Inside(..) => "This runs conditionally or repeatedly",
        };
        let help = "write only the commands that run, one per line";
        self.error(code::CONDITIONAL, command.span(), message, help);
        false
    }

    /// The words with known variables expanded. The name of an interface may be any variable.
    fn expanded<'w>(&mut self, words: &'w [Word]) -> Option<Vec<Arg<'w>>> {
        let mut args = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            let Some(expansion) = word.expansion() else {
                args.push(Arg::plain(word));
                continue;
            };
            let written = &self.text[expansion.span.clone()];
            let name = written.trim_matches(|c: char| "${}".contains(c));
            let is_whole = expansion.kind == ExpansionKind::Variable && word.text().is_empty();
            let is_interface = at > 0 && words[at - 1].text() == "dev";
            if is_whole && let Some(value) = self.variables.get(name) {
                args.push(Arg::replaced(word, value.clone()));
            } else if is_whole && is_interface && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                args.push(Arg::replaced(word, format!("${name}")));
            } else {
                let message = format!("candor cannot expand {}", quote(written));
                let help = "write its value; only the interface may be a variable";
                self.findings.report(Diagnostic::error(code::EXPANSION, expansion.span.clone(), message).help(help));
                return None;
            }
        }
        Some(args)
    }

    fn grow(&mut self, args: &[Arg<'_>]) {
        let mut args = Args::new(args, self.findings);
        let Some(command) = command::read(&mut args) else { return };
        let known = self.trees.iter().position(|(interface, _)| *interface == command.interface);
        let at = match known {
            Some(at) => at,
            // A line that names no interface is for that of the others.
            None if command.interface.is_empty() && !self.trees.is_empty() => 0,
            None if self.trees.len() == 1 && self.trees[0].0.is_empty() => {
                self.trees[0].0.clone_from(&command.interface);
                0
            }
            None if self.reading == Reading::Tree && !self.trees.is_empty() => {
                let message = format!("The lines before this are for {}", quote(&self.trees[0].0));
                let help = "a tree is for one interface; write a tree for each";
                return self.error(code::INTERFACE, command.interface_span.clone(), message, help);
            }
            None => {
                self.trees.push((command.interface.clone(), Growing::default()));
                self.trees.len() - 1
            }
        };
        self.trees[at].1.take(command, self.findings);
    }
}

enum Program {
    Tc(usize),
    Elsewhere(usize),
    Other(usize),
}

fn is_assignment(word: &Word) -> bool {
    word.text().split_once('=').is_some_and(|(name, _)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}
