//! What toml says about text that is not TOML, in words that help with a gateway file.

use std::collections::HashSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings, MAX_FINDINGS, Span};
use crate::config::parse::entry::quote;

/// Reports the errors of the parser: one for each line, since what follows on a line is mostly a consequence.
pub(super) fn report(text: &str, document: &DeTable<'_>, errors: &[Error], findings: &mut Findings) {
    let mut lines = HashSet::new();
    for offset in control_characters(text).take(MAX_FINDINGS) {
        if lines.insert(line_start(text, offset)) {
            let character = text[offset..].chars().next().map_or(0, u32::from);
            let message = format!("Control character U+{character:04X} in the text");
            findings.torn = true;
            findings.breaks(line_span(text, offset));
            findings.report(
                Diagnostic::error(code::SYNTAX, offset..offset + 1, message).help("remove it; is this a text file?"),
            );
        }
    }
    for error in errors {
        if lines.len() > MAX_FINDINGS {
            break;
        }
        let span = error.span().unwrap_or(text.len()..text.len());
        if !lines.insert(line_start(text, span.start)) {
            continue;
        }
        let cause = Cause::of(error.message(), text, &span);
        findings.torn |= cause.tears(text, &span);
        match cause {
            Cause::Other(_) | Cause::Unclosed(_) => findings.breaks(line_span(text, span.start)),
            // Only the value is missing; what is wrong with its key was written by the user.
            Cause::NoValue => findings.breaks(span.clone()),
            Cause::Duplicate | Cause::Unquoted(_) => {}
        }
        findings.report(cause.diagnostic(text, document, span));
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

    /// Whether keys may have been lost on the way, so that a missing one is no finding of its own.
    fn tears(&self, text: &str, span: &Span) -> bool {
        match self {
            Self::NoValue | Self::Unquoted(_) => false,
            Self::Duplicate => is_header(text, span),
            Self::Unclosed(_) => true,
            Self::Other(message) => !message.starts_with("invalid b") && !message.starts_with("missing escape"),
        }
    }

    fn diagnostic(&self, text: &str, document: &DeTable<'_>, span: Span) -> Diagnostic {
        let at = |span: Span, message: &str| Diagnostic::error(code::SYNTAX, span, message);
        match self {
            Self::Duplicate => duplicate(text, document, span),
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

fn duplicate(text: &str, document: &DeTable<'_>, span: Span) -> Diagnostic {
    let name = text.get(span.clone()).unwrap_or_default();
    let is_header = is_header(text, &span);
    let first = if is_header { first_header(text, &span) } else { first_key(document, name, &span) };
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

/// The nearest key of this name before the duplicate, in the same nesting.
fn first_key(table: &DeTable<'_>, name: &str, duplicate: &Span) -> Option<Span> {
    let mut best = None;
    for (key, value) in table {
        if key.get_ref().as_ref() == name && key.span().start < duplicate.start {
            best = best.max(Some((key.span().start, key.span().end)));
        }
        best = best.max(within(key, value, name, duplicate).map(|span| (span.start, span.end)));
    }
    best.map(|(start, end)| start..end)
}

fn within(
    key: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
    name: &str,
    duplicate: &Span,
) -> Option<Span> {
    // The span of a table with a header is the header; that of an inline table is all of it and comes after the key.
    let is_inline = value.span().start >= key.span().end;
    if is_inline && !value.span().contains(&duplicate.start) {
        return None;
    }
    match value.get_ref() {
        DeValue::Table(table) => first_key(table, name, duplicate),
        DeValue::Array(array) => array
            .iter()
            .filter_map(|item| item.get_ref().as_table())
            .filter_map(|table| first_key(table, name, duplicate))
            .max_by_key(|span| span.start),
        _ => None,
    }
}

fn first_header(text: &str, duplicate: &Span) -> Option<Span> {
    let names = |line: &str| line.split('#').next().unwrap_or_default().replace(['[', ']', ' ', '\t', '\r'], "");
    let end = line_start(text, duplicate.start);
    let wanted = names(line_at(text, duplicate.start));
    let mut start = 0;
    for line in text[..end].split_inclusive('\n') {
        if line.trim_start().starts_with('[') && names(line.trim_end()) == wanted {
            return Some(start..start + line.trim_end().len());
        }
        start += line.len();
    }
    None
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
    text.bytes()
        .enumerate()
        .filter(|&(_, byte)| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r'))
        .map(|(offset, _)| offset)
}

fn is_about_time(subject: &str) -> bool {
    ["time", "date", "offset"].iter().any(|word| subject.contains(word))
}

fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
