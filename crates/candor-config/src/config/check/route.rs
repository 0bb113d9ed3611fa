//! Routes: ends, formats, and how everything about a route comes together.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::config::check::remap::Target;
use crate::config::check::selection::{Wanted, place};
use crate::config::check::{
    Checked, Checks, MAX_JOBS, buses, checksum, conflict, guard, handling, integrity, operand, payload, remap, signals,
    timing, value, xl,
};
use crate::config::code;
use crate::config::spec::{RouteSpec, is_true};
use crate::plan::{BusIndex, Echo, Formats, Incoming, Route, Selection, SendAs, Timestamp};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::quote;
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat};
use candor_core::rule::{Checksums, Modifications};

/// After the name of a bidirectional route, in the opposite direction.
const BACK: &str = "/back";

/// The route, and its opposite direction if it is bidirectional.
pub(super) fn routes(
    index: usize,
    spec: &Table<RouteSpec>,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
    routes: &mut Vec<Checked>,
) {
    let goes_back = goes_back(spec, findings);
    let (route, back) = match route(index, spec, goes_back, checks, findings) {
        Some((route, back)) => (Some(route), back),
        None => (None, None),
    };
    let mut add = |route| routes.push(Checked { spec: index, route });
    match (&route, back) {
        (Some(there), Some((from, to, selections))) if goes_back => {
            let name = format!("{}{BACK}", there.name);
            let back = Route { name, from, to, selections, ..there.clone() };
            add(route);
            add(Some(back));
        }
        (Some(_), None) if goes_back => add(None),
        _ => add(route),
    }
}

/// Returns true if the route is bidirectional. A modification is not its own inverse, so such a route has none.
fn goes_back(spec: &RouteSpec, findings: &mut Findings) -> bool {
    let Some(both_ways) = spec.both_ways.as_ref().filter(|both_ways| both_ways.value) else { return false };
    let change = changes(spec).next();
    if let Some((key, place)) = change {
        let why = "A route that modifies frames cannot be bidirectional";
        let help = format!("write a second route for the opposite direction, or remove `{key}`");
        conflict(&both_ways.span, why, (place, "modifies frames"), &help, findings);
    }
    if let (Some(from), Some(to)) = (&spec.from, &spec.to)
        && from.value == to.value
    {
        let why = "Both directions of this route are the same";
        conflict(&both_ways.span, why, (&to.span, "the same bus as `from`"), "remove `both-ways`", findings);
        return false;
    }
    change.is_none()
}

fn changes(spec: &RouteSpec) -> impl Iterator<Item = (&'static str, &Span)> {
    let operands = [("and", &spec.and), ("or", &spec.or), ("xor", &spec.xor), ("set", &spec.set)];
    let operands = operands.into_iter().filter_map(|(key, operand)| Some((key, &operand.as_ref()?.span)));
    let others = [
        ("change", spec.change.first().map(|change| &change.name.span)),
        ("to-id", spec.to_id.as_ref().map(|to_id| &to_id.span)),
        ("protect", spec.protect.as_ref().map(|protect| &protect.span)),
        ("send-as", spec.send_as.as_ref().map(|send_as| &send_as.span)),
        ("checksum-crc8", spec.checksum_crc8.as_ref().map(|checksum| &checksum.span)),
        ("checksum-xor", spec.checksum_xor.as_ref().map(|checksum| &checksum.span)),
    ];
    operands.chain(others.into_iter().filter_map(|(key, span)| Some((key, span?))))
}

/// Ends and selections of the opposite direction.
type Back = (BusIndex, BusIndex, Vec<Selection>);

