//! Invariants of [`cangw`] for arbitrary text.

use crate::config::{self, invariants::can_be_shown};
use crate::import::{Imported, Reading, cangw};
use crate::plan::BusIndex;
use crate::text;
use candor_core::diagnostic::Severity;
use candor_core::job::cangw_arguments;

/// Imports a text in every way and checks the invariants: the body of the fuzz target `cangw_import`, and of the replay of
/// its corpus.
///
/// # Panics
/// If [`cangw`] violates an invariant.
pub fn check(bytes: &[u8]) {
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
                assert!(
                    findings.iter().any(|finding| finding.severity == Severity::Error),
                    "rejected without an error"
                );
                findings
            }
        };
        can_be_shown(&findings, bytes);
    }
}

/// A gateway file and a script written from these jobs are read as the same jobs.
fn means_the_same_everywhere(imported: &Imported) {
    assert!(!imported.jobs.is_empty());
    assert_eq!(imported.jobs.len(), imported.places.len());
    let plan = text::of_jobs(&imported.interfaces, &imported.jobs);
    let written = text::write(&plan);
    // A text can have more buses and routes than a gateway file.
    if let Ok(loaded) = config::load(written.as_bytes()) {
        assert_eq!(loaded.plan, plan, "{written}");
    }
    let script = text::script(&plan);
    let again = cangw(script.as_bytes(), None).unwrap_or_else(|findings| panic!("{script}\n{findings:#?}"));
    assert_eq!(commands(&again), commands(imported), "{script}");
}

/// The arguments of cangw for each job, which determine what the kernel gets.
fn commands(imported: &Imported) -> Vec<Vec<String>> {
    let name = |bus: BusIndex| imported.interfaces[bus.0].as_str();
    imported.jobs.iter().map(|job| cangw_arguments(job, name(job.from), name(job.to))).collect()
}
