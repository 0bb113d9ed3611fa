//! Invariants of [`load_with`] for arbitrary input, with one database and one key for every path.

use crate::config::{Key, MAX_FILE_BYTES, code, load_with};
use crate::placement::{KernelAbilities, Placement};
use crate::plan::{Incoming, Plan, Selection};
use candor_core::diagnostic::{Diagnostic, Position, Severity};

/// Loads a file and checks the invariants: the body of the fuzz target `config_parse`, and of the replay of its corpus.
///
/// # Panics
/// If [`load_with`] violates an invariant.
pub fn check(bytes: &[u8]) {
    let database = include_bytes!("../../../../examples/powertrain.dbc");
    let mut key = |_path: &str| Ok(Key::new([0x5A; 16]));
    let findings = match load_with(bytes, None, &mut |_path| Ok(database.to_vec()), &mut key) {
        Ok(loaded) => {
            loaded.plan.in_each_mode().for_each(|plan| can_run(&plan));
            assert!(loaded.warnings.iter().all(|finding| finding.severity != Severity::Error));
            loaded.warnings
        }
        Err(findings) => {
            assert!(findings.iter().any(|finding| finding.severity == Severity::Error), "rejected without an error");
            findings
        }
    };
    can_be_shown(&findings, bytes);
}

fn can_run(plan: &Plan) {
    let buses = plan.buses().len();
    for route in plan.routes() {
        let may_return = route.incoming == Incoming::Allowed;
        assert!(route.from != route.to || may_return, "{} leads back to its bus", route.name);
        assert!(route.from.0 < buses && route.to.0 < buses, "ends of {}", route.name);
        assert!(!route.selections.is_empty(), "{} matches nothing", route.name);
        // Comparing all pairs of many selections would take too long.
        let some = &route.selections[..route.selections.len().min(64)];
        for (at, one) in some.iter().enumerate() {
            assert!(some[at + 1..].iter().all(|other| are_apart(one, other)), "{one:?} of {}", route.name);
        }
    }
    assert!(crate::lower(plan).len() >= plan.routes().len(), "a route has no job");
    assert!(Placement::of(plan, KernelAbilities::NEWEST).is_ok(), "no kernel can run it");
}

/// Findings of any file are sorted, name a remedy, and underline whole characters of the file.
pub(crate) fn can_be_shown(findings: &[Diagnostic], bytes: &[u8]) {
    assert!(findings.is_sorted_by_key(|finding| finding.primary.span.start), "findings are in the order of the file");
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    for finding in findings {
        let has_remedy = finding.help.is_some() || !finding.primary.text.is_empty();
        assert!(
            has_remedy || finding.message.contains("must be") || is_rest(finding.code),
            "{finding:?} has no remedy"
        );
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

/// Returns true for the finding that stands for unlisted ones.
fn is_rest(code: &str) -> bool {
    [code::TOO_MANY, code::TOO_MANY_WARNINGS].contains(&code)
}

/// Returns true if no frame matches both.
fn are_apart(one: &Selection, other: &Selection) -> bool {
    let (one, other) = (one.filter.normalise(), other.filter.normalise());
    (one.id ^ other.id) & one.mask & other.mask != 0
}
