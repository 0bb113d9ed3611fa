//! The gateway as a graph for Graphviz: a box for each bus, an arrow for each route.

use std::fmt::Write;

use candor_core::plan::{Plan, Route};

use crate::cmd::show::words;

pub(super) fn plan(plan: &Plan) -> String {
    let mut text = String::from("digraph candor {\n  rankdir = LR;\n  node [shape = box];\n");
    for (index, bus) in plan.buses().iter().enumerate() {
        let label = format!("{}\n{}", bus.name, bus.interface);
        // Writing to a string cannot fail.
        let _written = writeln!(text, "  bus{index} [label = {}];", quoted(&label));
    }
    for route in plan.routes() {
        let _written = writeln!(
            text,
            "  bus{} -> bus{} [label = {}];",
            route.from.0,
            route.to.0,
            quoted(&format!("{}\n{}", route.name, what_passes(route)))
        );
    }
    text.push_str("}\n");
    text
}

fn what_passes(route: &Route) -> String {
    let keeps_ids = route.selections.iter().all(|selection| selection.id.is_none());
    let is_changed = !route.modifications.is_empty() || !keeps_ids || route.send_as.is_some();
    let changed = if is_changed { ", modified" } else { "" };
    let filters: Vec<_> =
        route.selections.iter().map(|selection| words::frames(selection.filter, route.formats)).collect();
    format!("{}{changed}", filters.join("; "))
}

/// A string of the dot language. There only the quote ends it, and a backslash begins an escape of the label.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
