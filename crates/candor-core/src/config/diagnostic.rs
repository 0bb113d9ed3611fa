//! What is wrong with a file, where, and what to do about it. Rendering is the binary's business.

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
    /// Error or warning.
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
