//! Routes: ends, filter, formats, and how modifications and checksums come together.

use std::collections::HashMap;

use crate::config::check::buses::{self, BusNames};
use crate::config::check::{checksum, number, operand, warnings};
use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings};
use crate::config::parse::{closest, quote};
use crate::config::spec::{BusSpec, RouteSpec, Spanned};
use crate::filter::Filter;
use crate::frame::{CANFD_MAX_DLEN, FrameFormat};
use crate::plan::{BusIndex, Echo, Formats, Incoming, Route, Selection, Timestamp};
use crate::rule::{Checksums, Modifications};

const FORMATS: [(&str, Formats); 3] =
    [("any", Formats::Any), ("classic", Formats::Only(FrameFormat::Classic)), ("fd", Formats::Only(FrameFormat::Fd))];

/// `CGW_MAX_HOPS`: the largest `max_hops` that the can-gw module can be loaded with.
const MAX_HOPS: i64 = 6;

pub(super) fn route(spec: &RouteSpec, buses: &BusNames<'_>, findings: &mut Findings) -> Option<Route> {
    if let Some(name) = &spec.name {
        buses::name(name, findings);
    }
    let from = spec.from.as_ref().and_then(|written| bus(written, buses, findings));
    let to = spec.to.as_ref().and_then(|written| bus(written, buses, findings));
    if from.is_some() && from == to {
        to_itself(spec, findings);
    }
    let filter = spec.filter.as_ref().map_or(Some(Filter::ALL), |written| filter(written, findings));
    let formats = spec.frames.as_ref().map_or(Some(Formats::Any), |written| formats(written, findings));
    let modifications = operand::modifications(spec, formats, findings);
    let checksums = checksum::checksums(spec, formats, findings);
    let hop_limit = spec.hop_limit.as_ref().map(|written| {
        let help = "the kernel counts at most 6 hops; more than 1 also needs the can-gw module loaded with max_hops";
        number::within(written, 1..=MAX_HOPS, "The hop limit", help, findings)
    });
    let (modifications, checksums) = (modifications?, checksums?);
    Some(Route {
        name: spec.name.as_ref()?.value.clone(),
        from: from?,
        to: to?,
        selections: vec![Selection { filter: filter?, id: None }],
        formats: formats?,
        payload: Vec::new(),
        send_as: None,
        modifications: with_checksums(modifications, checksums),
        checksums,
        echo: if is_true(spec.echo.as_ref()) { Echo::On } else { Echo::Off },
        hop_limit: hop_limit.map_or(Some(None), |limit| limit.map(Some))?,
        timestamp: if is_true(spec.keep_timestamp.as_ref()) { Timestamp::Kept } else { Timestamp::Fresh },
        incoming: Incoming::Skipped,
        uid: None,
    })
}

pub(super) fn names_are_unique(routes: &[RouteSpec], findings: &mut Findings) {
    let mut places = HashMap::new();
    for name in routes.iter().filter_map(|route| route.name.as_ref()) {
        let first = places.entry(name.value.as_str()).or_insert(&name.span);
        if **first != name.span {
            findings.report(
                Diagnostic::error(
                    code::DUPLICATE_ROUTE,
                    name.span.clone(),
                    format!("Two routes are called {}", quote(&name.value)),
                )
                .also((*first).clone(), "first used here")
                .help("counters are shown by name; give each route its own"),
            );
        }
    }
}

/// can-gw ignores checksums where nothing is modified. Setting no bit is a modification that changes nothing.
fn with_checksums(mut modifications: Modifications, checksums: Checksums) -> Modifications {
    if checksums != Checksums::default() && modifications.is_empty() {
        modifications.or.data = Some([0; CANFD_MAX_DLEN]);
    }
    modifications
}

fn is_true(written: Option<&Spanned<bool>>) -> bool {
    written.is_some_and(|written| written.value)
}

fn bus(written: &Spanned<String>, buses: &BusNames<'_>, findings: &mut Findings) -> Option<BusIndex> {
    let found = buses.index(&written.value);
    if found.is_none() && !buses.may_be_broken(&written.value) && !findings.torn && !findings.is_full() {
        unknown_bus(written, buses.specs(), findings);
    }
    found
}

fn unknown_bus(written: &Spanned<String>, buses: &[BusSpec], findings: &mut Findings) {
    /// Beyond these a suggestion is not worth the search.
    const MOST_CANDIDATES: usize = 64;
    let names: Vec<_> = buses.iter().take(MOST_CANDIDATES).map(|bus| bus.name.value.as_str()).collect();
    let message = format!("There is no bus {}", quote(&written.value));
    let diagnostic = Diagnostic::error(code::UNKNOWN_BUS, written.span.clone(), message);
    let owner = buses.iter().find_map(|bus| {
        let interface = bus.interface.as_ref().filter(|interface| interface.value == written.value)?;
        Some((quote(&bus.name.value), interface.span.clone()))
    });
    findings.report(if let Some((name, interface)) = owner {
        diagnostic
            .also(interface, format!("the interface of bus {name}"))
            .help(format!("write the name of the bus: {name}"))
    } else if let Some(name) = closest(&written.value, &names) {
        diagnostic.label(format!("did you mean {}?", quote(name))).help(known_buses(&names))
    } else {
        diagnostic.help(known_buses(&names))
    });
}

fn known_buses(names: &[&str]) -> String {
    const MOST_NAMES: usize = 8;
    let mut list: Vec<_> = names.iter().take(MOST_NAMES).map(|name| quote(name)).collect();
    if names.len() > MOST_NAMES {
        list.push("…".to_owned());
    }
    match list.as_slice() {
        [] => "the file has no bus; add one with a line [bus.NAME]".to_owned(),
        list => format!("buses of this file: {}", list.join(", ")),
    }
}

fn to_itself(spec: &RouteSpec, findings: &mut Findings) {
    let (Some(from), Some(to)) = (&spec.from, &spec.to) else { return };
    findings.report(
        Diagnostic::error(
            code::ROUTE_TO_ITSELF,
            to.span.clone(),
            format!("The route leads from bus {} back to it", quote(&from.value)),
        )
        .also(from.span.clone(), "comes from here")
        .help("a frame never leaves through the interface that it came in by; name two different buses"),
    );
}

fn filter(written: &Spanned<String>, findings: &mut Findings) -> Option<Filter> {
    match Filter::parse(&written.value) {
        Ok(filter) => {
            warnings::filter(written, filter, findings);
            Some(filter)
        }
        Err(error) => {
            findings.report(
                Diagnostic::error(code::FILTER, written.part(error.range.clone()), error.to_string())
                    .help(error.kind.help()),
            );
            None
        }
    }
}

fn formats(written: &Spanned<String>, findings: &mut Findings) -> Option<Formats> {
    let known = FORMATS.iter().find(|(name, _)| *name == written.value);
    if known.is_none() {
        let names = FORMATS.map(|(name, _)| name);
        let message = format!("There is no frame format {}", quote(&written.value));
        let mut diagnostic = Diagnostic::error(code::FRAMES, written.span.clone(), message)
            .help("\"classic\" (CAN CC, up to 8 bytes), \"fd\" (CAN FD, up to 64 bytes) or \"any\" (both)");
        if let Some(name) = closest(&written.value, &names) {
            diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
        }
        findings.report(diagnostic);
    }
    known.map(|&(_, formats)| formats)
}
