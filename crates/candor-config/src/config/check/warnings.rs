//! Warnings about valid but suspicious values.

use std::collections::BTreeSet;

use crate::config::code;
use crate::config::spec::Spec;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::CAN_RTR_FLAG;

pub(super) fn filter(written: &Spanned<String>, filter: Filter, findings: &mut Findings) {
    if filter.is_loose() {
        let (is_inverted, compares_remote) = (filter.id & CAN_INV_FILTER != 0, filter.mask & CAN_RTR_FLAG != 0);
        let does = if is_inverted { "excludes" } else { "matches" };
        let remote = if compares_remote { "" } else { ", and remote frames" };
        let kind = if compares_remote && filter.id & CAN_RTR_FLAG != 0 { "remote" } else { "data" };
        let only = if is_inverted {
            format!("to exclude only {kind} frames of one format,")
        } else {
            format!("for {kind} frames of one format,")
        };
        let message = format!("Filter {} {does} 11-bit and 29-bit frames{remote}", quote(&written.value));
        findings.report(
            Diagnostic::warning(code::LOOSE_FILTER, written.span.clone(), message)
                .label("the mask does not compare the format")
                .help(format!("{only} write \"{}\"", filter.tightened())),
        );
    }
    if filter.id & CAN_INV_FILTER != 0 && filter.mask == 0 {
        findings.report(
            Diagnostic::warning(code::NEVER_MATCHES, written.span.clone(), "This filter matches no frame")
                .label("all frames except all frames")
                .help("omit `match` to match every frame"),
        );
    }
}

pub(super) fn unused_buses(spec: &Spec, findings: &mut Findings) {
    if findings.torn {
        return;
    }
    // There are few buses, so that to compare their names is quicker than to hash them.
    let mut used = BTreeSet::new();
    for route in &spec.routes {
        let (Some(from), Some(to)) = (&route.from, &route.to) else { return };
        used.extend([from.value.as_str(), to.value.as_str()]);
    }
    let has_routes = !used.is_empty();
    for bus in spec.buses.iter() {
        if let Some(peer) = &bus.vxcan_peer {
            used.extend([bus.name.value.as_str(), peer.value.as_str()]);
        }
    }
    used.extend(spec.egress.iter().map(|egress| egress.bus.value.as_str()));
    // A route with an unknown end may be meant for any of them, and without routes the file has a greater problem.
    let known: BTreeSet<_> = spec.buses.iter().map(|bus| bus.name.value.as_str()).collect();
    if !has_routes || !used.is_subset(&known) {
        return;
    }
    for bus in spec.buses.iter().filter(|bus| !used.contains(bus.name.value.as_str())) {
        let message = format!("No route leads from or to bus {}", quote(&bus.name.value));
        findings.report(
            Diagnostic::warning(code::UNUSED_BUS, bus.name.span.clone(), message)
                .help("candor does not touch its interface; add a route, or remove the bus"),
        );
    }
}

/// Frames that say something of their own bus, on their way to another one.
pub(super) fn error_frames(place: &Span, findings: &mut Findings) {
    let message = "Error message frames are forwarded unchanged";
    findings.report(
        Diagnostic::warning(code::ERROR_FRAMES, place.clone(), message)
            .label("drivers use them to report events on their own bus")
            .help("on the other bus they look like errors of that bus; forward them to virtual buses only"),
    );
}
