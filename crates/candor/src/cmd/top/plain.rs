//! A table and JSON, for `--once` and `--json`.

use serde::Serialize;

use super::display;
use super::model::{BusRow, Model, RouteRow};
use super::sample::{Frame, Signal};
use crate::cmd::table::{cells, table};

pub(super) fn text(model: &Model, title: &str, is_of_signals: bool) -> String {
    let mut text = String::new();
    if let Some(now) = model.now() {
        text += &format!("{title}: {} engine, up {}\n", now.engine, display::uptime(now.uptime_s));
    }
    text + &if is_of_signals { signals(model) } else { routes(model) }
}

fn routes(model: &Model) -> String {
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
    table(&buses, 3..9) + "\n" + &table(&routes, 3..10)
}

/// The composed frames and their signals.
fn signals(model: &Model) -> String {
    if model.frames().is_empty() && model.signals().is_empty() {
        return format!("{NO_FRAMES}\n");
    }
    let titles = cells(["frame", "to", "sent/s", "received", "sent", "dropped", "silent"]);
    let frame = |frame: Frame| {
        let silent = if frame.is_silent { "yes" } else { "no" };
        vec![
            frame.name,
            frame.to,
            display::rate(frame.sent_per_s),
            frame.received.to_string(),
            frame.sent.to_string(),
            frame.dropped.to_string(),
            silent.into(),
        ]
    };
    let frames: Vec<_> = [titles].into_iter().chain(model.frames().into_iter().map(frame)).collect();
    let titles = cells(["frame", "signal", "from", "state", "value", "age"]);
    let signal = |signal: &Signal| {
        let [frame, name, from, state] = [&signal.frame, &signal.name, &signal.from, signal.state()].map(str::to_owned);
        vec![frame, name, from, state, display::value(signal), display::age(signal.age_s)]
    };
    let signals: Vec<_> = [titles].into_iter().chain(model.signals().iter().map(signal)).collect();
    let frames = if model.frames().is_empty() { String::new() } else { table(&frames, 2..6) + "\n" };
    frames + &table(&signals, 4..6)
}

/// In place of the lists of frames and signals.
pub(super) const NO_FRAMES: &str = "This gateway composes no frames and watches no signals";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    /// Its file and process, or its address.
    gateway: String,
    engine: Option<String>,
    uptime_s: Option<f64>,
    buses: Vec<BusRow>,
    routes: Vec<RouteRow>,
    /// Frames that candor composes.
    frames: Vec<Frame>,
    /// Of these frames.
    signals: &'a [Signal],
}

pub(super) fn json<'a>(model: &'a Model, title: &str) -> View<'a> {
    View {
        gateway: title.to_owned(),
        engine: model.now().map(|now| now.engine.clone()),
        uptime_s: model.now().map(|now| now.uptime_s),
        buses: model.buses(),
        routes: model.routes(),
        frames: model.frames(),
        signals: model.signals(),
    }
}