/// `None` after an error.
fn route(
    index: usize,
    spec: &Table<RouteSpec>,
    goes_back: bool,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Option<(Route, Option<Back>)> {
    let errors = findings.errors();
    if let Some(name) = &spec.name {
        buses::name(name, findings);
    }
    let from = spec.from.as_ref().and_then(|written| checks.buses.index(written, findings));
    let to = spec.to.as_ref().and_then(|written| checks.buses.index(written, findings));
    if from.is_some() && from == to && !is_true(&spec.back_to_incoming) {
        to_itself(spec, findings);
    }
    let formats =
        formats(spec, findings).and_then(|formats| xl::formats(spec, changes(spec).next(), formats, findings));
    let (send_as, outgoing) = send_as(spec, formats, findings);
    let wanted = Wanted::of(spec, &mut checks.ids, findings);
    let target = spec.to_id.as_ref().map(|written| remap::target(spec, written, wanted.as_ref(), findings));
    let names = checks.names.route(index);
    let payload = match names.and_then(|names| names.condition.as_ref()) {
        Some(condition) => signals::condition(spec, condition, formats, findings),
        None => payload::patterns(spec, formats, findings),
    };
    // Frames are modified after the conversion.
    let modifications = operand::modifications(spec, outgoing, findings);
    let checksums = checksum::checksums(spec, outgoing, findings);
    let uid = handling::uid(spec, findings);
    let max_age = spec.max_age.as_ref().and_then(|written| value::duration(written, findings));
    let when_full = handling::when_full(spec, findings);
    let notes = handling::notes(&spec.notes, findings);
    let (from, to, formats) = (from?, to?, formats?);
    let changes_id = target.is_some();
    let target = target.flatten();
    if changes_id && target.is_none() {
        return None;
    }
    let jobs_for_each_filter = (formats.list().len().max(1) * payload.len().max(1)) as u64;
    let selections = Selections { route: spec, wanted: wanted?, target, jobs_for_each_filter };
    let modifications = with_checksums(modifications, checksums, changes_id);
    let changes = names.map_or(&[][..], |names| &names.changes);
    let mut selected = |from, findings: &mut Findings| {
        let all = selections.from(from, checks, findings)?;
        if formats == Formats::Xl { xl::selections(spec, all, findings) } else { Some(all) }
    };
    let forward = selected(from, findings);
    let back = goes_back.then(|| selected(to, findings)).flatten();
    let mut forward = forward?;
    let (computed, modifications) = signals::changes(spec, changes, (&forward, formats), modifications, findings);
    let [checked, protected] =
        integrity::integrity(spec, (&forward, formats, outgoing.unwrap_or(formats)), checks, findings);
    let (protected, checksums) = integrity::of_can_gw(protected, &modifications, checksums);
    let (guard, guards) = guard::guard(spec, (&forward, formats), checks, findings).unzip();
    let [claimed, form, pace] = guards.unwrap_or_default();
    let timing = timing::timing(spec, (&mut forward, formats), checks, findings);
    let route = Route {
        name: spec.name.as_ref()?.value.clone(),
        from,
        to,
        mode: spec.mode.as_ref().map(|mode| mode.value.clone()),
        selections: forward,
        formats,
        payload,
        condition: names.and_then(|names| Some(names.condition.as_ref()?.written.clone())),
        send_as,
        signals: changes.iter().map(|change| change.written.clone()).collect(),
        computed,
        // A bad frame must not use up what good ones may have.
        checks: [claimed, form, checked, pace].into_iter().flatten().collect(),
        told: guard::told(spec),
        guard,
        modifications,
        checksums,
        protected,
        echo: if is_true(&spec.echo) { Echo::On } else { Echo::Off },
        hop_limit: spec.hop_limit.as_ref().map(|written| written.value),
        timestamp: if is_true(&spec.keep_timestamp) { Timestamp::Kept } else { Timestamp::Fresh },
        incoming: if is_true(&spec.back_to_incoming) { Incoming::Allowed } else { Incoming::Skipped },
        is_exclusive: is_true(&spec.exclusive),
        is_refused: false,
        max_age,
        when_full,
        timing,
        uid,
        notes,
    };
    if spec.is_incomplete || findings.errors() > errors {
        return None;
    }
    handling::uid_fits(spec, &route, findings);
    (findings.errors() == errors).then(|| (route, back.map(|selections| (to, from, selections))))
}

/// The filters of a route.
struct Selections<'r> {
    route: &'r Table<RouteSpec>,
    wanted: Wanted,
    target: Option<Target>,
    /// Jobs, times payload patterns, for each filter.
    jobs_for_each_filter: u64,
}

impl Selections<'_> {
    /// The filters for frames from a bus, with the changes of their identifiers.
    fn from(&self, from: BusIndex, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Vec<Selection>> {
        let jobs_left = checks.jobs_left?;
        let of_bus = checks.limits[from.0].clone()?;
        let most = jobs_left / self.jobs_for_each_filter;
        let left = self.wanted.left(self.route, &of_bus, &mut checks.ids, findings)?;
        let selections = match &self.target {
            Some(target) => remap::selections(target, &left, most, &mut checks.ids, findings)?,
            None => left
                .filters(most)
                .map(|filters| filters.into_iter().map(|filter| Selection { filter, id: None }).collect::<Vec<_>>()),
        };
        let count = selections.as_ref().map_or_else(|count| *count, |selections| selections.len() as u64);
        if count > most {
            checks.jobs_left = None;
            too_many_jobs(self.route, count, findings);
            return None;
        }
        checks.jobs_left = Some(jobs_left - count * self.jobs_for_each_filter);
        selections.ok()
    }
}

