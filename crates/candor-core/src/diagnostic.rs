//! Findings: message, place in the text and remedy. The caller renders them.

pub mod code;

use std::collections::BTreeMap;
use std::ops::Range;

/// Byte range in the text of the file.
pub type Span = Range<usize>;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but is probably not what the user intended.
    Warning,
    /// Correct or wrong depending on facts outside the file.
    Note,
}

/// A place in the file with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Byte range in the source text.
    pub span: Span,
    /// Text of the label; empty if the message is sufficient.
    pub text: String,
}

/// An error, a warning or a note about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code such as `E0104`; listed in `docs/findings.md`.
    pub code: &'static str,
    /// An error makes the text invalid.
    pub severity: Severity,
    /// One sentence, capitalised, without a full stop.
    pub message: String,
    /// The position of the mistake.
    pub primary: Label,
    /// Other places that explain the finding.
    pub secondary: Vec<Label>,
    /// Instruction for correcting it, in lower case.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates an error without label and help.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message.into())
    }

    /// Creates a warning without label and help.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message.into())
    }

    /// Creates a note without label and help.
    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, span, message.into())
    }

    /// Sets the text at the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds a place that explains the finding.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Sets the instruction for correcting the mistake.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    fn new(severity: Severity, code: &'static str, span: Span, message: String) -> Self {
        let primary = Label { span, text: String::new() };
        Self { code, severity, message, primary, secondary: Vec::new(), help: None }
    }
}

/// A position as editors count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line number, from 1.
    pub line: usize,
    /// Character within the line, from 1.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset. An offset beyond the text is its end.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let offset = (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        Self { line, column: before[line_start..].chars().count() + 1 }
    }
}

/// The findings of one file, in the order of the checks.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Diagnostic>,
    /// Number of findings per code, including those that are not kept.
    counts: BTreeMap<(Severity, &'static str), usize>,
    /// True if a syntax error may have hidden parts of the file, so a missing key is not an error.
    pub is_incomplete: bool,
    /// Places where a syntax error has cut a value short: what else is wrong there is a consequence.
    broken: Vec<Span>,
}

/// Maximum number of listed findings.
pub const MAX_FINDINGS: usize = 100;

/// Findings of one code that are kept until sorting. This is more than are listed, because checks do not run in the
/// order of the file, and per code, because findings of one kind must not displace others.
const MAX_KEPT: usize = 10 * MAX_FINDINGS;

