//! Invariants of [`parse_script`] and [`script`] for any text.

use super::{parse, parse_script, script};
use candor_core::diagnostic::{Diagnostic, Severity};

/// Reads a text and checks the invariants: the body of the fuzz target `egress_text`.
///
/// # Panics
/// If an invariant is violated.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let findings = match parse_script(text) {
        Ok(parsed) => {
            assert!(parsed.notes.iter().all(|finding| finding.severity != Severity::Error));
            for span in &parsed.left_out {
                assert!(text.get(span.clone()).is_some(), "{span:?} is no part of the text");
            }
            for (_, tree) in &parsed.trees {
                // What tc cannot say is refused, and what is said is read again as it is.
                if let Ok(written) = script(tree, "can0") {
                    let again = parse(&written).unwrap_or_else(|findings| panic!("{written}\n{findings:#?}"));
                    assert_eq!(again.tree, *tree, "{written}");
                }
            }
            parsed.notes
        }
        Err(findings) => {
            assert!(findings.iter().any(|finding| finding.severity == Severity::Error), "a refusal has a reason");
            findings
        }
    };
    assert!(findings.is_sorted_by_key(|finding| finding.primary.span.start), "findings are in the order of the text");
    findings.iter().for_each(|finding| can_be_shown(finding, text));
    let as_tree = parse(text);
    as_tree
        .map_or_else(|findings| findings, |parsed| parsed.notes)
        .iter()
        .for_each(|finding| can_be_shown(finding, text));
}

fn can_be_shown(finding: &Diagnostic, text: &str) {
    let message = &finding.message;
    assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
    let span = &finding.primary.span;
    assert!(text.get(span.clone()).is_some(), "{span:?} of {message:?} is no part of the text");
    assert!(finding.help.is_some() || finding.code == candor_core::diagnostic::code::TOO_MANY, "no remedy: {message}");
}
