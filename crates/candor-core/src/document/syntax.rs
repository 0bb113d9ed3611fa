//! Syntax errors of the TOML parser as findings, with help for gateway files.

use std::collections::{HashMap, HashSet};

use toml::de::{DeTable, DeValue, Error};

use crate::diagnostic::{Diagnostic, Findings, MAX_FINDINGS, Span, code};
use crate::document::entry::quote;
use crate::document::limits;

/// Reports the errors of the parser: one per line, because later ones on a line are mostly consequences.
pub fn report(text: &str, document: &DeTable<'_>, errors: &[Error], findings: &mut Findings) {
    let mut lines = HashSet::new();
    for offset in control_characters(text).take(MAX_FINDINGS) {
        if lines.insert(line_start(text, offset)) {
            let character = text[offset..].chars().next().map_or(0, u32::from);
            let message = format!("Control character U+{character:04X} in the text");
            findings.is_incomplete = true;
            findings.breaks(line_span(text, offset));
            findings.report(
                Diagnostic::error(code::SYNTAX, offset..offset + 1, message).help("remove it; is this a text file?"),
            );
        }
    }
    let mut causes = Vec::new();
    for error in errors {
        if lines.len() > MAX_FINDINGS {
            break;
        }
        let span = error.span().unwrap_or(text.len()..text.len());
        if lines.insert(line_start(text, span.start)) {
            causes.push((Cause::of(error.message(), text, &span), span));
        }
    }
    let duplicates = causes.iter().filter(|(cause, _)| matches!(cause, Cause::Duplicate)).map(|(_, span)| span);
    let firsts = firsts(text, document, duplicates);
    for (cause, span) in causes {
        findings.is_incomplete |= cause.hides_keys(text, &span);
        match cause {
            Cause::Other(_) | Cause::Unclosed(_) => findings.breaks(line_span(text, span.start)),
            // Only the value is missing; other errors of its key are not consequences.
            Cause::NoValue => findings.breaks(span.clone()),
            Cause::Duplicate | Cause::Unquoted(_) => {}
        }
        findings.report(cause.diagnostic(text, firsts.get(&span.start).cloned(), span));
    }
}

enum Cause<'t> {
    Duplicate,
    NoValue,
    Other(&'t str),
    Unclosed(&'static str),
    Unquoted(&'t str),
}

impl<'t> Cause<'t> {
    fn of(message: &'t str, text: &'t str, span: &Span) -> Self {
        let raw = text.get(span.clone()).unwrap_or_default();
        let (subject, _expected) = message.split_once(", expected").unwrap_or((message, ""));
        match subject {
            "duplicate key" => Self::Duplicate,
            "string values must be quoted" if raw.is_empty() => Self::NoValue,
            "unclosed table" => Self::Unclosed("]"),
            "unclosed array table" => Self::Unclosed("]]"),
            "unclosed array" => Self::Unclosed("]"),
            "unclosed inline table" => Self::Unclosed("}"),
            "string values must be quoted" => Self::Unquoted(raw),
            // `match = 123:7FF` looks like a time of day to TOML.
            subject if is_about_time(subject) && !raw.is_empty() => Self::Unquoted(raw),
            _ => Self::Other(message),
        }
    }

    /// Returns true if keys may be hidden, so a missing key is not a finding.
    fn hides_keys(&self, text: &str, span: &Span) -> bool {
        match self {
            Self::NoValue | Self::Unquoted(_) => false,
            Self::Duplicate => is_header(text, span),
            Self::Unclosed(_) => true,
            Self::Other(message) => !message.starts_with("invalid b") && !message.starts_with("missing escape"),
        }
    }

    /// `first` is the first occurrence of a duplicate.
    fn diagnostic(&self, text: &str, first: Option<Span>, span: Span) -> Diagnostic {
        let at = |span: Span, message: &str| Diagnostic::error(code::SYNTAX, span, message);
        match self {
            Self::Duplicate => duplicate(text, first, span),
            Self::NoValue => at(span, "The value is missing").help("write one after `=`, or remove the line"),
            Self::Unquoted(raw) => {
                let text = raw.trim_matches(['“', '”', '„', '‘', '’']);
                let straight = if text == *raw { "" } else { ", with straight quotes" };
                at(span, "Text needs quotes").help(format!("write \"{}\"{straight}", text.escape_debug()))
            }
            Self::Unclosed(bracket) => at(span, &format!("`{bracket}` is missing"))
                .label(format!("expected `{bracket}`"))
                .help(format!("close what was opened with `{bracket}`")),
            Self::Other("key with no value, expected `=`") => {
                at(span, "`=` is missing").help("write `key = value`, `[bus.NAME]` or `[[route]]`")
            }
            Self::Other(message) if message.starts_with("invalid basic string") => {
                at(span, "The closing `\"` is missing").help("a text begins and ends with `\"` on one line")
            }
            Self::Other(message) if message.starts_with("invalid boolean") => {
                at(span, "Neither `true` nor `false`").help("write true or false in lower case")
            }
            Self::Other(message) if message.starts_with("unexpected key or value, expected newline") => {
                let help = if lacks_quote(text, &span) {
                    "is a quote missing on this line? A text ends at the next quote, even after a #"
                } else {
                    "every key and every header has a line of its own; comments begin with #"
                };
                at(span, "The line should end here").help(help)
            }
            Self::Other(message) => at(span, &sentence(message))
                .help("a line is `key = value`, `[bus.NAME]` or `[[route]]`; docs/config.md shows every key"),
        }
    }
}

fn duplicate(text: &str, first: Option<Span>, span: Span) -> Diagnostic {
    let name = text.get(span.clone()).unwrap_or_default();
    let is_header = is_header(text, &span);
    let help = if is_header {
        "give the second table another name, or merge the two"
    } else {
        match section(text, &span) {
            Section::Bus => "remove one of the two; a second bus starts with its own [bus.NAME]",
            Section::Route => "remove one of the two; a second route starts with its own [[route]]",
            Section::Other => "remove one of the two",
        }
    };
    let diagnostic = Diagnostic::error(code::DUPLICATE_KEY, span, format!("{} is defined twice", quote(name)))
        .label("again")
        .help(help);
    match first {
        Some(first) => diagnostic.also(first, "first here"),
        None => diagnostic,
    }
}

/// Finds the first occurrence of each duplicate key or header, by the start of the duplicate. One pass finds all: a
/// file may have a hundred duplicates and a hundred thousand tables.
fn firsts<'s>(text: &str, document: &DeTable<'_>, duplicates: impl Iterator<Item = &'s Span>) -> HashMap<usize, Span> {
    let (headers, keys): (Vec<_>, Vec<_>) = duplicates.partition(|place| is_header(text, place));
    let mut search = Keys { wanted: HashMap::new(), firsts: HashMap::new() };
    for place in &keys {
        let name = text.get((*place).clone()).unwrap_or_default();
        search.wanted.entry(name).or_default().push(place.start);
    }
    if !keys.is_empty() {
        search.visit(document, &(0..text.len()));
    }
    let mut firsts = search.firsts;
    if !headers.is_empty() {
        first_headers(text, &headers, &mut firsts);
    }
    firsts
}

struct Keys<'t> {
    /// The places of duplicates by name.
    wanted: HashMap<&'t str, Vec<usize>>,
    firsts: HashMap<usize, Span>,
}

