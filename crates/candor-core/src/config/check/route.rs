//! Routes: ends, formats, and how everything about a route comes together.

use std::collections::HashMap;

use crate::config::check::buses::{self, BusNames};
use crate::config::check::selection::{self, Wanted};
use crate::config::check::{
    Checks, JobsLeft, MAX_JOBS, both_ways, checksum, conflict, number, operand, payload, remap, uid,
};
use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings};
use crate::config::parse::{closest, quote};
use crate::config::spec::{BusSpec, RouteSpec, Spanned};
use crate::frame::{CANFD_MAX_DLEN, FrameFormat};
use crate::plan::{BusIndex, Echo, Formats, Incoming, Route, Selection, SendAs, Timestamp};
use crate::rule::{Checksums, Modifications};

const FORMATS: [(&str, Formats); 3] =
    [("any", Formats::Any), ("classic", Formats::Only(FrameFormat::Classic)), ("fd", Formats::Only(FrameFormat::Fd))];

const SEND_AS: [(&str, SendAs); 3] = [
    ("classic", SendAs::Classic),
    ("fd", SendAs::Fd { bit_rate_switch: false }),
    ("fd-brs", SendAs::Fd { bit_rate_switch: true }),
];

/// `CGW_MAX_HOPS`: the largest `max_hops` that the can-gw module can be loaded with.
const MAX_HOPS: i64 = 6;

/// The route, and its way back if it has one.
pub(super) fn routes(spec: &RouteSpec, checks: &mut Checks<'_>, findings: &mut Findings) -> Vec<Option<Route>> {
    if let Some(name) = &spec.name {
        buses::name(name, findings);
    }
    let from = spec.from.as_ref().and_then(|written| bus(written, &checks.buses, findings));
    let to = spec.to.as_ref().and_then(|written| bus(written, &checks.buses, findings));
    let goes_back = both_ways::goes_back(spec, findings);
    if from.is_some() && from == to && !is_true(spec.back_to_incoming.as_ref()) {
        to_itself(spec, findings);
    }
    let formats = formats(spec, findings);
    let send_as = send_as(spec, formats, findings);
    let wanted = Wanted::of(spec, &mut checks.ids, findings);
    let target = spec.to_id.as_ref().map(|written| remap::target(spec, written, wanted.as_ref(), findings));
    let payload = payload::patterns(spec, formats, findings);
    // What a route changes is looked at in the format in which frames leave.
    let outgoing = send_as.and_then(|send_as| send_as.map_or(formats, |send_as| Some(Formats::Only(send_as.format()))));
    let modifications = operand::modifications(spec, outgoing, findings);
    let checksums = checksum::checksums(spec, outgoing, findings);
    let hop_limit = spec.hop_limit.as_ref().map(|written| {
        let help = "the kernel counts at most 6 hops; more than 1 also needs the can-gw module loaded with max_hops";
        number::within(written, 1..=MAX_HOPS, "The hop limit", help, findings)
    });
    let uid = uid::uid(spec, findings);
    let patterns = payload.as_ref().map_or(1, |patterns| patterns.len().max(1));
    let jobs_for_each_filter = formats.map_or(2, |formats| formats.list().len()) * patterns;
    let route = || {
        let (modifications, checksums, wanted) = (modifications?, checksums?, wanted?);
        let target = target.map_or(Some(None), |target| target.map(Some))?;
        let mut select = |from: BusIndex| -> Option<Vec<Selection>> {
            let (JobsLeft::Some(jobs_left), Some(of_bus)) = (&checks.jobs_left, checks.limits[from.0].clone()) else {
                return None;
            };
            let most = jobs_left / jobs_for_each_filter as u64;
            let selections = if wanted.taken.is_errors() {
                Ok(selection::as_it_is(&wanted.taken))
            } else {
                let left = wanted.left(spec, &of_bus, &mut checks.ids, findings)?;
                match (&target, &spec.to_id) {
                    (Some(target), Some(written)) => {
                        remap::selections(target, &wanted.taken, &left.0, written, most, findings)?
                    }
                    _ => selection::selections(&wanted, &left, most),
                }
            };
            match selections {
                Ok(selections) if selections.len() as u64 <= most => {
                    let jobs = (selections.len() * jobs_for_each_filter) as u64;
                    checks.jobs_left = JobsLeft::Some(jobs_left - jobs);
                    Some(selections)
                }
                Ok(selections) => too_many(spec, selections.len() as u64, checks, findings),
                Err(count) => too_many(spec, count, checks, findings),
            }
        };
        let (from, to) = (from?, to?);
        let selections = select(from);
        let back = goes_back.then(|| select(to));
        let route = Route {
            name: spec.name.as_ref()?.value.clone(),
            from,
            to,
            selections: selections?,
            formats: formats?,
            payload: payload?,
            send_as: send_as?,
            modifications: with_checksums(modifications, checksums, target.is_some()),
            checksums,
            echo: if is_true(spec.echo.as_ref()) { Echo::On } else { Echo::Off },
            hop_limit: hop_limit.map_or(Some(None), |limit| limit.map(Some))?,
            timestamp: if is_true(spec.keep_timestamp.as_ref()) { Timestamp::Kept } else { Timestamp::Fresh },
            incoming: if is_true(spec.back_to_incoming.as_ref()) { Incoming::Allowed } else { Incoming::Skipped },
            uid: uid?,
        };
        let is_sound = spec.broken.is_empty() && uid::fits(spec, &route, findings);
        let back = back.map(|selections| {
            let name = format!("{}{}", route.name, both_ways::BACK);
            Some(Route { name, from: to, to: from, selections: selections?, ..route.clone() })
        });
        is_sound.then_some((route, back))
    };
    match route() {
        Some((route, Some(back))) => vec![Some(route), back],
        Some((route, None)) => vec![Some(route)],
        None => vec![None],
    }
}

