//! `uid`: can-gw looks for a job by it, so it must name one.

use std::collections::HashMap;
use std::num::NonZeroU32;

use crate::config::check::{Checked, number};
use crate::config::code;
use crate::config::spec::{RouteSpec, Spec};
use crate::plan::Route;
use candor_core::diagnostic::{Diagnostic, Findings};

/// # Source
/// [`cgw_create_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1071) in
/// Linux 6.1: a job with a known uid updates the existing one.
pub(super) fn uid(spec: &RouteSpec, findings: &mut Findings) -> Option<Option<NonZeroU32>> {
    let Some(written) = &spec.uid else { return Some(None) };
    let uid = NonZeroU32::new(number::hex(written, findings)?);
    if uid.is_none() {
        let help = "0 means no uid; write 1 to FFFFFFFF, or remove `uid`";
        findings.report(Diagnostic::error(code::UID, written.span.clone(), "The uid must not be 0").help(help));
    }
    uid.map(Some)
}

/// Returns true if the uid of a finished route names one job that changes something.
pub(super) fn fits(spec: &RouteSpec, route: &Route, findings: &mut Findings) -> bool {
    let Some(written) = spec.uid.as_ref().filter(|_| route.uid.is_some()) else { return true };
    let mut refuse = |message: String, help: &str| {
        findings.report(Diagnostic::error(code::UID, written.span.clone(), message).help(help));
        false
    };
    let changes = !route.modifications.is_empty() || route.selections.iter().any(|selection| selection.id.is_some());
    if !changes {
        let message = "can-gw keeps a uid only for jobs with a modification".to_owned();
        return refuse(message, "remove `uid`, or add a modification");
    }
    match route.selections.len() * route.formats.list().len() {
        0 | 1 => true,
        jobs => refuse(
            format!("A uid identifies one can-gw job, and this route needs {jobs}"),
            "give `uid` to a route with one filter and one frame format",
        ),
    }
}

pub(super) fn are_unique(spec: &Spec, routes: &[Checked], findings: &mut Findings) {
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
                    .help("can-gw would replace the modifications of the first with those of the second; give each route its own uid"),
            );
        }
    }
}
