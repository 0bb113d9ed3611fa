//! [`Spec`] → [`Plan`]: every value is proven, every mistake reported; one file for each concern.

mod both_ways;
mod buses;
mod checksum;
mod egress;
mod engine;
mod identifiers;
mod lateness;
mod number;
mod operand;
mod payload;
mod peers;
mod realtime;
mod remap;
mod route;
mod selection;
mod uid;
mod warnings;
pub(super) mod wire;
mod withheld;

pub use withheld::{ListKind, ListOf, Lists, Withheld};

use std::rc::Rc;

use crate::config::check::identifiers::Identifiers;
use crate::config::check::selection::Limits;
use crate::config::code;
use crate::config::spec::Spec;
use crate::plan::{Engine, Plan, Route};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::{closest, quote};
use candor_core::realtime::Realtime;

/// Jobs of a file, each counted once for every payload pattern that it looks for. The kernel would take more, but
/// nobody could wait for it; 16 384 routes for both formats are half of it.
const MAX_JOBS: u64 = 1 << 16;

/// State shared by the checks of all routes.
struct Checks<'s> {
    buses: buses::BusNames<'s>,
    ids: Identifiers<'s>,
    /// `allow` and `deny` of each bus; `None` where they are wrong.
    limits: Vec<Option<Rc<Limits>>>,
    jobs_left: JobsLeft,
}

/// Jobs left for the remaining routes.
enum JobsLeft {
    /// So many.
    Some(u64),
    /// There were more than [`MAX_JOBS`], which has been said.
    Exceeded,
}

/// A route and where it comes from.
struct Checked {
    /// Its place in the specification.
    spec: usize,
    /// `None` if something is wrong with it.
    route: Option<Route>,
}

/// The gateway of a file, for this engine or for that of the file; `None` unless everything could be proven.
pub(super) fn plan(spec: &Spec, instead: Option<Engine>, findings: &mut Findings) -> Option<Plan> {
    let engine = engine(spec, findings).map(|written| instead.unwrap_or(written));
    let buses = buses::buses(&spec.buses, findings);
    let names = buses::BusNames::new(spec);
    let realtime = spec
        .realtime
        .as_ref()
        .map_or_else(|| Some(Realtime::default()), |written| realtime::realtime(written, findings));
    // It is for candor-lab wire; but who writes it into a gateway file wants to know that it is right.
    if let Some(written) = &spec.wire {
        wire::wire(written, findings);
    }
    let peers = peers::peers(spec, &names, findings);
    let mut ids = Identifiers::new(spec, findings);
    let limits = spec.buses.iter().map(|bus| Limits::of_bus(bus, &mut ids, findings).map(Rc::new)).collect::<Vec<_>>();
    let bus_limits_are_sound = limits.iter().all(Option::is_some);
    let mut checks = Checks { buses: names, ids, limits, jobs_left: JobsLeft::Some(MAX_JOBS) };
    let mut routes = Vec::with_capacity(spec.routes.len());
    for (index, written) in spec.routes.iter().enumerate() {
        // Nothing more would be said about them.
        if findings.is_full() {
            break;
        }
        route::routes(index, written, &mut checks, findings, &mut routes);
    }
    let egress = egress::egress(spec, buses.as_deref(), &mut checks, findings);
    route::names_are_unique(&spec.routes, findings);
    uid::are_unique(spec, &routes, findings);
    if let Some(engine) = engine {
        engine::can_run(engine, spec, &routes, findings);
    }
    warnings::unused_buses(spec, findings);
    checks.ids.unused(spec, findings);
    something_to_do(spec, findings);
    let mut buses = buses.filter(|_| bus_limits_are_sound)?;
    for (bus, peer) in buses.iter_mut().zip(peers?) {
        bus.vxcan_peer = peer;
    }
    let routes = routes.into_iter().map(|checked| checked.route).collect::<Option<_>>()?;
    let plan = Plan { engine: engine?, realtime: realtime?, buses, routes, egress: egress? };
    if findings.has_errors() {
        return None;
    }
    engine::has_place_for_all(&plan, spec, findings);
    egress::are_forwarded(&plan, spec, findings);
    realtime::has_effect(&plan, spec, findings);
    Some(plan)
}

fn engine(spec: &Spec, findings: &mut Findings) -> Option<Engine> {
    let Some(written) = &spec.engine else {
        return Some(Engine::Kernel);
    };
    let known = Engine::named(&written.value);
    if known.is_none() {
        let names: Vec<_> = Engine::all().map(Engine::name).collect();
        let message = format!("Unknown engine {}", quote(&written.value));
        let mut diagnostic = Diagnostic::error(code::ENGINE, written.span.clone(), message).help(
            "use \"auto\" (each route in the kernel if can-gw supports it, otherwise in user space), \"kernel\" (can-gw), \
             or a user-space engine such as \"read-write\" or \"mmap-adaptive\"; `candor engines` lists all",
        );
        if let Some(name) = closest(&written.value, &names) {
            diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
        }
        findings.report(diagnostic);
    }
    known
}

/// Reports that two places of a route contradict each other.
fn conflict(place: &Span, message: &str, other: Span, says: &str, help: &str, findings: &mut Findings) {
    findings.report(Diagnostic::error(code::CONFLICT, place.clone(), message).also(other, says).help(help));
}

fn something_to_do(spec: &Spec, findings: &mut Findings) {
    if findings.torn {
        return;
    }
    if let Some(wire) =
        spec.wire.as_ref().filter(|_| !spec.sections.bus && !spec.sections.route && !spec.sections.egress)
    {
        findings.report(
            Diagnostic::error(
                code::NO_ROUTE,
                wire.span.clone(),
                "The file has only buses of `candor-lab wire`, and no route",
            )
            .help("`candor-lab wire` accepts it as it is; a gateway also needs [bus.NAME] and [[route]]"),
        );
        return;
    }
    if !spec.sections.bus {
        findings.report(
            Diagnostic::error(code::NO_BUS, 0..0, "The file has no bus")
                .help("add a table [bus.NAME] with interface = \"can0\" for each CAN network"),
        );
    }
    if !spec.sections.route && !spec.sections.egress {
        findings.report(
            Diagnostic::error(code::NO_ROUTE, 0..0, "The file has no route")
                .help("add a table [[route]] with name = \"…\", from = \"BUS\" and to = \"BUS\""),
        );
    }
}