impl Keys<'_> {
    /// Finds the nearest key before each duplicate with its name; in an inline table only for duplicates inside it.
    fn visit(&mut self, table: &DeTable<'_>, within: &Span) {
        for (key, value) in table {
            for &duplicate in self.wanted.get(key.get_ref().as_ref()).into_iter().flatten() {
                if key.span().start < duplicate && within.contains(&duplicate) {
                    let first = self.firsts.entry(duplicate).or_insert_with(|| key.span());
                    if first.start < key.span().start {
                        *first = key.span();
                    }
                }
            }
            // The span of a table with a header is the header; that of an inline table is the table, after the key.
            let is_inline = value.span().start >= key.span().end;
            let within = if is_inline { &value.span() } else { within };
            match value.get_ref() {
                DeValue::Table(table) => self.visit(table, within),
                DeValue::Array(array) => {
                    array
                        .iter()
                        .filter_map(|item| item.get_ref().as_table())
                        .for_each(|table| self.visit(table, within));
                }
                _ => {}
            }
        }
    }
}

/// Finds the first line with the same header.
fn first_headers(text: &str, duplicates: &[&Span], firsts: &mut HashMap<usize, Span>) {
    let names = |line: &str| line.split('#').next().unwrap_or_default().replace(['[', ']', ' ', '\t', '\r'], "");
    let mut wanted: HashMap<_, Vec<usize>> = HashMap::new();
    for place in duplicates {
        wanted.entry(names(line_at(text, place.start))).or_default().push(place.start);
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            for &duplicate in wanted.get(&names(line.trim_end())).into_iter().flatten() {
                if start < line_start(text, duplicate) {
                    firsts.entry(duplicate).or_insert_with(|| start..start + line.trim_end().len());
                }
            }
        }
        start += line.len();
    }
}

enum Section {
    Bus,
    Other,
    Route,
}

/// The section of a key; keys inside a value have none.
fn section(text: &str, key: &Span) -> Section {
    let start = line_start(text, key.start);
    if !text[start..key.start].trim().is_empty() {
        return Section::Other;
    }
    let header = text[..start].lines().rev().map(str::trim_start).find(|line| line.starts_with('['));
    match header.map(|header| header.trim_start_matches(['[', ' '])) {
        Some(name) if name.starts_with("bus") => Section::Bus,
        Some(name) if name.starts_with("route") => Section::Route,
        _ => Section::Other,
    }
}

/// Returns true if the line has an unbalanced quote. Apostrophes count only in a line without double quotes.
fn lacks_quote(text: &str, place: &Span) -> bool {
    let line = line_at(text, place.start);
    let quote = if line.contains('"') { '"' } else { '\'' };
    line.matches(quote).count() % 2 == 1
}

fn is_header(text: &str, span: &Span) -> bool {
    line_at(text, span.start).trim_start().starts_with('[')
}

fn line_start(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    text.as_bytes()[..offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
}

fn line_span(text: &str, offset: usize) -> Span {
    let start = line_start(text, offset);
    start..start + line_at(text, offset).len()
}

fn line_at(text: &str, offset: usize) -> &str {
    text.get(line_start(text, offset)..).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

fn control_characters(text: &str) -> impl Iterator<Item = usize> {
    let is_control = |byte: u8| byte.is_ascii_control() & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
    // Counting is much faster than searching, and most files have none.
    let count = limits::count(text, is_control);
    text.bytes().enumerate().filter(move |&(_, byte)| is_control(byte)).map(|(offset, _)| offset).take(count)
}

fn is_about_time(subject: &str) -> bool {
    ["time", "date", "offset"].iter().any(|word| subject.contains(word))
}

fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
