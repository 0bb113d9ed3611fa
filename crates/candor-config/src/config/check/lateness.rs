//! `max-age`, `when-full` and `block-limit`: what becomes of frames that cannot leave at once.

use std::time::Duration;

use crate::config::code;
use crate::config::spec::RouteSpec;
use crate::plan::WhenFull;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};
use candor_core::units::parse_duration;

/// Nobody waits longer for a bus without knowing it to be dead.
const MAX_BLOCK: Duration = Duration::from_secs(10);
/// Ten frames, the default queue of a controller's interface, take so long at 125 kbit/s.
const DEFAULT_BLOCK: Duration = Duration::from_millis(10);

pub(super) fn max_age(spec: &RouteSpec, findings: &mut Findings) -> Option<Option<Duration>> {
    spec.max_age.as_ref().map_or(Some(None), |written| duration(written, findings).map(Some))
}

pub(super) fn when_full(spec: &RouteSpec, findings: &mut Findings) -> Option<WhenFull> {
    let limit = spec.block_limit.as_ref().map(|written| block_limit(written, findings));
    let policy = match spec.when_full.as_ref().map(|written| (written, written.value.as_str())) {
        None | Some((_, "drop-newest")) => WhenFull::DropNewest,
        Some((_, "drop-oldest")) => WhenFull::DropOldest,
        Some((_, "block")) => WhenFull::Block { limit: limit.unwrap_or(Some(DEFAULT_BLOCK))? },
        Some((written, other)) => {
            let message = format!("Unknown policy {}", quote(other));
            let mut diagnostic = Diagnostic::error(code::WHEN_FULL, written.span.clone(), message).help(
                "use \"drop-newest\" (as can-gw does), \"drop-oldest\" (queue 64 frames and drop the oldest) or \"block\" (stop \
                 receiving from this bus, for at most `block-limit`)",
            );
            if let Some(name) = closest(other, &["drop-newest", "drop-oldest", "block"]) {
                diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
            }
            findings.report(diagnostic);
            return None;
        }
    };
    match (&spec.block_limit, policy) {
        (Some(written), WhenFull::DropNewest | WhenFull::DropOldest) => {
            let message = "`block-limit` is valid only with when-full = \"block\"";
            findings.report(
                Diagnostic::error(code::WHEN_FULL, written.span.clone(), message)
                    .help("remove it, or write when-full = \"block\""),
            );
            None
        }
        _ => Some(policy),
    }
}

fn block_limit(written: &Spanned<String>, findings: &mut Findings) -> Option<Duration> {
    let limit = duration(written, findings)?;
    if limit <= MAX_BLOCK {
        return Some(limit);
    }
    findings.report(
        Diagnostic::error(code::DURATION, written.span.clone(), "`block-limit` must be at most 10 seconds")
            .help("a bus that accepts no frame for this long is down; write \"10s\" or less"),
    );
    None
}

pub(super) fn duration(written: &Spanned<String>, findings: &mut Findings) -> Option<Duration> {
    match parse_duration(&written.value) {
        Ok(duration) => Some(duration),
        Err(error) => {
            findings.report(
                Diagnostic::error(code::DURATION, written.span.clone(), format!("{error}"))
                    .help("write a time with its unit, such as \"20ms\" or \"500us\""),
            );
            None
        }
    }
}
