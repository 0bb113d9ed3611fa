//! cangw's command lines, scripts and listings → can-gw jobs.
//!
//! ```text
//!  script  ──shell──▶ commands ──options──▶ Entry ──Table (add, delete, flush: newest first)──▶ [Job]
//!  listing ──lines──────────────options──▶ Entry ──as listed────────────────────────────────▶ [Job]
//! ```
//!
//! can-gw delivers a frame to the newest job first. So the last `cangw -A` of a script becomes the first job, and so does
//! the first line of `cangw -L`.
//!
//! No command is run. What only a running shell can know is reported as an error.
//!
//! # Source
//! `cangw.c` of can-utils [2020.11](https://github.com/linux-can/can-utils/blob/v2020.11.0/cangw.c) and 2026;
//! [`cgw_parse_attr()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L815) in Linux 6.1. `docs/cangw.md` documents
//! how their peculiarities are imported.

pub mod code;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;

mod entry;
mod listing;
mod options;
mod program;
mod table;
mod value;

use std::collections::HashMap;

use crate::plan::BusIndex;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::job::Job;
use candor_core::shell::{self, Command, Construct, ExpansionKind, Piece, Runs, Word};
use entry::Entry;
use options::Action;
use program::Program;
use table::Table;

const ENDS_HELP: &str = "write -s with the source interface and -d with the destination interface";

/// Order of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The output of `cangw -L`: the first line is the newest job.
    Listing,
    /// Commands that run one after another: the last one is the newest job.
    Script,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Names of the interfaces; the buses of a job are positions in this list.
    pub interfaces: Vec<String>,
    /// The remaining jobs, in order of delivery, as from [`lower()`](crate::lower()).
    pub jobs: Vec<Job>,
    /// The place of each job in the text.
    pub places: Vec<Span>,
    pub reading: Reading,
    /// In the order of the text.
    pub warnings: Vec<Diagnostic>,
    /// Commands unrelated to can-gw jobs, and `cangw -L`.
    pub left_out: Vec<Span>,
}

/// Reads jobs from the bytes of a text. By default, a text is a listing if all its lines end with counters and it does not
/// begin with `#!`.
///
/// # Errors
/// All findings, warnings too, in the order of the text. Spans count bytes from the start.
pub fn cangw(bytes: &[u8], reading: Option<Reading>) -> Result<Imported, Vec<Diagnostic>> {
    let text = text(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let count = listing::count(text);
    let reading = reading.unwrap_or(if count.listed > 0 && count.other == 0 && !count.is_script {
        Reading::Listing
    } else {
        Reading::Script
    });
    let mut import =
        Import { text, findings: Findings::default(), table: Table::default(), left_out: Vec::new(), had_jobs: false };
    match reading {
        Reading::Listing => import.listing(),
        Reading::Script => {
            import.listed_lines_in_a_script(count.listed);
            for piece in shell::pieces(text) {
                import.piece(&piece);
            }
        }
    }
    import.finish(reading)
}

/// Larger texts are rejected: they contain more jobs than a gateway file can.
pub const MAX_BYTES: usize = 4 << 20;

fn text(bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
    if bytes.len() > MAX_BYTES {
        let message = format!("The text is larger than {} MiB", MAX_BYTES >> 20);
        let diagnostic = Diagnostic::error(code::TOO_LARGE, 0..0, message);
        return Err(Box::new(diagnostic.help("pass only the lines that concern cangw")));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let end = at + error.error_len().unwrap_or(bytes.len() - at);
        let diagnostic = Diagnostic::error(code::NOT_UTF8, at..end, "The text is not UTF-8");
        if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
            return Box::new(diagnostic.help("it is UTF-16; convert it, for example with iconv -f UTF-16 -t UTF-8"));
        }
        Box::new(diagnostic.help("convert it, for example with iconv -f LATIN1 -t UTF-8; the cause may be a comment"))
    })
}

struct Import<'t> {
    text: &'t str,
    findings: Findings,
    table: Table,
    left_out: Vec<Span>,
    had_jobs: bool,
}