fn too_many_jobs(spec: &Table<RouteSpec>, filters: u64, findings: &mut Findings) {
    let filters = if filters == 1 { "1 filter".to_owned() } else { format!("{filters} filters") };
    let message = format!("With this route, which needs {filters}, the file has more than {MAX_JOBS} can-gw jobs");
    findings.report(
        Diagnostic::error(code::TOO_MANY_JOBS, place(spec), message)
            .label("the limit is reached here")
            .help("write ranges in place of single identifiers, or set `frames`, which halves the jobs of a route"),
    );
}

pub(super) fn names_are_unique(routes: &[Table<RouteSpec>], findings: &mut Findings) {
    let mut places: HashMap<Cow<'_, str>, (&Span, bool)> = HashMap::with_capacity(routes.len());
    let claims = routes.iter().flat_map(|route| {
        let name = route.name.as_ref();
        let back = name.filter(|_| is_true(&route.both_ways));
        let back = back.map(|name| (Cow::Owned(format!("{}{BACK}", name.value)), &name.span, true));
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

/// can-gw ignores checksums without a modification. OR of zeros is one that changes nothing.
fn with_checksums(mut modifications: Modifications, checksums: Checksums, changes_id: bool) -> Modifications {
    if checksums != Checksums::default() && modifications.is_empty() && !changes_id {
        modifications.or.data = Some([0; CANFD_MAX_DLEN]);
    }
    modifications
}

fn to_itself(spec: &RouteSpec, findings: &mut Findings) {
    let (Some(from), Some(to)) = (&spec.from, &spec.to) else { return };
    let message = format!("The route leads from bus {} back to itself", quote(&from.value));
    let help = "a frame is never sent back to the interface that received it; name two different buses, or write \
                back-to-incoming = true if this is intended";
    findings.report(
        Diagnostic::error(code::ROUTE_TO_ITSELF, to.span.clone(), message)
            .also(from.span.clone(), "source is here")
            .help(help),
    );
}

/// `None` after an error.
fn formats(spec: &Table<RouteSpec>, findings: &mut Findings) -> Option<Formats> {
    const FORMATS: [(&str, Formats); 4] = [
        ("any", Formats::Any),
        ("classic", Formats::Only(FrameFormat::Classic)),
        ("fd", Formats::Only(FrameFormat::Fd)),
        ("xl", Formats::Xl),
    ];
    let known = match &spec.frames {
        _ if spec.broken.contains(&"frames") => None,
        // Drivers report errors in classic frames only.
        None if spec.errors.is_some() => Some(Formats::Only(FrameFormat::Classic)),
        None => Some(Formats::Any),
        Some(written) => {
            let help = "use \"classic\" (CAN CC, up to 8 bytes), \"fd\" (CAN FD, up to 64 bytes), \"any\" (both) or \"xl\" \
                        (CAN XL, eBPF programs only)";
            value::word(written, (code::FRAMES, "frame format", help), &FORMATS, findings)
        }
    };
    if let (Some(errors), Some(frames)) = (&spec.errors, &spec.frames)
        && known.is_some_and(|known| known != Formats::Only(FrameFormat::Classic))
    {
        let why = "Error message frames are classic frames";
        conflict(&frames.span, why, (&errors.span, "matches them"), "remove `frames`", findings);
        return None;
    }
    known
}

/// The conversion, and the formats of outgoing frames, `None` after an error.
fn send_as(
    spec: &Table<RouteSpec>,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> (Option<SendAs>, Option<Formats>) {
    const SEND_AS: [(&str, SendAs); 3] = [
        ("classic", SendAs::Classic),
        ("fd", SendAs::Fd { bit_rate_switch: false }),
        ("fd-brs", SendAs::Fd { bit_rate_switch: true }),
    ];
    let Some(written) = &spec.send_as else {
        return (None, formats.filter(|_| !spec.broken.contains(&"send-as")));
    };
    let help = "use \"classic\", \"fd\" or \"fd-brs\" (CAN FD with bit-rate switch)";
    let send_as = value::word(written, (code::FRAMES, "frame format", help), &SEND_AS, findings);
    let Some(send_as) = send_as else { return (None, None) };
    if let Some(errors) = &spec.errors {
        let why = "Error message frames cannot be converted";
        conflict(&written.span, why, (&errors.span, "matches them"), "remove `send-as`", findings);
        return (None, None);
    }
    if let (Some(Formats::Only(format)), Some(frames)) = (formats, &spec.frames)
        && format == send_as.format()
    {
        let help = match send_as {
            SendAs::Fd { bit_rate_switch: true } => {
                "`send-as` converts frames of the other format; to set the bit-rate switch of FD frames, write \
                 or = { flags = \"01\" }"
            }
            _ => "`send-as` converts frames of the other format; remove it",
        };
        let why = "The frames already have this format";
        conflict(&written.span, why, (&frames.span, "selects only these"), help, findings);
        return (None, None);
    }
    (Some(send_as), Some(Formats::Only(send_as.format())))
}
