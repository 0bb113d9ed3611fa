//! What is valid and perhaps not meant.

use std::collections::{HashMap, HashSet};

use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings};
use crate::config::parse::quote;
use crate::config::spec::{Spanned, Spec};
use crate::filter::{CAN_INV_FILTER, Filter};
use crate::frame::CAN_RTR_FLAG;
use crate::plan::{Formats, Route};

pub(super) fn filter(written: &Spanned<String>, filter: Filter, findings: &mut Findings) {
    if filter.is_loose() {
        let (is_inverted, compares_remote) = (filter.id & CAN_INV_FILTER != 0, filter.mask & CAN_RTR_FLAG != 0);
        let does = if is_inverted { "holds back" } else { "takes" };
        let remote = if compares_remote { "" } else { ", and remote frames" };
        let kind = if compares_remote && filter.id & CAN_RTR_FLAG != 0 { "remote" } else { "data" };
        let only = if is_inverted {
            format!("to hold back {kind} frames of one format only")
        } else {
            format!("for {kind} frames of one format")
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
            Diagnostic::warning(code::NEVER_MATCHES, written.span.clone(), "No frame passes this filter")
                .label("everything but everything")
                .help("leave `match` out for every frame"),
        );
    }
}

pub(super) fn unused_buses(spec: &Spec, findings: &mut Findings) {
    if findings.torn {
        return;
    }
    let mut used = HashSet::new();
    for route in &spec.routes {
        let (Some(from), Some(to)) = (&route.from, &route.to) else { return };
        used.extend([from.value.as_str(), to.value.as_str()]);
    }
    // A route with an unknown end may be meant for any of them, and without routes the file has a greater problem.
    let known: HashSet<_> = spec.buses.iter().map(|bus| bus.name.value.as_str()).collect();
    if used.is_empty() || !used.is_subset(&known) {
        return;
    }
    for bus in spec.buses.iter().filter(|bus| !used.contains(bus.name.value.as_str())) {
        let message = format!("No route leads from or to bus {}", quote(&bus.name.value));
        findings.report(
            Diagnostic::warning(code::UNUSED_BUS, bus.name.span.clone(), message)
                .help("candor leaves its interface alone; add a route, or remove the bus"),
        );
    }
}

/// `routes` has one entry for each route of the specification.
pub(super) fn same_routes(spec: &Spec, routes: &[Option<Route>], findings: &mut Findings) {
    let mut seen: HashMap<_, Vec<(usize, Formats)>> = HashMap::new();
    for (index, route) in routes.iter().enumerate().filter_map(|(index, route)| Some((index, route.as_ref()?))) {
        let same = seen
            .entry((route.from, route.to, route.selections.clone(), route.modifications, route.checksums))
            .or_default();
        if let Some(&(first, _)) = same.iter().find(|(_, formats)| overlap(*formats, route.formats)) {
            let message = "This route repeats another: every frame that passes is sent twice";
            findings.report(
                Diagnostic::warning(code::SAME_ROUTE, spec.routes[index].header.clone(), message)
                    .also(spec.routes[first].header.clone(), "first here")
                    .help("the kernel does not notice either; remove one of the two"),
            );
        }
        // Three entries say all there is about three values.
        if !same.iter().any(|(_, formats)| *formats == route.formats) {
            same.push((index, route.formats));
        }
    }
}

fn overlap(one: Formats, other: Formats) -> bool {
    one == Formats::Any || other == Formats::Any || one == other
}
