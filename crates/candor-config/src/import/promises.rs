//! Invariants of [`cangw`] for arbitrary text.

use crate::config;
use crate::import::{Imported, Reading, cangw};
use crate::plan::BusIndex;
use crate::text;
use candor_core::diagnostic::{Diagnostic, Severity};
use candor_core::job::cangw_arguments;

/// Reads a text in every way and checks what must hold whatever is in it: the body of the fuzz target `cangw_import`, and
/// what its corpus is replayed with.
///
/// # Panics
/// If [`cangw`] breaks a promise.
pub fn hold(bytes: &[u8]) {
    let readings = [None, Some(Reading::Listing), Some(Reading::Script)];
    for reading in readings {
        let findings = match cangw(bytes, reading) {
            Ok(imported) => {
                assert!(reading.is_none_or(|reading| reading == imported.reading));
                assert!(imported.warnings.iter().all(|finding| finding.severity != Severity::Error));
                means_the_same_everywhere(&imported);
                let spans = imported.places.iter().chain(&imported.left_out);
                let text = std::str::from_utf8(bytes).expect("what is imported is UTF-8");
                spans.for_each(|span| assert!(text.get(span.clone()).is_some(), "{span:?} is no part of the text"));
                imported.warnings
            }
            Err(findings) => {
                assert!(findings.iter().any(|finding| finding.severity == Severity::Error), "a refusal has a reason");
                findings
            }
        };
        assert!(
            findings.is_sorted_by_key(|finding| finding.primary.span.start),
            "findings are in the order of the text"
        );
        findings.iter().for_each(|finding| can_be_shown(finding, bytes));
    }
}

/// A gateway file and a script of these jobs are these jobs again.
fn means_the_same_everywhere(imported: &Imported) {
    assert!(!imported.jobs.is_empty());
    assert_eq!(imported.jobs.len(), imported.places.len());
    let plan = text::of_jobs(&imported.interfaces, &imported.jobs);
    let written = text::write(&plan);
    // A gateway file takes fewer buses and routes than a text can have.
    if let Ok(loaded) = config::load(written.as_bytes()) {
        assert_eq!(loaded.plan, plan, "{written}");
    }
    let script = text::script(&plan);
    let again = cangw(script.as_bytes(), None).unwrap_or_else(|findings| panic!("{script}\n{findings:#?}"));
    assert_eq!(commands(&again), commands(imported), "{script}");
}

/// The jobs as cangw is told of them, which is all that the kernel gets.
fn commands(imported: &Imported) -> Vec<Vec<String>> {
    let name = |bus: BusIndex| imported.interfaces[bus.0].as_str();
    imported.jobs.iter().map(|job| cangw_arguments(job, name(job.from), name(job.to))).collect()
}

fn can_be_shown(finding: &Diagnostic, bytes: &[u8]) {
    let message = &finding.message;
    assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
    assert!(finding.help.is_some() || finding.code == "E0107" || finding.code == "W0506", "no remedy: {message}");
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    for label in std::iter::once(&finding.primary).chain(&finding.secondary) {
        let span = &label.span;
        assert!(span.start <= span.end && span.end <= bytes.len(), "{span:?} is outside of the text");
        assert!(text.is_empty() || text.get(span.clone()).is_some(), "{span:?} cuts a character");
    }
}