impl Findings {
    /// Adds a finding. Beyond the limit of its code it is only counted.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        let count = self.counts.entry((diagnostic.severity, diagnostic.code)).or_default();
        *count += 1;
        if *count <= MAX_KEPT {
            self.list.push(diagnostic);
        }
    }

    /// Reports an error with its help.
    pub fn error(&mut self, code: &'static str, span: &Span, message: impl Into<String>, help: impl Into<String>) {
        self.report(Diagnostic::error(code, span.clone(), message).help(help));
    }

    /// The number of findings that are kept.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there is no finding.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Of the findings after the first `known` ones, removes those that repeat one of these, and adds a place to the others.
    pub fn keep_new(&mut self, known: usize, place: &Span, text: &str) {
        for mut finding in self.list.split_off(known.min(self.list.len())) {
            if self.list[..known].contains(&finding) {
                if let Some(count) = self.counts.get_mut(&(finding.severity, finding.code)) {
                    *count -= 1;
                }
            } else {
                finding.secondary.push(Label { span: place.clone(), text: text.to_owned() });
                self.list.push(finding);
            }
        }
    }

    /// The number of errors so far.
    pub fn errors(&self) -> usize {
        let errors = self.counts.iter().filter(|((severity, _), _)| *severity == Severity::Error);
        errors.map(|(_, count)| count).sum()
    }

    /// Counts one more finding of a code of which no more are kept; otherwise it has to be put into words and reported.
    pub fn passes_over(&mut self, severity: Severity, code: &'static str) -> bool {
        let count = self.counts.get_mut(&(severity, code)).filter(|count| **count >= MAX_KEPT);
        count.map(|count| *count += 1).is_some()
    }

    /// Marks the place of a syntax error, where other findings are consequences.
    pub fn breaks(&mut self, span: Span) {
        self.broken.push(span);
    }

    /// Returns true if no more errors are kept, so that callers can stop checking.
    pub fn is_full(&self) -> bool {
        self.errors() >= MAX_KEPT
    }

    /// Returns true if any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns true if there is a finding of this code within a place.
    pub fn has(&self, code: &str, within: &Span) -> bool {
        let is_within = |span: &Span| within.start <= span.start && span.end <= within.end;
        self.list.iter().any(|finding| finding.code == code && is_within(&finding.primary.span))
    }

    /// The findings in the order of the file.
    pub fn into_sorted(self) -> Vec<Diagnostic> {
        self.into_listed().0
    }

    /// The findings in the order of the file, and the number of unlisted findings per code.
    pub fn into_listed(mut self) -> (Vec<Diagnostic>, Vec<(&'static str, usize)>) {
        let is_syntax = |code| [code::SYNTAX, code::DUPLICATE_KEY].contains(&code);
        let touches = |one: &Span, other: &Span| one.start <= other.end && other.start <= one.end;
        self.list.retain(|finding| {
            is_syntax(finding.code) || !self.broken.iter().any(|broken| touches(broken, &finding.primary.span))
        });
        crate::order::sort_by_key(&mut self.list, |diagnostic| {
            (diagnostic.primary.span.start, diagnostic.primary.span.end, diagnostic.code)
        });
        let unlisted = if self.list.len() > MAX_FINDINGS { self.shorten() } else { Vec::new() };
        (self.list, unlisted)
    }

    /// Limits the list: to the first errors in the file, because later ones may be consequences, or without errors to
    /// some findings of each code.
    fn shorten(&mut self) -> Vec<(&'static str, usize)> {
        let has_errors = self.has_errors();
        if has_errors {
            self.list.retain(|finding| finding.severity == Severity::Error);
            self.list.truncate(MAX_FINDINGS);
        } else {
            let mut listed = self.shares();
            self.list.retain(|finding| {
                let left = listed.entry((finding.severity, finding.code)).or_default();
                let is_listed = *left > 0;
                *left = left.saturating_sub(1);
                is_listed
            });
        }
        let more = self.counts.iter().filter_map(|(&(severity, code), &count)| {
            let listed = self.list.iter().filter(|finding| finding.code == code).count();
            (count > listed).then_some((severity, code, count - listed))
        });
        let more: Vec<_> = more.collect();
        let worst_unlisted = more.iter().map(|&(severity, ..)| severity).min().unwrap_or(Severity::Note);
        let worst = if has_errors { Severity::Error } else { worst_unlisted };
        let span = self.list.last().map_or(0..0, |last| last.primary.span.clone());
        let counts: Vec<_> = more.iter().map(|(_, code, count)| format!("{count} of {code}")).collect();
        let counts = format!("not listed: {}", counts.join(", "));
        self.list.push(match worst {
            Severity::Error => Diagnostic::error(code::TOO_MANY, span, "More findings are not listed"),
            Severity::Warning => {
                let message = "More warnings are not listed";
                Diagnostic::warning(code::TOO_MANY_WARNINGS, span, message).help(counts)
            }
            Severity::Note => {
                let message = "More notes are not listed";
                Diagnostic::note(code::TOO_MANY_NOTES, span, message).help(counts)
            }
        });
        more.into_iter().map(|(_, code, count)| (code, count)).collect()
    }

    /// Returns the number of listed findings per code: one of each, then warnings in turn, then notes.
    fn shares(&self) -> BTreeMap<(Severity, &'static str), usize> {
        let kept = |key: &(Severity, &'static str)| self.counts.get(key).map_or(0, |&count| count.min(MAX_KEPT));
        let mut shares: BTreeMap<_, _> = crate::order::map(self.counts.keys().map(|key| (*key, kept(key).min(1))));
        let mut left = MAX_FINDINGS.saturating_sub(shares.values().sum());
        for severity in [Severity::Warning, Severity::Note] {
            while left > 0 {
                let before = left;
                for (key, share) in shares.iter_mut().filter(|(key, _)| key.0 == severity) {
                    let more = usize::from(left > 0 && *share < kept(key));
                    *share += more;
                    left -= more;
                }
                if left == before {
                    break;
                }
            }
        }
        shares
    }
}
