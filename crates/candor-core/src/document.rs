//! TOML documents with the byte range of every key and value: what gateway files and plans of experiments are read from.
//!
//! Nothing stops at the first mistake: syntax errors become findings, and the rest of the document is read.

pub mod entry;
pub mod keys;
pub mod limits;
pub mod syntax;

mod duplicates;

pub use entry::{closest, quote};

use toml::de::DeTable;

use crate::diagnostic::{Findings, Span};

/// A value and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its place in the text.
    pub span: Span,
}

pub type Text = Spanned<String>;
pub type Number = Spanned<i64>;
pub type Flag = Spanned<bool>;

impl Spanned<String> {
    /// The place in the file of a part of this string.
    ///
    /// Escapes make the written text longer than the string; where there are some, the whole value is meant.
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

/// A document that is no gateway file, and needs none of what is mended there; `None` if it is too strange to look at.
pub fn document<'t>(text: &'t str, findings: &mut Findings) -> Option<toml::Spanned<DeTable<'t>>> {
    if let Err(diagnostic) = limits::depth(text) {
        findings.report(*diagnostic);
        return None;
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    syntax::report(text, document.get_ref(), &errors, findings);
    Some(document)
}
