//! Text → [`Spec`]. Touches nothing but the text, and reports what is not as the file format wants it.

mod checksum;
mod egress;
mod headers;
mod ids;
mod operand;
mod realtime;
mod route;
mod sections;
mod wire;

use std::borrow::Cow;

use candor_core::document::{limits, syntax};
use toml::de::DeTable;

use crate::config::spec::Spec;
use candor_core::diagnostic::Findings;
use candor_core::document::Spanned;

/// The file as written; `None` if it is too strange to look for anything in it.
pub(super) fn spec(text: &str, findings: &mut Findings) -> Option<Spec> {
    if let Err(diagnostic) = limits::depth(text) {
        findings.report(*diagnostic);
        return None;
    }
    let mended = headers::with_stray_routes_apart(text);
    let (document, errors) = DeTable::parse_recoverable(&mended);
    syntax::report(text, document.get_ref(), &errors, findings);
    let has_strays = matches!(mended, Cow::Owned(_));
    let mut spec = sections::spec(document.get_ref(), has_strays, findings);
    for tree in spec.egress.iter_mut().filter_map(|egress| egress.tree.as_mut()) {
        tree.at = in_quotes(text, &tree.text);
    }
    Some(spec)
}

/// Where the content of a string begins, if it stands in the text as it is.
fn in_quotes(text: &str, written: &Spanned<String>) -> Option<usize> {
    /// Quotes, and the end of the line behind three of them, which is no part of the content.
    const MOST_BYTES: usize = "'''\r\n".len();
    let starts = (1..=MOST_BYTES).rev().map(|quotes| written.span.start + quotes);
    starts.into_iter().find(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(&written.value)))
}
