//! `queue = "arbitration"`, and the keys that belong to it.

use super::queue::DEFAULT_FRAMES;
use crate::config::check::value::{duration, word};
use crate::config::code;
use crate::config::spec::EgressSpec;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Text;
use candor_egress::arbitration::{Arbitration, Limits};

/// `span` is that of `queue`. `None` after an error.
pub(super) fn arbitration(spec: &EgressSpec, span: &Span, findings: &mut Findings) -> Option<Arbitration> {
    let other = spec.bands.first().map(|band| &band.span).or_else(|| spec.limits.first().map(|limit| &limit.span));
    if let Some(other) = other {
        let message = "A queue in the order of arbitration has neither bands nor limits";
        findings.report(
            Diagnostic::error(code::EGRESS, span.clone(), message)
                .also(other.clone(), "conflicts with `queue`")
                .help("remove them, or write queue = 100 to keep the bands"),
        );
        return None;
    }
    let replace = spec.replace.as_ref();
    let same = [("same-id", true)];
    let replace = replace.map(|written| word(written, (code::EGRESS_WORD, "`replace`", ""), &same, findings));
    let age = spec.max_age.as_ref().map(|written| milliseconds(written, findings));
    let limits = Limits {
        frames: spec.frames.as_ref().map_or(DEFAULT_FRAMES, |frames| frames.value),
        per_socket: spec.per_socket.as_ref().map(|frames| frames.value),
        max_age_ms: age.map_or(Some(None), |age| age.map(Some))?,
        replace_same_id: replace.unwrap_or(Some(false))?,
    };
    Arbitration::new(limits)
        .map_err(|error| findings.error(code::EGRESS, span, error.to_string(), "write other numbers"))
        .ok()
}

/// `None` after an error about a key that only a queue in the order of arbitration has.
pub(super) fn is_absent(spec: &EgressSpec, findings: &mut Findings) -> Option<()> {
    let numbers = [("frames", &spec.frames), ("per-socket", &spec.per_socket)];
    let numbers = numbers.map(|(name, number)| (name, number.as_ref().map(|number| &number.span)));
    let texts = [("replace", &spec.replace), ("max-age", &spec.max_age)];
    let texts = texts.map(|(name, text)| (name, text.as_ref().map(|text| &text.span)));
    let found = numbers.into_iter().chain(texts).find_map(|(name, span)| Some((name, span?)));
    let Some((name, span)) = found else { return Some(()) };
    let message = format!("`{name}` belongs to a queue in the order of arbitration");
    findings.error(code::EGRESS, span, message, "add queue = \"arbitration\", or remove this key");
    None
}

fn milliseconds(written: &Text, findings: &mut Findings) -> Option<u32> {
    let age = duration(written, findings)?;
    let whole = u32::try_from(age.as_millis()).ok().filter(|ms| *ms > 0 && age.subsec_nanos() % 1_000_000 == 0);
    if whole.is_none() {
        findings.error(code::MAX_AGE, &written.span, "`max-age` must be whole milliseconds", "write \"1ms\" or more");
    }
    whole
}
