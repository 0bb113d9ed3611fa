//! Findings in a gateway file, as underlined source lines and as JSON.

use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use candor_config::config::{code, is_key};
use candor_config::import;
use candor_core::diagnostic::{Diagnostic, Label, Position, Severity, Span};
use serde::Serialize;

/// Findings of one code in a digest.
const MOST_OF_A_CODE: usize = 3;

/// A finding as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding<'a> {
    code: &'a str,
    severity: Weight,
    message: &'a str,
    help: Option<&'a str>,
    #[serde(flatten)]
    location: Location<'a>,
    related: Vec<Location<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Severity"))]
enum Weight {
    Error,
    Warning,
    Note,
}

/// A labelled position in the file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Location<'a> {
    /// Line number, from 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
    span: Bytes,
    label: Option<&'a str>,
}

/// Offsets in the file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Bytes {
    start_byte: usize,
    end_byte: usize,
}

impl<'a> Finding<'a> {
    fn of(source: &Source, finding: &'a Diagnostic) -> Self {
        Self {
            code: finding.code,
            severity: match finding.severity {
                Severity::Error => Weight::Error,
                Severity::Warning => Weight::Warning,
                Severity::Note => Weight::Note,
            },
            message: &finding.message,
            help: finding.help.as_deref(),
            location: Location::of(source, &finding.primary),
            related: finding.secondary.iter().map(|label| Location::of(source, label)).collect(),
        }
    }
}

impl<'a> Location<'a> {
    fn of(source: &Source, label: &'a Label) -> Self {
        let Position { line, column } = source.position(label.span.start);
        let span = Bytes { start_byte: label.span.start, end_byte: label.span.end };
        Self { line, column, span, label: Some(label.text.as_str()).filter(|text| !text.is_empty()) }
    }
}

/// Name and text of a gateway file. Offsets in the text equal offsets in its bytes.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    pub fn new(name: String, bytes: &[u8]) -> Self {
        // One character for each invalid byte keeps the offsets.
        let text: String = bytes
            .utf8_chunks()
            .flat_map(|chunk| [chunk.valid().to_owned(), "?".repeat(chunk.invalid().len())])
            .collect();
        Self { name, text: without_keys(&text) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, with `?` for each byte that is not UTF-8, and `*` in place of keys.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line and column of a byte.
    pub fn position(&self, offset: usize) -> Position {
        Position::of(&self.text, offset)
    }

    /// The text of a span, extended to whole characters.
    pub fn part(&self, span: Span) -> &str {
        &self.text[inside(&self.text, &span)]
    }
}

/// The text with `*` in place of keys that stand where the path of a key file belongs.
fn without_keys(text: &str) -> String {
    let mut shown = text.to_owned();
    for (at, name) in text.match_indices("key") {
        let value = text[at + name.len()..].trim_start_matches(['"', '\'', ' ', '\t']).strip_prefix('=');
        let value = value.map(|value| value.trim_start_matches([' ', '\t'])).unwrap_or_default();
        let Some(quote) = value.chars().next().filter(|quote| ['"', '\''].contains(quote)) else { continue };
        let content = value[1..].split(quote).next().unwrap_or_default();
        if is_key(content) {
            let start = text.len() - value.len() + 1;
            shown.replace_range(start..start + content.len(), &"*".repeat(content.len()));
        }
    }
    shown
}

/// Renders findings for a terminal, with a blank line after each.
pub fn text(source: &Source, findings: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    findings.iter().map(|finding| format!("{}\n\n", renderer.render(&[group(source, finding)]))).collect()
}

/// Renders the first findings of each code, and the number of the others.
pub fn digest(source: &Source, findings: &[Diagnostic], colour: bool) -> String {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shown = Vec::new();
    for finding in findings.iter().filter(|finding| !is_more(finding)) {
        let count = seen.entry(finding.code).or_default();
        *count += 1;
        if *count <= MOST_OF_A_CODE {
            shown.push(finding.clone());
        }
    }
    let left_out = seen.iter().filter_map(|(code, count)| Some((code, count.checked_sub(MOST_OF_A_CODE)?)));
    let left_out: Vec<_> =
        left_out.filter(|(_, count)| *count > 0).map(|(code, count)| format!("{count} of {code}")).collect();
    let mut digest = text(source, &shown, colour);
    if !left_out.is_empty() {
        let and_more = if findings.iter().any(is_more) { " and more" } else { "" };
        let name = source.name();
        digest.push_str(&format!(
            "{name}: not shown here: {}{and_more}; candor check lists them\n\n",
            left_out.join(", ")
        ));
    }
    digest
}

