//! A table and JSON, for `--once` and `--json`.

use serde::Serialize;

use super::display;
use super::model::{BusRow, Model, RouteRow};
use crate::cmd::table::{cells, table};

pub(super) fn text(model: &Model, title: &str) -> String {
    let mut text = String::new();
    if let Some(now) = model.now() {
        text += &format!("{title}: {} engine, up {}\n", now.engine, display::uptime(now.uptime_s));
    }
    let titles = cells(["bus", "interface", "state", "load", "rx/s", "tx/s", "queue", "lost", "errors"]);
    let bus = |bus: BusRow| {
        let load = display::load(bus.load());
        vec![
            bus.bus,
            bus.interface,
            bus.state,
            load,
            display::rate(bus.received_per_s),
            display::rate(bus.sent_per_s),
            bus.queue.map_or_else(|| display::UNKNOWN.into(), |queue| queue.to_string()),
            bus.lost.to_string(),
            bus.errors.to_string(),
        ]
    };
    let buses: Vec<_> = [titles].into_iter().chain(model.buses().into_iter().map(bus)).collect();
    let titles = cells([
        "route", "path", "side", "frames/s", "bytes/s", "drops/s", "50%", "99%", "handled", "dropped", "reasons",
    ]);
    let route = |route: RouteRow| {
        let reasons = route.drops.iter().filter(|(_, frames)| *frames > 0);
        let reasons: Vec<_> = reasons.map(|(reason, frames)| format!("{reason} {frames}")).collect();
        vec![
            route.route,
            format!("{} -> {}", route.from, route.to),
            route.side,
            display::rate(route.frames_per_s),
            display::rate(route.byte_per_s),
            display::rate(route.drops_per_s),
            display::latency(route.p50),
            display::latency(route.p99),
            route.handled.to_string(),
            route.dropped.to_string(),
            reasons.join(", "),
        ]
    };
    let routes: Vec<_> = [titles].into_iter().chain(model.routes().into_iter().map(route)).collect();
    text + &table(&buses, 3..9) + "\n" + &table(&routes, 3..10)
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View {
    /// Its file and process, or its address.
    gateway: String,
    engine: Option<String>,
    uptime_s: Option<f64>,
    buses: Vec<BusRow>,
    routes: Vec<RouteRow>,
}

pub(super) fn json(model: &Model, title: &str) -> View {
    View {
        gateway: title.to_owned(),
        engine: model.now().map(|now| now.engine.clone()),
        uptime_s: model.now().map(|now| now.uptime_s),
        buses: model.buses(),
        routes: model.routes(),
    }
}
