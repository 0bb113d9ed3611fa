//! Codes of findings that only plans have. They are stable; `docs/plans.md` lists them. Other findings have the codes of gateway
//! files ([`candor_core::diagnostic::code`]).

use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::closest;

candor_core::codes! {
    LEVEL = "P0301";
    LEVEL_TWICE = "P0302";
    UNDEFINED = "P0303";
    NO_LEVEL = "P0304";
    RULES = "P0305";
    RANGE = "P0306";
    GATEWAY = "P0307";
    BUDGET = "P0308";
    BENCH = "P0309";
    LOG = "P0310";
    STAMPS = "P0311";
    NO_CELL = "P0401";
    TOO_MANY_CELLS = "P0402";
    IMPOSSIBLE = "P0403";
    EXCLUDES_NOTHING = "P0501";
    INCLUDED_ALREADY = "P0502";
    UNUSED = "P0503";
    CUT = "P0504";
}

/// Reports an error with its remedy. Always `None`, to be returned.
pub(super) fn error<T>(
    findings: &mut Findings,
    code: &'static str,
    span: &Span,
    message: impl Into<String>,
    help: impl Into<String>,
) -> Option<T> {
    findings.report(Diagnostic::error(code, span.clone(), message).help(help));
    None
}

pub(super) fn warning(
    findings: &mut Findings,
    code: &'static str,
    span: &Span,
    message: impl Into<String>,
    help: impl Into<String>,
) {
    findings.report(Diagnostic::warning(code, span.clone(), message).help(help));
}

pub(super) fn suggest(diagnostic: Diagnostic, word: &str, known: &[&str]) -> Diagnostic {
    match closest(word, known) {
        Some(name) if name != word => diagnostic.label(format!("did you mean \"{name}\"?")),
        _ => diagnostic,
    }
}
