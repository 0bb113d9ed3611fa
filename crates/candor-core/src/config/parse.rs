//! Text → [`Spec`]. Touches nothing but the text, and reports what is not as the file format wants it.

pub(crate) mod limits;

mod checksum;
mod duplicates;
mod egress;
pub(crate) mod entry;
mod headers;
mod ids;
mod operand;
mod realtime;
mod route;
mod sections;
mod syntax;
mod wire;

pub(crate) use entry::{closest, quote};

use std::borrow::Cow;

use toml::de::DeTable;

use crate::config::diagnostic::Findings;
use crate::config::spec::{Spanned, Spec};

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

/// A document that is no gateway file, and needs none of what is mended there; `None` if it is too strange to look at.
pub(crate) fn document<'t>(text: &'t str, findings: &mut Findings) -> Option<toml::Spanned<DeTable<'t>>> {
    if let Err(diagnostic) = limits::depth(text) {
        findings.report(*diagnostic);
        return None;
    }
    let (document, errors) = DeTable::parse_recoverable(text);
    syntax::report(text, document.get_ref(), &errors, findings);
    Some(document)
}

/// Where the content of a string begins, if it stands in the text as it is.
fn in_quotes(text: &str, written: &Spanned<String>) -> Option<usize> {
    /// Quotes, and the end of the line behind three of them, which is no part of the content.
    const MOST_BYTES: usize = "'''\r\n".len();
    let starts = (1..=MOST_BYTES).rev().map(|quotes| written.span.start + quotes);
    starts.into_iter().find(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(&written.value)))
}
