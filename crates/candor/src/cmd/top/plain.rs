//! A table and JSON, for `--once` and `--json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::display;
use super::model::{BusRow, Latency, Model, RouteRow};

pub(super) fn text(model: &Model, title: &str) -> String {
    let mut text = String::new();
    if let Some(now) = model.now() {
        let _ = writeln!(text, "{title}: {} engine, up {}", now.engine, display::uptime(now.uptime_s));
    }
    let of_bus = |bus: &BusRow| {
        let queue = bus.queue.map_or_else(|| display::UNKNOWN.into(), |queue| queue.to_string());
        vec![
            bus.name.clone(),
            bus.interface.clone(),
            bus.state.clone(),
            display::load(bus.load),
            display::rate(bus.received_per_s),
            display::rate(bus.sent_per_s),
            queue,
            bus.lost.to_string(),
            bus.errors.to_string(),
        ]
    };
    let titles = ["bus", "interface", "state", "load", "rx/s", "tx/s", "queue", "lost", "errors"];
    text += &table(&titles, 3, model.buses().iter().map(of_bus));
    let of_route = |route: &RouteRow| {
        let reasons = route.drops.iter().filter(|(_, frames)| *frames > 0);
        let reasons: Vec<_> = reasons.map(|(reason, frames)| format!("{reason} {frames}")).collect();
        vec![
            route.name.clone(),
            format!("{} -> {}", route.from, route.to),
            route.side.clone(),
            display::rate(route.frames_per_s),
            display::rate(route.bytes_per_s),
            display::rate(route.drops_per_s),
            display::latency(route.p50),
            display::latency(route.p99),
            route.handled.to_string(),
            route.dropped.to_string(),
            reasons.join(", "),
        ]
    };
    let titles =
        ["route", "path", "side", "frames/s", "bytes/s", "drops/s", "50%", "99%", "handled", "dropped", "reasons"];
    text + "\n" + &table(&titles, 3, model.routes().iter().map(of_route))
}

/// The first `left` columns and the reasons are left-aligned.
fn table<const N: usize>(titles: &[&str; N], left: usize, rows: impl Iterator<Item = Vec<String>>) -> String {
    let titles = titles.iter().map(|title| (*title).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(titles).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<_> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, (cell, width)): (usize, (&String, &usize))| {
            if column < left || column == REASONS { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        };
        let cells: Vec<_> = row.iter().zip(&widths).enumerate().map(cell).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// Column of the reasons for drops.
const REASONS: usize = 10;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View {
    gateway: String,
    engine: Option<String>,
    uptime_s: Option<f64>,
    buses: Vec<BusView>,
    routes: Vec<RouteView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BusView {
    bus: String,
    interface: String,
    state: String,
    bitrate_bit_per_s: Option<u64>,
    load_least: Option<f64>,
    load_most: Option<f64>,
    received_per_s: Option<f64>,
    sent_per_s: Option<f64>,
    queue: Option<u64>,
    lost: u64,
    errors: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RouteView {
    route: String,
    from: String,
    to: String,
    side: String,
    frames_per_s: Option<f64>,
    byte_per_s: Option<f64>,
    drops_per_s: Option<f64>,
    p50_at_most_s: Option<f64>,
    p99_at_most_s: Option<f64>,
    handled: u64,
    dropped: u64,
    /// By reason.
    drops: BTreeMap<String, u64>,
}

pub(super) fn json(model: &Model, title: &str) -> View {
    View {
        gateway: title.to_owned(),
        engine: model.now().map(|now| now.engine.clone()),
        uptime_s: model.now().map(|now| now.uptime_s),
        buses: model.buses().into_iter().map(BusView::of).collect(),
        routes: model.routes().into_iter().map(RouteView::of).collect(),
    }
}

impl BusView {
    fn of(bus: BusRow) -> Self {
        Self {
            load_least: bus.load.map(|(least, _)| least),
            load_most: bus.load.map(|(_, most)| most),
            bus: bus.name,
            interface: bus.interface,
            state: bus.state,
            bitrate_bit_per_s: bus.bitrate,
            received_per_s: bus.received_per_s,
            sent_per_s: bus.sent_per_s,
            queue: bus.queue,
            lost: bus.lost,
            errors: bus.errors,
        }
    }
}

impl RouteView {
    fn of(route: RouteRow) -> Self {
        let seconds = |latency: Option<Latency>| match latency {
            Some(Latency::AtMost { seconds }) => Some(seconds),
            Some(Latency::Above { .. }) | None => None,
        };
        Self {
            p50_at_most_s: seconds(route.p50),
            p99_at_most_s: seconds(route.p99),
            route: route.name,
            from: route.from,
            to: route.to,
            side: route.side,
            frames_per_s: route.frames_per_s,
            byte_per_s: route.bytes_per_s,
            drops_per_s: route.drops_per_s,
            handled: route.handled,
            dropped: route.dropped,
            drops: route.drops.into_iter().collect(),
        }
    }
}