pub(super) fn names_are_unique(routes: &[RouteSpec], findings: &mut Findings) {
    let mut places = HashMap::new();
    let mut claim = |name: String, place: &Spanned<String>, is_back: bool, findings: &mut Findings| {
        let Some((first, first_is_back)) = places.insert(name.clone(), (place.span.clone(), is_back)) else { return };
        let diagnostic = Diagnostic::error(
            code::DUPLICATE_ROUTE,
            place.span.clone(),
            format!("Two routes are called {}", quote(&name)),
        );
        let says = if first_is_back { "the way back of this one" } else { "first used here" };
        let diagnostic =
            diagnostic.also(first.clone(), says).help("counters are shown by name; give each route its own");
        findings.report(if is_back { diagnostic.label("its way back") } else { diagnostic });
        places.insert(name, (first, first_is_back));
    };
    for route in routes {
        let Some(name) = &route.name else { continue };
        claim(name.value.clone(), name, false, findings);
        if is_true(route.both_ways.as_ref()) {
            claim(format!("{}{}", name.value, both_ways::BACK), name, true, findings);
        }
    }
}

/// can-gw ignores checksums where nothing is modified. Setting no bit is a modification that changes nothing.
fn with_checksums(mut modifications: Modifications, checksums: Checksums, changes_id: bool) -> Modifications {
    if checksums != Checksums::default() && modifications.is_empty() && !changes_id {
        modifications.or.data = Some([0; CANFD_MAX_DLEN]);
    }
    modifications
}

fn too_many<T>(spec: &RouteSpec, filters: u64, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<T> {
    checks.jobs_left = JobsLeft::Exceeded;
    let message =
        format!("The route needs {filters} filters, and with them the file has more than {MAX_JOBS} jobs of can-gw");
    findings.report(
        Diagnostic::error(code::TOO_MANY_JOBS, selection::place(spec), message)
            .label("no further than here")
            .help("write ranges in place of single identifiers, or say `frames`, which halves the jobs of a route"),
    );
    None
}

fn is_true(written: Option<&Spanned<bool>>) -> bool {
    written.is_some_and(|written| written.value)
}

pub(super) fn bus(written: &Spanned<String>, buses: &BusNames<'_>, findings: &mut Findings) -> Option<BusIndex> {
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
        .help(
            "a frame never leaves through the interface that it came in by; name two different buses, or write \
             back-to-incoming = true if that is what it shall do",
        ),
    );
}

/// `None` when the file does not say valid ones.
fn formats(spec: &RouteSpec, findings: &mut Findings) -> Option<Formats> {
    let known = match &spec.frames {
        _ if spec.broken.contains(&"frames") => None,
        // Drivers make error message frames of the classic format only.
        None if spec.errors.is_some() => Some(Formats::Only(FrameFormat::Classic)),
        None => Some(Formats::Any),
        Some(written) => one_of(
            &FORMATS,
            written,
            "\"classic\" (CAN CC, up to 8 bytes), \"fd\" (CAN FD, up to 64 bytes) or \"any\" (both)",
            findings,
        ),
    };
    if let (Some(errors), Some(frames)) = (&spec.errors, &spec.frames)
        && known.is_some_and(|known| known != Formats::Only(FrameFormat::Classic))
    {
        let why = "Error message frames are classic frames";
        conflict(&frames.span, why, errors.span.clone(), "asks for them", "remove `frames`", findings);
        return None;
    }
    known
}

/// `None` when the file does not say a valid one; `Some(None)` when it says none.
fn send_as(spec: &RouteSpec, formats: Option<Formats>, findings: &mut Findings) -> Option<Option<SendAs>> {
    let Some(written) = &spec.send_as else {
        return (!spec.broken.contains(&"send-as")).then_some(None);
    };
    let help = "\"classic\", \"fd\" or \"fd-brs\" (CAN FD with the data bit rate)";
    let send_as = one_of(&SEND_AS, written, help, findings)?;
    if let Some(errors) = &spec.errors {
        let why = "Error message frames have no other format";
        conflict(&written.span, why, errors.span.clone(), "asks for them", "remove `send-as`", findings);
        return None;
    }
    if let (Some(Formats::Only(format)), Some(frames)) = (formats, &spec.frames)
        && format == send_as.format()
    {
        let help = match send_as {
            SendAs::Fd { bit_rate_switch: true } => {
                "`send-as` is for frames of the other format; to raise the bit-rate switch of FD frames write or = { flags = \"01\" }"
            }
            _ => "`send-as` is for frames of the other format; remove it",
        };
        conflict(
            &written.span,
            "These frames have this format already",
            frames.span.clone(),
            "only these",
            help,
            findings,
        );
        return None;
    }
    Some(Some(send_as))
}

fn one_of<T: Copy>(known: &[(&str, T)], written: &Spanned<String>, help: &str, findings: &mut Findings) -> Option<T> {
    let found = known.iter().find(|(name, _)| *name == written.value);
    if found.is_none() {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        let message = format!("There is no frame format {}", quote(&written.value));
        let mut diagnostic = Diagnostic::error(code::FRAMES, written.span.clone(), message).help(help);
        if let Some(name) = closest(&written.value, &names) {
            diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
        }
        findings.report(diagnostic);
    }
    found.map(|&(_, value)| value)
}
