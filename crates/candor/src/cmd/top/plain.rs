//! One look at a gateway, as a table and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::model::{BusRow, Latency, Model, RouteRow};
use super::words;

/// A table for people and scripts, without colours.
pub(super) fn text(model: &Model, title: &str) -> String {
    let mut text = String::new();
    if let Some(now) = model.now() {
        let _ = writeln!(text, "{title}: {} engine, up {}", now.engine, words::uptime(now.uptime_s));
    }
    let of_bus = |bus: &BusRow| {
        let queue = bus.queue.map_or_else(|| words::UNKNOWN.into(), |queue| queue.to_string());
        vec![
            bus.name.clone(),
            bus.interface.clone(),
            bus.state.clone(),
            words::load(bus.load),
            words::rate(bus.received_per_s),
            words::rate(bus.sent_per_s),
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
            words::rate(route.frames_per_s),
            words::rate(route.bytes_per_s),
            words::rate(route.drops_per_s),
            words::latency(route.p50),
            words::latency(route.p99),
            route.handled.to_string(),
            route.dropped.to_string(),
            reasons.join(", "),
        ]
    };
    let titles =
        ["route", "way", "side", "frames/s", "bytes/s", "drops/s", "50%", "99%", "handled", "dropped", "because"];
    text + "\n" + &table(&titles, 3, model.routes().iter().map(of_route))
}

/// The first columns and the last one of words are aligned left.
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

/// The column of the reasons.
const REASONS: usize = 10;

/// What a program reads; see `docs/json.md`.
pub(super) fn json(model: &Model, title: &str) -> Value {
    let now = model.now();
    let uptime_s = now.map(|now| now.uptime_s);
    let engine = now.map(|now| now.engine.as_str());
    let of_bus = |bus: &BusRow| {
        json!({
            "bus": bus.name,
            "interface": bus.interface,
            "state": bus.state,
            "bitrate_bit_per_s": bus.bitrate,
            "load_least": bus.load.map(|(least, _)| least),
            "load_most": bus.load.map(|(_, most)| most),
            "received_per_s": bus.received_per_s,
            "sent_per_s": bus.sent_per_s,
            "queue": bus.queue,
            "lost": bus.lost,
            "errors": bus.errors,
        })
    };
    let seconds = |latency: Option<Latency>| match latency {
        Some(Latency::AtMost { seconds }) => Some(seconds),
        Some(Latency::Above { .. }) | None => None,
    };
    let of_route = |route: &RouteRow| {
        let drops: serde_json::Map<_, _> =
            route.drops.iter().map(|(reason, frames)| (reason.clone(), json!(frames))).collect();
        json!({
            "route": route.name,
            "from": route.from,
            "to": route.to,
            "side": route.side,
            "frames_per_s": route.frames_per_s,
            "byte_per_s": route.bytes_per_s,
            "drops_per_s": route.drops_per_s,
            "p50_at_most_s": seconds(route.p50),
            "p99_at_most_s": seconds(route.p99),
            "handled": route.handled,
            "dropped": route.dropped,
            "drops": drops,
        })
    };
    let buses: Vec<_> = model.buses().iter().map(of_bus).collect();
    let routes: Vec<_> = model.routes().iter().map(of_route).collect();
    json!({"gateway": title, "engine": engine, "uptime_s": uptime_s, "buses": buses, "routes": routes})
}
