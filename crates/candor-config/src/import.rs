//! cangw's command lines, scripts and listings → can-gw jobs.
//!
//! ```text
//!  script  ──shell──▶ commands ──options──▶ Entry ──Table (add, delete, flush: newest first)──▶ [Job]
//!  listing ──lines──────────────options──▶ Entry ──as listed────────────────────────────────▶ [Job]
//! ```
//!
//! can-gw delivers a frame to the newest job first. So the last `cangw -A` of a script comes first in what is made of
//! it, and the first line of `cangw -L` is the first, too.
//!
//! Nothing runs. What only a running shell could know is a mistake that says so, and nothing is lost in silence.
//!
//! # Source
//! The behaviour of `cangw.c` (can-utils 2020.11 and 2026) and of `net/can/gw.c`; `docs/cangw.md` says what becomes of
//! each of their peculiarities.

pub mod code;
pub mod promises;

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

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The names of the interfaces; a job's buses are positions in this list.
    pub interfaces: Vec<String>,
    /// The jobs that are there at the end, in the order of delivery, as those of [`lower()`](crate::lower()).
    pub jobs: Vec<Job>,
    /// Where in the text each job stands.
    pub places: Vec<Span>,
    /// Order in which the lines were read.
    pub reading: Reading,
    /// Warnings, in the order of the text.
    pub warnings: Vec<Diagnostic>,
    /// Commands that have nothing to do with can-gw jobs, and `cangw -L`.
    pub left_out: Vec<Span>,
}

/// Reads the jobs from the bytes of a text. Without a reading, a text is a listing if all its lines end with counters and it does
/// not begin with `#!`.
///
/// # Errors
/// Everything that is wrong, and the warnings too, in the order of the text. Spans count bytes from the start.
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