/// True for the finding that stands for those beyond a limit.
pub fn is_more(finding: &Diagnostic) -> bool {
    [code::TOO_MANY, code::TOO_MANY_NOTES, code::TOO_MANY_WARNINGS].contains(&finding.code)
}

pub fn json<'a>(source: &Source, findings: &'a [Diagnostic]) -> Vec<Finding<'a>> {
    findings.iter().map(|finding| Finding::of(source, finding)).collect()
}

fn group<'a>(source: &'a Source, finding: &'a Diagnostic) -> Group<'a> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(finding.message.as_str()).id(finding.code);
    let group = if is_about_the_whole_file(finding) || source.text.is_empty() {
        title.element(Origin::path(source.name.as_str()))
    } else {
        title.element(snippet(source, finding))
    };
    match &finding.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// The lines from the first to the last label; the renderer scans all the text it gets.
fn snippet<'a>(source: &'a Source, finding: &'a Diagnostic) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let text = source.text.as_str();
    let labels = || std::iter::once(&finding.primary).chain(&finding.secondary);
    let first = labels().map(|label| inside(text, &label.span).start).min().unwrap_or(0);
    let last = labels().map(|label| inside(text, &label.span).end).max().unwrap_or(0);
    let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline);
    let place = |label: &Label| {
        let span = inside(text, &label.span);
        span.start - start..span.end - start
    };
    let optional = |label: &'a Label| (!label.text.is_empty()).then_some(label.text.as_str());
    Snippet::source(&text[start..end])
        .path(source.name.as_str())
        .line_start(Position::of(text, start).line)
        .annotation(AnnotationKind::Primary.span(place(&finding.primary)).label(optional(&finding.primary)))
        .annotations(
            finding.secondary.iter().map(|label| AnnotationKind::Context.span(place(label)).label(optional(label))),
        )
}

/// A span, limited to the text and extended to whole characters.
fn inside(text: &str, span: &Span) -> Span {
    let is_between = |at: &usize| text.is_char_boundary(*at);
    let start = (0..=span.start.min(text.len())).rev().find(is_between).unwrap_or(0);
    let end = (span.end.max(start)..text.len()).find(is_between).unwrap_or(text.len());
    start..end
}

fn is_about_the_whole_file(finding: &Diagnostic) -> bool {
    let codes = [
        code::FILE_TOO_LARGE,
        code::LINE_TOO_LONG,
        code::NO_BUS,
        code::NO_ROUTE,
        code::NOT_COMPARED,
        code::NOT_SIGNED,
        import::code::NOTHING,
        import::code::READING,
        import::code::TOO_LARGE,
    ];
    is_more(finding) || codes.contains(&finding.code)
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;

    #[test]
    fn a_digest_has_some_of_each_code_and_says_how_many_there_are_more() {
        let route = |at| format!("[[route]]\nname = \"r{at}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123:7FF\"\n");
        let shown = |routes| {
            let routes: String = (0..routes).map(route).collect();
            let text = format!("[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n{routes}");
            let warnings = config::load(text.as_bytes()).unwrap().warnings;
            digest(&Source::new("file".into(), text.as_bytes()), &warnings, false)
        };
        let count = |digest: &str| ["W0501]", "W0503]", "W0506]"].map(|code| digest.matches(code).count());
        assert_eq!(count(&shown(3)), [3, 2, 0]);
        assert!(!shown(3).contains("not shown"));
        assert_eq!(count(&shown(10)), [3, 3, 0]);
        assert!(shown(10).ends_with("file: not shown here: 7 of W0501, 6 of W0503; candor check lists them\n\n"));
        assert_eq!(count(&shown(200)), [3, 3, 0]);
        assert!(shown(200).contains("47 of W0501, 47 of W0503 and more; candor check lists them"), "{}", shown(200));
    }

    #[test]
    fn keys_are_not_shown() {
        let digits = "000102030405060708090A0B0C0D0E0F";
        for line in [
            format!("check = {{ secoc = \"P01\", key = \"{digits}\" }}"),
            format!("check.key='{digits}'"),
            format!("\"key\"\t= \"00 {}\" # key = \"{digits}\"", &digits[2..]),
        ] {
            let source = Source::new("file".into(), line.as_bytes());
            assert!(!source.text().contains("0A0B") && source.text().contains("****"), "{}", source.text());
            assert_eq!(source.text().len(), line.len());
        }
        for line in ["key = \"/etc/candor/body.key\"", "key =", "key", &format!("data = \"{digits}\"")] {
            assert_eq!(Source::new("file".into(), line.as_bytes()).text(), line);
        }
    }
}
