//! The gateway as a graph for Graphviz: a box for each bus, an arrow for each route, dashed in user space if the engine is
//! `auto`.

use std::fmt::Write;

use candor_config::placement::{KernelAbilities, Placement, Side};
use candor_config::plan::{Engine, Plan, Route, RouteIndex};

use crate::cmd::show::labels;

pub(super) fn plan(plan: &Plan) -> String {
    let mut text = String::from("digraph candor {\n  rankdir = LR;\n  node [shape = box];\n");
    for (index, bus) in plan.buses().iter().enumerate() {
        let label = format!("{}\n{}", bus.name, bus.interface);
        let _written = writeln!(text, "  bus{index} [label = {}];", quoted(&label));
    }
    let placement = (plan.engine() == Engine::Auto).then(|| Placement::of(plan, KernelAbilities::EVERY).ok()).flatten();
    for (index, route) in plan.routes().iter().enumerate() {
        let side = placement.as_ref().map(|placement| placement.side(RouteIndex(index)));
        let style = if side == Some(Side::User) { ", style = dashed" } else { "" };
        let _written = writeln!(
            text,
            "  bus{} -> bus{} [label = {}{style}];",
            route.from.0,
            route.to.0,
            quoted(&format!("{}\n{}", route.name, summary(route)))
        );
    }
    for frame in plan.frames() {
        let mut from: Vec<_> = frame.sources.iter().map(|source| source.bus.0).collect();
        candor_core::order::sort(&mut from);
        from.dedup();
        for bus in from {
            let (to, label) = (frame.to.0, quoted(&format!("{}\ncomposed", frame.name)));
            let _written = writeln!(text, "  bus{bus} -> bus{to} [label = {label}, style = dashed];");
        }
    }
    for (index, bus) in plan.buses().iter().enumerate() {
        // Both ends of a pair name each other; draw one line.
        if let Some(peer) = bus.vxcan_peer.filter(|peer| peer.0 > index) {
            let _written =
                writeln!(text, "  bus{index} -> bus{} [label = \"vxcan\", dir = both, style = dotted];", peer.0);
        }
    }
    text.push_str("}\n");
    text
}

fn summary(route: &Route) -> String {
    let is_changed = !route.modifications.is_empty() || route.selections.iter().any(|one| one.id.is_some());
    let mut text = labels::matches(&route.selections, route.formats).join("; ");
    for (holds, word) in [
        (!route.payload.is_empty(), ", by payload"),
        (route.send_as.is_some(), ", converted"),
        (is_changed, ", modified"),
    ] {
        text.push_str(if holds { word } else { "" });
    }
    text
}

/// A string of the dot language, in which a backslash begins an escape sequence of the label.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