/// Texts beyond this many bytes are refused: they hold more jobs than a gateway file has room for.
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
            self.findings.report(Diagnostic::error(code::NOTHING, 0..0, message).help(help));
        }
        if self.findings.has_errors() {
            return Err(self.findings.into_sorted());
        }
        let entries = self.table.into_entries();
        let buses = interfaces(&entries);
        let bus = |name: &String| BusIndex(buses[name.as_str()]);
        let jobs =
            entries.iter().map(|entry| entry.job(bus(&entry.ends.source), bus(&entry.ends.destination))).collect();
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
                Some(_) => self.findings.report(
                    Diagnostic::error(code::USAGE, line.span, "A listing contains only -A commands")
                        .help("import it as a script"),
                ),
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
            self.findings.report(
                Diagnostic::warning(
                    code::READING,
                    0..0,
                    "The script contains lines of a listing; they are read as a script",
                )
                .help(
                    "`cangw -L` prints the newest job first, a script adds it last, so the order is reversed, as when \
                         the script runs; to keep the order, import the text as a listing",
                ),
            );
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
            self.findings.report(
                Diagnostic::error(code::SYNTAX, span, "This quote or bracket is never closed")
                    .help("add the closing quote or bracket"),
            );
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
            Program::Elsewhere(word) => self.findings.report(
                Diagnostic::error(code::NAMESPACE, word.span(), "This command runs in another network namespace")
                    .help("a gateway file is for one namespace; import each namespace separately"),
            ),
            Program::Unknown(word) => {
                self.findings.report(
                    Diagnostic::error(code::EXPANSION, word.span(), "Only the shell knows which program this is")
                        .help("write cangw, or remove the command"),
                );
            }
            Program::Other => self.other(command),
        }
    }

    /// A command that is not cangw's.
    fn other(&mut self, command: &Command) {
        let (words, span) = (&command.words, command.span());
        let text = &self.text[span.clone()];
        // What runs within a construct is not listed: most of it are patterns and conditions.
        if !matches!(command.runs, Runs::Inside(..)) {
            self.left_out.push(span.clone());
        }
        let speaks = !program::is_talk(words) && (program::speaks_of_changes(text) || !program::is_assigning(words));
        // What is set as a trap changes jobs at the end, if at all.
        if words[0].text() == "trap" {
            self.mention(span);
        } else if speaks {
            self.mention_or_change(span);
        }
    }

    /// A cangw command; the words are its arguments.
    fn cangw(&mut self, command: &Command, words: &[Word]) {
        let expansions = words.iter().filter_map(Word::expansion);
        let mut is_known = true;
        for expansion in expansions {
            let written = &self.text[expansion.span.clone()];
            let (message, help) = match expansion.kind {
                ExpansionKind::Variable => (
                    format!("candor cannot expand {written:?}"),
                    "write its value; or run the script and import the output of `cangw -L`",
                ),
                ExpansionKind::Command | ExpansionKind::Unclosed => (
                    format!("candor cannot run {written:?}"),
                    "write its output; or run the script and import the output of `cangw -L`",
                ),
                ExpansionKind::Braces => {
                    (format!("candor cannot expand {written:?}"), "write one command per alternative")
                }
                ExpansionKind::Pattern => {
                    (format!("candor cannot expand {written:?}"), "write the full name; or quote it if it is literal")
                }
            };
            self.findings.report(Diagnostic::error(code::EXPANSION, expansion.span.clone(), message).help(help));
            is_known = false;
        }
        let Some(given) = is_known.then(|| options::given(words, &mut self.findings)).flatten() else { return };
        let action = match options::action(&given, &mut self.findings) {
            Some(action) => action,
            // A line of a listing without the program's name.
            None if command.words[0].text().starts_with('-') => Action::Add,
            None => {
                let message = "cangw would only print its usage: one of -A, -D, -F and -L is required";
                let help = "write -A to add a job";
                self.findings.report(Diagnostic::error(code::USAGE, command.span(), message).help(help));
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
                self.findings.report(
                    Diagnostic::warning(
                        code::TESTED,
                        command.span(),
                        "This command runs only if the test before it succeeds",
                    )
                    .also(test.clone(), "the test")
                    .help("the import assumes that it does"),
                );
                return true;
            }
            // Said before.
            Runs::Never(_) => return false,
            Runs::AfterFailure(or) => {
                ("This command runs only if the one before it fails", or, "because of this operator")
            }
            Runs::Inside(construct, place) => {
                let message = match construct {
                    Construct::Case | Construct::If => "Whether this command runs is decided when the script runs",
                    Construct::Function => "Whether this command runs depends on the callers of the function",
                    Construct::Group | Construct::Loop => "How often this command runs is decided when the script runs",
                };
                (message, place, "decided here")
            }
        };
        self.findings.report(
            Diagnostic::error(code::CONDITIONAL, command.span(), message).also(place.clone(), text).help(
                "put the commands that run into a file of their own; or run the script and import the output of \
                 `cangw -L`",
            ),
        );
        false
    }

    /// Refuses text that may change jobs in a way that was not understood.
    fn mention_or_change(&mut self, span: Span) {
        if !program::speaks_of_changes(&self.text[span.clone()]) {
            return self.mention(span);
        }
        self.findings.report(
            Diagnostic::error(code::UNCLEAR, span, "This mentions cangw with -A, -D or -F, but is not a cangw command")
                .help("write the cangw commands directly; or delete this if it runs no cangw on this machine"),
        );
    }

    /// Warns of text that speaks of cangw and was not understood.
    fn mention(&mut self, span: Span) {
        if self.text[span.clone()].to_ascii_lowercase().contains("cangw") {
            self.findings.report(
                Diagnostic::warning(code::MENTION, span, "This mentions cangw, but is not a cangw command: left out")
                    .help("if it adds jobs, write them as cangw commands"),
            );
        }
    }
}

/// The position of each interface in the order in which the text names them.
fn interfaces(entries: &[Entry]) -> HashMap<&str, usize> {
    let mut in_text: Vec<_> = entries.iter().collect();
    in_text.sort_by_key(|entry| entry.span.start);
    let mut interfaces = HashMap::new();
    for name in in_text.into_iter().flat_map(|entry| [&entry.ends.source, &entry.ends.destination]) {
        let next = interfaces.len();
        interfaces.entry(name.as_str()).or_insert(next);
    }
    interfaces
}

#[cfg(test)]
mod tests;
