//! TOML documents with the byte range of every key and value, for gateway files and plans of experiments.
//!
//! Syntax errors become findings, and the rest of the document is read.

pub mod entry;
pub mod keys;
pub mod limits;
pub mod syntax;

pub use entry::{closest, quote};

use toml::de::DeTable;

use crate::diagnostic::{Findings, Span};

/// A value with its place in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

pub type Text = Spanned<String>;
pub type Number = Spanned<i64>;
pub type Flag = Spanned<bool>;

impl Spanned<String> {
    /// The place of a part of this string in the file; the place of the whole value if it contains escapes.
    #[must_use]
    pub fn part(&self, range: Span) -> Span {
        let quotes = 1;
        let as_written = self.span.len() == self.value.len() + 2 * quotes;
        if !as_written || range.start > range.end || range.end > self.value.len() {
            return self.span.clone();
        }
        let start = self.span.start + quotes;
        if range.is_empty() { self.span.clone() } else { start + range.start..start + range.end }
    }
}

/// Parses a document that is not a gateway file. `None` if it exceeds a limit.
pub fn document<'t>(text: &'t str, findings: &mut Findings) -> Option<toml::Spanned<DeTable<'t>>> {
    if let Err(diagnostic) = limits::depth(text) {
        findings.report(*diagnostic);
        return None;
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    syntax::report(text, document.get_ref(), &errors, findings);
    Some(document)
}
