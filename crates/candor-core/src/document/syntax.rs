//! What toml says about text that is not TOML, in words that help with a gateway file.

use std::collections::HashSet;

use toml::de::{DeTable, Error};

use crate::diagnostic::code;
use crate::diagnostic::{Diagnostic, Findings, MAX_FINDINGS, Span};
use crate::document::entry::quote;
use crate::document::{duplicates, limits};

/// Reports the errors of the parser: one for each line, since what follows on a line is mostly a consequence.
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
    let firsts = duplicates::firsts(text, document, duplicates);
    for (cause, span) in causes {
        findings.is_incomplete |= cause.hides_keys(text, &span);
        match cause {
            Cause::Other(_) | Cause::Unclosed(_) => findings.breaks(line_span(text, span.start)),
            // Only the value is missing; what is wrong with its key was written by the user.
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

    /// `first` is for a duplicate: where the other one is.
    fn diagnostic(&self, text: &str, first: Option<Span>, span: Span) -> Diagnostic {
        let at = |span: Span, message: &str| Diagnostic::error(code::SYNTAX, span, message);
        match self {
            Self::Duplicate => duplicate(text, first, span),
            Self::NoValue => at(span, "The value is missing").help("write one after `=`, or remove the line"),
            Self::Unquoted(raw) => at(span, "Text needs quotes").help(format!("write \"{}\"", raw.escape_debug())),
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
                at(span, "Neither `true` nor `false`").help("write true or false in small letters")
            }
            Self::Other(message) if message.starts_with("unexpected key or value, expected newline") => {
                let help = if lacks_quote(text, &span) {
                    "is a quote missing on this line? A text ends at the next quote, also behind a #"
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
    let diagnostic = Diagnostic::error(code::DUPLICATE_KEY, span, format!("{} is there twice", quote(name)))
        .label("again")
        .help(help);
    match first {
        Some(first) => diagnostic.also(first, "first here"),
        None => diagnostic,
    }
}

/// What a line belongs to.
enum Section {
    Bus,
    Other,
    Route,
}

/// The section that a key stands in; keys inside of a value belong to none.
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

/// Whether the line of a place has a quote without its partner. An apostrophe is one only where there are no others.
fn lacks_quote(text: &str, place: &Span) -> bool {
    let line = line_at(text, place.start);
    let quote = if line.contains('"') { '"' } else { '\'' };
    line.matches(quote).count() % 2 == 1
}

pub(crate) fn is_header(text: &str, span: &Span) -> bool {
    line_at(text, span.start).trim_start().starts_with('[')
}

pub(crate) fn line_start(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    text.as_bytes()[..offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
}

fn line_span(text: &str, offset: usize) -> Span {
    let start = line_start(text, offset);
    start..start + line_at(text, offset).len()
}

pub(crate) fn line_at(text: &str, offset: usize) -> &str {
    text.get(line_start(text, offset)..).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

fn control_characters(text: &str) -> impl Iterator<Item = usize> {
    let is_control = |byte: u8| byte.is_ascii_control() & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
    // To count them is much quicker than to look for them, and hardly a file has any.
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
