//! Text → [`Spec`]. Touches nothing but the text, and reports what is not as the file format wants it.

pub(super) mod limits;

mod checksum;
mod duplicates;
mod entry;
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
use crate::config::spec::Spec;

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
    Some(sections::spec(document.get_ref(), has_strays, findings))
}
