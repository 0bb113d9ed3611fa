//! [`Spec`] → [`Plan`]: checks every value and reports every error; one file for each concern.
//!
//! After an error a check returns something harmless, or `None` if there is nothing harmless: a file with errors makes
//! no plan.

mod buses;
mod checksum;
mod egress;
mod engine;
mod frame;
mod guard;
mod handling;
mod identifiers;
mod integrity;
mod lengths;
mod link;
mod mode;
mod operand;
mod payload;
mod realtime;
mod remap;
mod route;
mod scheme_keys;
mod secoc;
mod selection;
mod signals;
mod timing;
mod traffic;
mod value;
pub(super) mod wire;
mod xl;

pub(super) use selection::place;
pub use selection::{ListKind, ListOf, Lists, Withheld};

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::config::check::identifiers::Identifiers;
use crate::config::check::selection::Limits;
use crate::config::code;
use crate::config::names::Names;
use crate::config::spec::Spec;
use crate::plan::{Engine, Modes, Plan, Route};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::{Text, closest, quote};
use candor_core::realtime::Realtime;

/// Jobs of a file, each counted once for every payload pattern. The kernel would take more, but installing them would
/// take too long; 16 384 routes for both formats are half of it.
const MAX_JOBS: u64 = 1 << 16;

/// State shared by the checks of all routes.
struct Checks<'s> {
    buses: buses::BusNames<'s>,
    ids: Identifiers<'s>,
    /// `allow` and `deny` of each bus; `None` after an error.
    limits: Vec<Option<Rc<Limits>>>,
    names: &'s Names,
    /// Checks of sync frames, which other routes follow.
    syncs: secoc::Syncs,
    /// Jobs left for the remaining routes; `None` after [`MAX_JOBS`] were exceeded.
    jobs_left: Option<u64>,
}

struct Checked {
    /// Position of the route in the specification.
    spec: usize,
    /// `None` after an error.
    route: Option<Route>,
}

/// The gateway of a file, for its own engine or for another; `None` after an error.
pub(super) fn plan(spec: &Spec, names: &Names, instead: Option<Engine>, findings: &mut Findings) -> Option<Plan> {
    let engine = engine(spec, findings).map(|written| instead.unwrap_or(written));
    let bus_names = buses::BusNames::new(spec);
    let buses = buses::buses(&spec.buses.specs, &bus_names, findings);
    let realtime = spec.realtime.as_ref().map_or_else(Realtime::default, |spec| realtime::realtime(spec, findings));
    // Only candor-lab uses the result, but an error in it should be reported here too.
    if let Some(written) = &spec.wire {
        wire::wire(written, findings);
    }
    let mut ids = Identifiers::new(spec, findings);
    let limits = spec.buses.specs.iter().map(|bus| Limits::of_bus(bus, &mut ids, findings).map(Rc::new)).collect();
    let syncs = secoc::Syncs::of(spec, names, findings);
    let mut checks = Checks { buses: bus_names, ids, limits, names, syncs, jobs_left: Some(MAX_JOBS) };
    let mut routes = Vec::with_capacity(spec.routes.len());
    for (index, written) in spec.routes.iter().enumerate() {
        // Further findings would not be shown.
        if findings.is_full() {
            break;
        }
        route::routes(index, written, &mut checks, findings, &mut routes);
    }
    let frames = frame::frames(spec, &checks, findings);
    let watched = frame::watched(spec, &checks, findings);
    let egress = egress::egress(spec, &buses, &mut checks, findings);
    let traffic = traffic::traffic(spec, &buses, &checks, findings);
    let links = link::links(spec, &buses, &mut checks, findings);
    let modes = mode::modes(spec, &buses, &checks, findings);
    route::names_are_unique(&spec.routes, findings);
    handling::uids_are_unique(spec, &routes, findings);
    if let Some(engine) = engine {
        engine::can_run(engine, spec, &routes, findings);
    }
    unused_buses(spec, findings);
    checks.ids.unused(spec, findings);
    has_sections(spec, findings);
    let routes = routes.into_iter().map(|checked| checked.route).collect::<Option<_>>()?;
    let mut databases: Vec<_> = buses.iter().map(|bus| names.of_bus(&bus.name).to_vec()).collect();
    if databases.iter().all(Vec::is_empty) {
        databases.clear();
    }
    let (frames, no_modes) = (frames?, Modes::default());
    let plan = Plan {
        engine: engine?,
        realtime,
        buses,
        databases,
        routes,
        frames,
        watched,
        egress,
        modes: no_modes,
        traffic: traffic?,
        links: links?,
    };
    if findings.has_errors() {
        return None;
    }
    let plan = plan.with_modes(modes?);
    in_each_mode(&plan, spec, findings, |plan, findings| {
        frame::can_wait_for_all(plan, spec, findings);
        engine::has_place_for_all(plan, spec, findings);
        mode::are_heard(plan, spec, findings);
        mode::are_announced(plan, spec, findings);
    });
    egress::are_forwarded(&plan, spec, findings);
    realtime::has_effect(&plan, spec, findings);
    traffic::can_hold(&plan, spec, findings);
    Some(plan)
}

/// Checks the plan in no mode, and then in each mode, where findings that are known already are not repeated.
pub(super) fn in_each_mode(
    plan: &Plan,
    spec: &Spec,
    findings: &mut Findings,
    mut check: impl FnMut(&Plan, &mut Findings),
) {
    check(plan, findings);
    for written in &spec.modes {
        let known = findings.len();
        let Some(plan) = plan.in_mode(&written.name.value) else { continue };
        check(&plan, findings);
        findings.keep_new(known, &written.name.span, "in this mode");
    }
}

