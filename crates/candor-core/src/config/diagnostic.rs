//! What is wrong with a file, where, and what to do about it. Rendering is the binary's business.

use std::collections::BTreeMap;
use std::ops::Range;

/// Byte range in the text of the file.
pub type Span = Range<usize>;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The file is not a gateway.
    Error,
    /// The file is a gateway, but perhaps not the one that was meant.
    Warning,
    /// Something that the file alone cannot tell to be wrong.
    Note,
}

/// A place in the file and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What; empty when the message says all.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code such as `E0104`; listed in `docs/config.md`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One short sentence.
    pub message: String,
    /// The place that is wrong.
    pub primary: Label,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    pub(crate) fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message.into())
    }

    pub(crate) fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message.into())
    }

    pub(crate) fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, span, message.into())
    }

    /// What to say at the primary place.
    pub(crate) fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// A further place that explains the finding.
    pub(crate) fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    fn new(severity: Severity, code: &'static str, span: Span, message: String) -> Self {
        let primary = Label { span, text: String::new() };
        Self { code, severity, message, primary, secondary: Vec::new(), help: None }
    }
}

/// A place as editors count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset; an offset beyond the text is its end.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let offset = (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        Self { line, column: before[line_start..].chars().count() + 1 }
    }
}

/// The findings of one file, in the order in which they are made.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    /// How many of each severity are in the list.
    kept: BTreeMap<Severity, usize>,
    /// Whether a syntax error may have swallowed parts of the file, so that absence proves nothing.
    pub(crate) torn: bool,
    /// Places where a syntax error has cut a value short: what else is wrong there is a consequence.
    broken: Vec<Span>,
}

/// More findings than this are not listed: after so many the file is something else than a gateway.
pub(crate) const MAX_FINDINGS: usize = 100;

/// Findings of one severity to keep before sorting. More than are listed, because the walk is not in the order of the
/// file; each severity by itself, because no number of warnings may hide an error.
const MAX_KEPT: usize = 10 * MAX_FINDINGS;

impl Findings {
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        let kept = self.kept.entry(diagnostic.severity).or_default();
        if *kept < MAX_KEPT {
            *kept += 1;
            self.list.push(diagnostic);
        }
    }

    /// Marks a place where whatever else is found was not written by the user.
    pub(crate) fn breaks(&mut self, span: Span) {
        self.broken.push(span);
    }

    /// Whether no more errors are kept, so that no effort should go into finding them.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.get(&Severity::Error).is_some_and(|&kept| kept >= MAX_KEPT)
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether there is a finding of this code within a place.
    pub(crate) fn has(&self, code: &str, within: &Span) -> bool {
        let is_within = |span: &Span| within.start <= span.start && span.end <= within.end;
        self.list.iter().any(|finding| finding.code == code && is_within(&finding.primary.span))
    }

    /// The findings in the order of the file.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        let is_syntax = |code| [super::code::SYNTAX, super::code::DUPLICATE_KEY].contains(&code);
        let touches = |one: &Span, other: &Span| one.start <= other.end && other.start <= one.end;
        self.list.retain(|finding| {
            is_syntax(finding.code) || !self.broken.iter().any(|broken| touches(broken, &finding.primary.span))
        });
        self.list
            .sort_by_key(|diagnostic| (diagnostic.primary.span.start, diagnostic.primary.span.end, diagnostic.code));
        if self.list.len() > MAX_FINDINGS {
            let has_errors = self.has_errors();
            self.list.retain(|finding| !has_errors || finding.severity == Severity::Error);
            // Notes fill what the warnings leave.
            let worse = self.list.iter().filter(|finding| finding.severity != Severity::Note).count();
            let mut notes = 0;
            self.list.retain(|finding| {
                notes += usize::from(finding.severity == Severity::Note);
                finding.severity != Severity::Note || worse + notes <= MAX_FINDINGS
            });
            self.list.truncate(MAX_FINDINGS);
            let span = self.list.last().map_or(0..0, |last| last.primary.span.clone());
            self.list.push(if has_errors {
                Diagnostic::error(super::code::TOO_MANY, span, "There are more findings, which are not listed")
            } else {
                Diagnostic::warning(
                    super::code::TOO_MANY_WARNINGS,
                    span,
                    "There are more warnings, which are not listed",
                )
            });
        }
        self.list
    }
}
