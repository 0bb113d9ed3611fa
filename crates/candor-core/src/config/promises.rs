//! What [`load`] promises for any input at all.

use crate::config::diagnostic::{Position, Severity};
use crate::config::{MAX_FILE_BYTES, load};
use crate::job;

/// Loads a file and checks everything that must hold whatever is in it: the body of the fuzz target `config_parse`,
/// and what its corpus is replayed with.
///
/// # Panics
/// If [`load`] breaks a promise.
pub fn hold(bytes: &[u8]) {
    let findings = match load(bytes) {
        Ok(loaded) => {
            let (plan, buses) = (&loaded.plan, loaded.plan.buses().len());
            assert!(buses > 1, "a route needs two buses");
            for route in plan.routes() {
                assert!(route.from != route.to && route.from.0 < buses && route.to.0 < buses, "ends of {}", route.name);
            }
            assert!(job::lower(plan).len() >= plan.routes().len(), "every route has a job");
            assert!(loaded.warnings.iter().all(|finding| finding.severity == Severity::Warning));
            loaded.warnings
        }
        Err(findings) => {
            assert!(findings.iter().any(|finding| finding.severity == Severity::Error), "a refusal has a reason");
            findings
        }
    };
    assert!(findings.is_sorted_by_key(|finding| finding.primary.span.start), "findings are in the order of the file");
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    for finding in findings {
        assert!(!finding.message.is_empty() && !finding.message.contains(char::is_control), "{:?}", finding.message);
        for label in std::iter::once(&finding.primary).chain(&finding.secondary) {
            let span = &label.span;
            assert!(span.start <= span.end && span.end <= bytes.len(), "{span:?} is outside the file");
            assert!(text.is_empty() || text.get(span.clone()).is_some(), "{span:?} cuts a character");
            if bytes.len() <= MAX_FILE_BYTES {
                let position = Position::of(text, span.start);
                assert!(position.line > 0 && position.column > 0);
            }
        }
    }
}