fn engine(spec: &Spec, findings: &mut Findings) -> Option<Engine> {
    let Some(written) = &spec.engine else {
        return Some(Engine::Kernel);
    };
    let known = Engine::named(&written.value);
    if known.is_none() {
        let names: Vec<_> = Engine::all().map(Engine::name).collect();
        let help = "use \"auto\" (each route where it costs least of the places that can run it), \"kernel\" (can-gw), \"bpf\" (eBPF \
                    programs), or a user-space engine such as \"read-write\" or \"mmap-adaptive\"; `candor engines` lists all";
        unknown(code::ENGINE, "engine", written, &names, help, findings);
    }
    known
}

/// Reports a word that is not one of `names`.
fn unknown(code: &'static str, what: &str, written: &Text, names: &[&str], help: &str, findings: &mut Findings) {
    let message = format!("Unknown {what} {}", quote(&written.value));
    let diagnostic = Diagnostic::error(code, written.span.clone(), message).help(help);
    findings.report(match closest(&written.value, names) {
        Some(name) => diagnostic.label(format!("did you mean \"{name}\"?")),
        None => diagnostic,
    });
}

/// Two places of a file that contradict each other, and what the second one says.
fn conflict(place: &Span, message: &str, (other, says): (&Span, &str), help: &str, findings: &mut Findings) {
    findings.report(Diagnostic::error(code::CONFLICT, place.clone(), message).also(other.clone(), says).help(help));
}

fn has_sections(spec: &Spec, findings: &mut Findings) {
    if findings.is_incomplete {
        return;
    }
    let is_only_wire = !spec.sections.bus && !spec.sections.route && !spec.sections.egress && !spec.sections.frame;
    if let Some(wire) = spec.wire.as_ref().filter(|_| is_only_wire) {
        let message = "The file has only buses of `candor-lab wire`, and no route";
        let help = "`candor-lab wire` accepts it as it is; a gateway also needs [bus.NAME] and [[route]]";
        findings.error(code::NO_ROUTE, &wire.span, message, help);
        return;
    }
    if !spec.sections.bus {
        let help = "add a table [bus.NAME] with interface = \"can0\" for each CAN network";
        findings.error(code::NO_BUS, &(0..0), "The file has no bus", help);
    }
    let is_watching = spec.buses.specs.iter().any(|bus| bus.watch.iter().flatten().next().is_some());
    // Without a gateway, there are bounds of its buses.
    let has_traffic = !spec.traffic.is_empty();
    if !spec.sections.route && !spec.sections.egress && !spec.sections.frame && !is_watching && !has_traffic {
        let help = "add a table [[route]] with name = \"…\", from = \"BUS\" and to = \"BUS\", or `watch` to a bus";
        findings.error(code::NO_ROUTE, &(0..0), "The file has no route", help);
    }
}

fn unused_buses(spec: &Spec, findings: &mut Findings) {
    if findings.is_incomplete {
        return;
    }
    // There are few buses, so comparing their names is faster than hashing them.
    let known: BTreeSet<_> = candor_core::order::set(spec.buses.specs.iter().map(|bus| bus.name.value.as_str()));
    let mut used = BTreeSet::new();
    for route in &spec.routes {
        let (Some(from), Some(to)) = (&route.from, &route.to) else { return };
        used.extend([from.value.as_str(), to.value.as_str()]);
    }
    for frame in &spec.frames {
        used.extend(frame.to.iter().map(|to| to.value.as_str()));
        let sources = frame.signals.iter().filter_map(|signal| signal.from.as_ref());
        // The beginning of the text names a bus.
        used.extend(known.iter().filter(|bus| {
            sources.clone().any(|from| from.value.strip_prefix(**bus).is_some_and(|rest| rest.starts_with('.')))
        }));
    }
    let has_routes = !used.is_empty();
    for bus in &spec.buses.specs {
        used.extend(bus.watch.as_ref().map(|_| bus.name.value.as_str()));
        if let Some(peer) = &bus.vxcan_peer {
            used.extend([bus.name.value.as_str(), peer.value.as_str()]);
        }
    }
    for mode in spec.modes.iter().map(|mode| &mode.table) {
        let heard = [&mode.enter, &mode.leave].into_iter().flatten().filter_map(|frame| frame.from.as_ref());
        let told = mode.announce.iter().flat_map(|announce| announce.to.iter().flatten());
        used.extend(heard.chain(told).map(|bus| bus.value.as_str()));
    }
    let guards = spec.routes.iter().filter_map(|route| route.guard.as_ref()?.alarm.as_ref()?.to.as_ref());
    used.extend(guards.map(|to| to.value.as_str()));
    used.extend(spec.egress.iter().map(|egress| egress.name.value.as_str()));
    // An unknown bus of a route may be any of them, and a file without routes has a greater problem.
    let has_broken = spec.frames.iter().any(|frame| frame.is_incomplete);
    if !has_routes || has_broken || !used.is_subset(&known) {
        return;
    }
    for bus in spec.buses.specs.iter().filter(|bus| !used.contains(bus.name.value.as_str())) {
        let message = format!("No route leads from or to bus {}", quote(&bus.name.value));
        findings.report(
            Diagnostic::warning(code::UNUSED_BUS, bus.name.span.clone(), message)
                .help("candor does not touch its interface; add a route, or remove the bus"),
        );
    }
}