impl Import<'_> {
    fn finish(mut self, reading: Reading) -> Result<Imported, Vec<Diagnostic>> {
        if self.table.is_empty() && !self.findings.has_errors() {
            let (message, help) = self.why_nothing();
            self.findings.error(code::NOTHING, &(0..0), message, help);
        }
        if self.findings.has_errors() {
            return Err(self.findings.into_sorted());
        }
        let entries = self.table.into_entries();
        let buses = interfaces(&entries);
        let bus = |name: &String| BusIndex(buses[name.as_str()]);
        let jobs = entries.iter().map(|entry| entry.job(bus(&entry.source), bus(&entry.destination))).collect();
        let mut interfaces = vec![String::new(); buses.len()];
        for (name, at) in buses {
            name.clone_into(&mut interfaces[at]);
        }
        let places = entries.into_iter().map(|entry| entry.span).collect();
        let (warnings, left_out) = (self.findings.into_sorted(), self.left_out);
        Ok(Imported { interfaces, jobs, places, reading, warnings, left_out })
    }

    fn why_nothing(&self) -> (&'static str, &'static str) {
        let is_comment = |line: &str| line.trim_start().starts_with('#');
        if self.had_jobs {
            ("No job is left at the end", "remove the commands that delete the jobs; see also the warnings")
        } else if self.text.trim().is_empty() {
            ("The text is empty", "`cangw -L` prints nothing if there are no jobs, or if can-gw is not loaded")
        } else if self.text.lines().any(|line| is_comment(line) && program::speaks_of_changes(line)) {
            ("cangw -A appears only in comments", "remove the # (or the shell prompt) in front of the commands")
        } else {
            ("The text contains no cangw -A", "pass a script with such commands, or the output of `cangw -L`")
        }
    }

    fn listing(&mut self) {
        for line in listing::lines(self.text) {
            let Some(given) = options::given(&line.words, &mut self.findings) else { continue };
            match options::action(&given, &mut self.findings) {
                Some(Action::Add) | None => self.add(line.span, &given, Reading::Listing),
                Some(_) => {
                    let message = "A listing contains only -A commands";
                    self.findings.error(code::USAGE, &line.span, message, "import it as a script");
                }
            }
        }
    }

    fn add(&mut self, span: Span, given: &[options::Given<'_>], reading: Reading) {
        let Some(entry) = Entry::read(span, given, &mut self.findings) else { return };
        self.had_jobs = true;
        if !entry.is_accepted(&mut self.findings) {
            return;
        }
        match reading {
            Reading::Listing => self.table.append(entry),
            Reading::Script => self.table.add(entry, &mut self.findings),
        }
    }

    fn listed_lines_in_a_script(&mut self, listed: usize) {
        if listed > 1 {
            let message = "The script contains lines of a listing; they are read as a script";
            let help = "`cangw -L` prints the newest job first, a script adds it last, so the order is reversed, as when \
                        the script runs; to keep the order, import the text as a listing";
            self.findings.report(Diagnostic::warning(code::READING, 0..0, message).help(help));
        }
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Document(span) => self.mention_or_change(span.clone()),
            Piece::Command(command) => self.command(command),
        }
    }

    fn command(&mut self, command: &Command) {
        if let Some(word) = command.words.iter().find(|word| word.is_unclosed()) {
            let span = word.expansion().map_or_else(|| word.span(), |expansion| expansion.span.clone());
            let message = "This quote or bracket is never closed";
            self.findings.error(code::SYNTAX, &span, message, "add the closing quote or bracket");
            return;
        }
        let program = Program::of(&command.words);
        if let Runs::Never(end) = &command.runs {
            if !matches!(program, Program::Other) {
                self.findings.report(
                    Diagnostic::warning(code::NEVER_RUNS, command.span(), "This command never runs: left out")
                        .also(end.clone(), "the script ends here")
                        .help("if it should run, move it above that line"),
                );
            }
            return;
        }
        match program {
            Program::Cangw(at) => self.cangw(command, &command.words[at..]),
            Program::Elsewhere(word) => {
                let message = "This command runs in another network namespace";
                let help = "a gateway file is for one namespace; import each namespace separately";
                self.findings.error(code::NAMESPACE, &word.span(), message, help);
            }
            Program::Unknown(word) => {
                let message = "Only the shell knows which program this is";
                self.findings.error(code::EXPANSION, &word.span(), message, "write cangw, or remove the command");
            }
            Program::Other => self.other(command),
        }
    }

    /// A command of another program.
    fn other(&mut self, command: &Command) {
        let (words, span) = (&command.words, command.span());
        let text = &self.text[span.clone()];
        // Within a construct, most commands are patterns and conditions.
        if !matches!(command.runs, Runs::Inside(..)) {
            self.left_out.push(span.clone());
        }
        let speaks = !program::is_talk(words) && (program::speaks_of_changes(text) || !program::is_assigning(words));
        // A trap changes jobs at the end, if at all.
        if words[0].text() == "trap" {
            self.mention(span);
        } else if speaks {
            self.mention_or_change(span);
        }
    }

    /// A cangw command; the words are its arguments.
    fn cangw(&mut self, command: &Command, words: &[Word]) {
        let errors = self.findings.errors();
        for expansion in words.iter().filter_map(Word::expansion) {
            let written = &self.text[expansion.span.clone()];
            let (cannot, help) = match expansion.kind {
                ExpansionKind::Variable => {
                    ("expand", "write its value; or run the script and import the output of `cangw -L`")
                }
                ExpansionKind::Command | ExpansionKind::Unclosed => {
                    ("run", "write its output; or run the script and import the output of `cangw -L`")
                }
                ExpansionKind::Braces => ("expand", "write one command per alternative"),
                ExpansionKind::Pattern => ("expand", "write the full name; or quote it if it is literal"),
            };
            let message = format!("candor cannot {cannot} {written:?}");
            self.findings.error(code::EXPANSION, &expansion.span, message, help);
        }
        if self.findings.errors() > errors {
            return;
        }
        let Some(given) = options::given(words, &mut self.findings) else { return };
        let action = match options::action(&given, &mut self.findings) {
            Some(action) => action,
            // A line of a listing without the program's name.
            None if command.words[0].text().starts_with('-') => Action::Add,
            None => {
                let message = "cangw would only print its usage: one of -A, -D, -F and -L is required";
                let help = "write -A to add a job";
                self.findings.error(code::USAGE, &command.span(), message, help);
                return;
            }
        };
        if action == Action::List {
            self.left_out.push(command.span());
            return;
        }
        if !self.always_runs(command) {
            return;
        }
        match action {
            Action::Add => self.add(command.span(), &given, Reading::Script),
            Action::Delete => {
                if let Some(entry) = Entry::read(command.span(), &given, &mut self.findings) {
                    self.table.delete(&entry, &mut self.findings);
                }
            }
            Action::Flush => {
                for option in given.iter().filter(|option| option.value.is_some()) {
                    let message = format!("cangw ignores -{} together with -F, which removes all jobs", option.letter);
                    self.findings.report(
                        Diagnostic::warning(code::IGNORED, option.span.clone(), message)
                            .help("remove it; -D deletes a single job"),
                    );
                }
                self.table.flush();
            }
            Action::List => {}
        }
    }

    fn always_runs(&mut self, command: &Command) -> bool {
        let (message, place, text) = match &command.runs {
            Runs::Once => return true,
            Runs::AfterTest(test) => {
                let message = "This command runs only if the test before it succeeds";
                self.findings.report(
                    Diagnostic::warning(code::TESTED, command.span(), message)
                        .also(test.clone(), "the test")
                        .help("the import assumes that it does"),
                );
                return true;
            }
            // Reported before.
            Runs::Never(_) => return false,
            Runs::AfterFailure(or) => {
                ("This command runs only if the one before it fails", or, "because of this operator")
            }
            Runs::Inside(construct, place) => {
                let message = match construct {
                    Construct::Case | Construct::If => "This command runs conditionally",
                    Construct::Function => "This command runs only if its function is called",
                    Construct::Group | Construct::Loop => "This command may run any number of times",
                };
                (message, place, "decided here")
            }
        };
        let help =
            "put the commands that run into a separate file; or run the script and import the output of `cangw -L`";
        self.findings
            .report(Diagnostic::error(code::CONDITIONAL, command.span(), message).also(place.clone(), text).help(help));
        false
    }

    /// Rejects text that may change jobs in an unknown way.
    fn mention_or_change(&mut self, span: Span) {
        if !program::speaks_of_changes(&self.text[span.clone()]) {
            return self.mention(span);
        }
        let message = "This mentions cangw with -A, -D or -F, but is not a cangw command";
        let help = "write the cangw commands directly; or delete this if it runs no cangw on this machine";
        self.findings.error(code::UNCLEAR, &span, message, help);
    }

    /// Warns of text that mentions cangw outside a cangw command.
    fn mention(&mut self, span: Span) {
        if self.text[span.clone()].to_ascii_lowercase().contains("cangw") {
            self.findings.report(
                Diagnostic::warning(code::MENTION, span, "This mentions cangw, but is not a cangw command: left out")
                    .help("if it adds jobs, write them as cangw commands"),
            );
        }
    }
}

/// The position of each interface, in order of appearance in the text.
fn interfaces(entries: &[Entry]) -> HashMap<&str, usize> {
    let mut in_text: Vec<_> = entries.iter().collect();
    candor_core::order::sort_by_key(&mut in_text, |entry| entry.span.start);
    let mut interfaces = HashMap::new();
    for name in in_text.into_iter().flat_map(|entry| [&entry.source, &entry.destination]) {
        let next = interfaces.len();
        interfaces.entry(name.as_str()).or_insert(next);
    }
    interfaces
}

#[cfg(test)]
mod tests;
