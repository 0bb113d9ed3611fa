//! Routes: ends, formats, and how everything about a route comes together.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::config::check::buses::{self, BusNames};
use crate::config::check::selection::{Wanted, Written};
use crate::config::check::{
    Checked, Checks, both_ways, checksum, conflict, lateness, number, operand, payload, remap, uid,
};
use crate::config::code;
use crate::config::spec::{BusSpec, RouteSpec};
use crate::plan::{BusIndex, Echo, Formats, Incoming, Route, Selection, SendAs, Timestamp};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat};
use candor_core::rule::{Checksums, Modifications};

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
pub(super) fn routes(
    index: usize,
    spec: &RouteSpec,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
    routes: &mut Vec<Checked>,
) {
    let goes_back = both_ways::goes_back(spec, findings);
    let (route, back) = match route(spec, goes_back, checks, findings) {
        Some((route, back)) => (Some(route), back),
        None => (None, None),
    };
    let mut add = |route| routes.push(Checked { spec: index, route });
    match (&route, back) {
        (Some(there), Some((from, to, selections))) if goes_back => {
            let name = format!("{}{}", there.name, both_ways::BACK);
            let back = Route { name, from, to, selections, ..there.clone() };
            add(route);
            add(Some(back));
        }
        (Some(_), None) if goes_back => add(None),
        _ => add(route),
    }
}

/// Ends and selections of the way back.
type Back = (BusIndex, BusIndex, Vec<Selection>);

fn route(
    spec: &RouteSpec,
    goes_back: bool,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Option<(Route, Option<Back>)> {
    if let Some(name) = &spec.name {
        buses::name(name, findings);
    }
    let from = spec.from.as_ref().and_then(|written| bus(written, &checks.buses, findings));
    let to = spec.to.as_ref().and_then(|written| bus(written, &checks.buses, findings));
    let is_to_itself = from.is_some() && from == to && !is_true(spec.back_to_incoming.as_ref());
    if is_to_itself {
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
        let help = "can-gw counts at most 6 hops; a limit above 1 also needs the module parameter max_hops";
        number::within(written, 1..=MAX_HOPS, "The hop limit", help, findings)
    });
    let uid = uid::uid(spec, findings);
    comment(spec, findings);
    let (max_age, when_full) = (lateness::max_age(spec, findings), lateness::when_full(spec, findings));
    // Everything has been looked at; from here on it must be there.
    let (from, to, formats, payload, checksums) = (from?, to?, formats?, payload?, checksums?);
    let target = target.map_or(Some(None), |target| target.map(Some))?;
    let changes_id = target.is_some();
    let jobs_for_each_filter = (formats.list().len() * payload.len().max(1)) as u64;
    let written = Written { route: spec, wanted: wanted?, target, jobs_for_each_filter };
    let selections = written.selections(from, checks, findings);
    let back = goes_back.then(|| written.selections(to, checks, findings)).flatten();
    let route = Route {
        name: spec.name.as_ref()?.value.clone(),
        from,
        to,
        selections: selections?,
        formats,
        payload,
        send_as: send_as?,
        modifications: with_checksums(modifications?, checksums, changes_id),
        checksums,
        echo: if is_true(spec.echo.as_ref()) { Echo::On } else { Echo::Off },
        hop_limit: hop_limit.map_or(Some(None), |limit| limit.map(Some))?,
        timestamp: if is_true(spec.keep_timestamp.as_ref()) { Timestamp::Kept } else { Timestamp::Fresh },
        incoming: if is_true(spec.back_to_incoming.as_ref()) { Incoming::Allowed } else { Incoming::Skipped },
        max_age: max_age?,
        when_full: when_full?,
        uid: uid?,
        comment: spec.comment.as_ref().map(|written| written.value.clone()),
    };
    let is_sound = spec.broken.is_empty() && !is_to_itself && uid::fits(spec, &route, findings);
    is_sound.then(|| (route, back.map(|selections| (to, from, selections))))
}

/// Reports a comment that is too long, or that would not be one line on a terminal.
fn comment(spec: &RouteSpec, findings: &mut Findings) {
    let Some(written) = &spec.comment else { return };
    let problem = if written.value.chars().any(char::is_control) {
        "The comment contains a control character".to_owned()
    } else {
        match written.value.chars().count() {
            count if count > RouteSpec::MAX_COMMENT_CHARS => format!("The comment has {count} characters"),
            _ => return,
        }
    };
    let help = format!("write one line of at most {} characters, or use a # comment", RouteSpec::MAX_COMMENT_CHARS);
    findings.report(Diagnostic::error(code::NAME, written.span.clone(), problem).help(help));
}

