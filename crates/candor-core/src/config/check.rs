//! [`Spec`] → [`Plan`]: every value is proven, every mistake reported; one file for each concern.

mod buses;
mod checksum;
mod engine;
mod number;
mod operand;
mod route;
mod warnings;

pub(super) use buses::MAX_INTERFACE_BYTES;

use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings};
use crate::config::parse::{closest, quote};
use crate::config::spec::Spec;
use crate::plan::{Engine, Plan};

const ENGINES: [Engine; 3] = [Engine::Auto, Engine::Kernel, Engine::ReadWrite];

/// The gateway of a file; `None` unless everything could be proven.
pub(super) fn plan(spec: &Spec, findings: &mut Findings) -> Option<Plan> {
    let engine = engine(spec, findings);
    let buses = buses::buses(&spec.buses, findings);
    let names = buses::BusNames::new(spec);
    let routes: Vec<_> = spec.routes.iter().map(|route| route::route(route, &names, findings)).collect();
    route::names_are_unique(&spec.routes, findings);
    if let Some(engine) = engine {
        engine::can_run(engine, spec, findings);
    }
    warnings::unused_buses(spec, findings);
    warnings::same_routes(spec, &routes, findings);
    something_to_do(spec, findings);
    Some(Plan { engine: engine?, buses: buses?, routes: routes.into_iter().collect::<Option<_>>()? })
}

fn engine(spec: &Spec, findings: &mut Findings) -> Option<Engine> {
    let Some(written) = &spec.engine else {
        return Some(Engine::Kernel);
    };
    let known = ENGINES.into_iter().find(|engine| engine.name() == written.value);
    if known.is_none() {
        let names = ENGINES.map(Engine::name);
        let message = format!("There is no engine {}", quote(&written.value));
        let mut diagnostic = Diagnostic::error(code::ENGINE, written.span.clone(), message).help(
            "\"kernel\" (can-gw jobs in the kernel), \"read-write\" (a gateway in user space) or \"auto\" (each \
                 route in the kernel if can-gw can do it, otherwise in user space)",
        );
        if let Some(name) = closest(&written.value, &names) {
            diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
        }
        findings.report(diagnostic);
    }
    known
}

fn something_to_do(spec: &Spec, findings: &mut Findings) {
    if findings.torn {
        return;
    }
    if !spec.sections.bus {
        findings.report(
            Diagnostic::error(code::NO_BUS, 0..0, "The file has no bus")
                .help("add one for each CAN network: a line [bus.NAME] and below it interface = \"can0\""),
        );
    }
    if !spec.sections.route {
        findings.report(
            Diagnostic::error(code::NO_ROUTE, 0..0, "The file has no route")
                .help("add a line [[route]] and below it name = \"…\", from = \"BUS\" and to = \"BUS\""),
        );
    }
}
