//! Keys of a route that neither select nor modify frames: notes, the policy for a full queue, uid.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::config::check::{Checked, value};
use crate::config::code;
use crate::config::spec::{Notes, RouteSpec, Spec};
use crate::plan::{Route, WhenFull};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Text;
use candor_core::document::keys::{Keyed as _, Shape};

/// A bus that accepts no frame for longer is down.
const MAX_BLOCK: Duration = Duration::from_secs(10);
/// The time of ten frames, the default queue of a CAN interface, at 125 kbit/s.
const DEFAULT_BLOCK: Duration = Duration::from_millis(10);

/// Notes are printed on one line of a terminal.
pub(super) fn notes(spec: &Notes, findings: &mut Findings) -> Vec<(&'static str, String)> {
    for (name, written) in &spec.0 {
        let key = Notes::KEYS.keys().into_iter().find(|key| key.name == *name);
        let most = key.map_or(usize::MAX, |key| if let Shape::TextUpTo(most) = key.shape { most } else { usize::MAX });
        let problem = match written.value.chars().count() {
            _ if written.value.chars().any(char::is_control) => "contains a control character".to_owned(),
            count if count > most => format!("has {count} characters"),
            _ => continue,
        };
        let help = format!("write one line of at most {most} characters, or use a # comment");
        findings.error(code::NAME, &written.span, format!("`{name}` {problem}"), help);
    }
    spec.0.iter().map(|(name, written)| (*name, written.value.clone())).collect()
}

pub(super) fn when_full(spec: &RouteSpec, findings: &mut Findings) -> WhenFull {
    let limit = spec.block_limit.as_ref().and_then(|written| block_limit(written, findings)).unwrap_or(DEFAULT_BLOCK);
    let policies = [
        ("drop-newest", WhenFull::DropNewest),
        ("drop-oldest", WhenFull::DropOldest),
        ("block", WhenFull::Block { limit }),
    ];
    let policy = spec.when_full.as_ref().map_or(Some(WhenFull::DropNewest), |written| {
        let help = "use \"drop-newest\" (as can-gw does), \"drop-oldest\" (queue 64 frames and drop the oldest) or \
                    \"block\" (stop receiving from this bus, for at most `block-limit`)";
        value::word(written, (code::WHEN_FULL, "policy", help), &policies, findings)
    });
    if let (Some(written), Some(WhenFull::DropNewest | WhenFull::DropOldest)) = (&spec.block_limit, policy) {
        let message = "`block-limit` is valid only with when-full = \"block\"";
        findings.error(code::WHEN_FULL, &written.span, message, "remove it, or write when-full = \"block\"");
    }
    policy.unwrap_or(WhenFull::DropNewest)
}

fn block_limit(written: &Text, findings: &mut Findings) -> Option<Duration> {
    let limit = value::duration(written, findings)?;
    if limit > MAX_BLOCK {
        let message = "`block-limit` must be at most 10 seconds";
        let help = "a bus that accepts no frame for this long is down; write \"10s\" or less";
        findings.error(code::DURATION, &written.span, message, help);
    }
    Some(limit)
}

/// # Source
/// [`cgw_create_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1071) in
/// Linux 6.1: a job with a known uid updates the existing one.
pub(super) fn uid(spec: &RouteSpec, findings: &mut Findings) -> Option<NonZeroU32> {
    let written = spec.uid.as_ref()?;
    let uid = NonZeroU32::new(value::hex(written, findings)?);
    if uid.is_none() {
        let help = "0 means no uid; write 1 to FFFFFFFF, or remove `uid`";
        findings.error(code::UID, &written.span, "The uid must not be 0", help);
    }
    uid
}

/// A uid identifies one job that modifies frames.
pub(super) fn uid_fits(spec: &RouteSpec, route: &Route, findings: &mut Findings) {
    let Some(written) = spec.uid.as_ref().filter(|_| route.uid.is_some()) else { return };
    let mut refuse = |message: &str, help: &str| findings.error(code::UID, &written.span, message, help);
    let changes = !route.modifications.is_empty() || route.selections.iter().any(|selection| selection.id.is_some());
    let jobs = route.selections.len() * route.formats.list().len();
    if !changes {
        refuse("can-gw keeps a uid only for jobs with a modification", "remove `uid`, or add a modification");
    } else if jobs > 1 {
        let message = format!("A uid identifies one can-gw job, and this route needs {jobs}");
        refuse(&message, "give `uid` to a route with one filter and one frame format");
    }
}

pub(super) fn uids_are_unique(spec: &Spec, routes: &[Checked], findings: &mut Findings) {
    let mut places = HashMap::new();
    for checked in routes {
        let written = spec.routes[checked.spec].uid.as_ref();
        let (Some(written), Some(uid)) = (written, checked.route.as_ref().and_then(|route| route.uid)) else {
            continue;
        };
        let first = places.entry(uid).or_insert(&written.span);
        if **first != written.span {
            findings.report(
                Diagnostic::error(code::UID, written.span.clone(), "Two routes have the same uid")
                    .also((*first).clone(), "first used here")
                    .help(
                        "can-gw would replace the modifications of the first with those of the second; give each route \
                         its own uid",
                    ),
            );
        }
    }
}