pub(super) fn names_are_unique(routes: &[RouteSpec], findings: &mut Findings) {
    let mut places: HashMap<Cow<'_, str>, (&Span, bool)> = HashMap::with_capacity(routes.len());
    let claims = routes.iter().flat_map(|route| {
        let name = route.name.as_ref();
        let back = name.filter(|_| is_true(route.both_ways.as_ref()));
        let back = back.map(|name| (Cow::Owned(format!("{}{}", name.value, both_ways::BACK)), &name.span, true));
        name.map(|name| (Cow::Borrowed(name.value.as_str()), &name.span, false)).into_iter().chain(back)
    });
    for (name, place, is_back) in claims {
        match places.entry(name) {
            Entry::Vacant(free) => {
                free.insert((place, is_back));
            }
            Entry::Occupied(taken) => {
                let &(first, first_is_back) = taken.get();
                let says = if first_is_back { "the opposite direction of this route" } else { "first used here" };
                let message = format!("Two routes have the name {}", quote(taken.key()));
                let diagnostic = Diagnostic::error(code::DUPLICATE_ROUTE, place.clone(), message)
                    .also(first.clone(), says)
                    .help("counters are shown by name; give each route its own name");
                findings.report(if is_back { diagnostic.label("its opposite direction") } else { diagnostic });
            }
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
    let buses = &buses[..buses.len().min(MOST_CANDIDATES)];
    let names: Vec<_> = buses.iter().map(|bus| bus.name.value.as_str()).collect();
    let message = format!("Unknown bus {}", quote(&written.value));
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
        [] => "the file has no bus; add a table [bus.NAME]".to_owned(),
        list => format!("buses of this file: {}", list.join(", ")),
    }
}

fn to_itself(spec: &RouteSpec, findings: &mut Findings) {
    let (Some(from), Some(to)) = (&spec.from, &spec.to) else { return };
    findings.report(
        Diagnostic::error(
            code::ROUTE_TO_ITSELF,
            to.span.clone(),
            format!("The route leads from bus {} back to itself", quote(&from.value)),
        )
        .also(from.span.clone(), "source is here")
        .help(
            "a frame is never sent back to the interface that received it; name two different buses, or write \
             back-to-incoming = true if this is intended",
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
            "use \"classic\" (CAN CC, up to 8 bytes), \"fd\" (CAN FD, up to 64 bytes) or \"any\" (both)",
            findings,
        ),
    };
    if let (Some(errors), Some(frames)) = (&spec.errors, &spec.frames)
        && known.is_some_and(|known| known != Formats::Only(FrameFormat::Classic))
    {
        let why = "Error message frames are classic frames";
        conflict(&frames.span, why, errors.span.clone(), "matches them", "remove `frames`", findings);
        return None;
    }
    known
}

/// `None` when the file does not say a valid one; `Some(None)` when it says none.
fn send_as(spec: &RouteSpec, formats: Option<Formats>, findings: &mut Findings) -> Option<Option<SendAs>> {
    let Some(written) = &spec.send_as else {
        return (!spec.broken.contains(&"send-as")).then_some(None);
    };
    let help = "use \"classic\", \"fd\" or \"fd-brs\" (CAN FD with bit-rate switch)";
    let send_as = one_of(&SEND_AS, written, help, findings)?;
    if let Some(errors) = &spec.errors {
        let why = "Error message frames cannot be converted";
        conflict(&written.span, why, errors.span.clone(), "matches them", "remove `send-as`", findings);
        return None;
    }
    if let (Some(Formats::Only(format)), Some(frames)) = (formats, &spec.frames)
        && format == send_as.format()
    {
        let help = match send_as {
            SendAs::Fd { bit_rate_switch: true } => {
                "`send-as` converts frames of the other format; to set the bit-rate switch of FD frames, write or = { flags = \"01\" }"
            }
            _ => "`send-as` converts frames of the other format; remove it",
        };
        conflict(
            &written.span,
            "The frames already have this format",
            frames.span.clone(),
            "selects only these",
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
        let message = format!("Unknown frame format {}", quote(&written.value));
        let mut diagnostic = Diagnostic::error(code::FRAMES, written.span.clone(), message).help(help);
        if let Some(name) = closest(&written.value, &names) {
            diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
        }
        findings.report(diagnostic);
    }
    found.map(|&(_, value)| value)
}
