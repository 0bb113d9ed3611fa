//! A text tree, with columns of counters.

use super::short;
use super::{Counted, Drawing, Reasons, TreeObject, What};

/// A match may have hundreds of identifiers; JSON has all of them.
const MOST_CHARACTERS: usize = 90;
/// As wide as `4 294 967 295` without the spaces.
const COLUMN: usize = 10;

pub(in crate::cmd::egress) fn text(drawing: &Drawing) -> String {
    let bus = drawing.bus.as_ref().map_or_else(String::new, |bus| format!(" (bus {bus})"));
    let title = format!("{}{bus}", drawing.interface);
    if drawing.boxes.is_empty() {
        return format!("{title}\n  no qdisc: frames go directly to the driver\n");
    }
    let mut rows = Vec::new();
    branches(&drawing.boxes, "  ", &mut rows);
    if !drawing.is_live {
        let lines: String = rows.iter().map(|(label, _)| format!("{label}\n")).collect();
        return format!("{title}\n{lines}");
    }
    let width = rows.iter().map(|(label, _)| label.chars().count()).chain([title.chars().count()]).max();
    let width = width.unwrap_or_default();
    let mut text = format!("{title:<width$}{:>COLUMN$}{:>COLUMN$}{:>COLUMN$}\n", "frames", "dropped", "waiting");
    for (label, counted) in rows {
        text += format!("{label:<width$}{}", columns(counted)).trim_end();
        text.push('\n');
    }
    text
}

/// A row for each box, followed by its children.
fn branches<'a>(boxes: &'a [TreeObject], indent: &str, rows: &mut Vec<(String, Option<&'a Counted>)>) {
    for (at, one) in boxes.iter().enumerate() {
        let is_top = indent.len() == 2;
        let is_last = at + 1 == boxes.len();
        let (branch, trunk) = match (is_top, is_last) {
            (true, _) => ("", ""),
            (false, true) => ("└─ ", "   "),
            (false, false) => ("├─ ", "│  "),
        };
        rows.push((format!("{indent}{branch}{}", short(&label(one), MOST_CHARACTERS)), one.counted.as_ref()));
        // Children of the top level have no further indentation.
        let indent = if is_top { format!("{indent} ") } else { format!("{indent}{trunk}") };
        branches(&one.below, &indent, rows);
    }
}

fn label(one: &TreeObject) -> String {
    let band = one.band.as_ref().map_or_else(String::new, |band| format!(" \"{band}\""));
    let what = if one.what == What::Filter { "filter " } else { "" };
    let gap = if one.words.is_empty() || one.name.is_empty() { "" } else { " " };
    format!("{what}{}{band}{gap}{}", one.name, one.words)
}

/// Numbers in their columns, then remarks.
fn columns(counted: Option<&Counted>) -> String {
    let Some(counted) = counted else { return String::new() };
    let cell = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let cells = [counted.frames, counted.dropped, counted.waiting.map(u64::from)];
    let numbers: String = cells.into_iter().map(|number| format!("{:>COLUMN$}", cell(number))).collect();
    format!("{numbers}{}", remarks(counted))
}

/// Why a queue in the order of arbitration dropped frames.
fn reasons(counted: &Counted) -> impl Iterator<Item = String> {
    let of = |Reasons { full, socket, expired, replaced, failed }: Reasons| {
        [
            (full, "when full"),
            (Some(socket), "by per-socket"),
            (expired, "by max-age"),
            (replaced, "replaced"),
            (failed, "by an error in candor"),
        ]
    };
    let reasons = counted.reasons.map(of).into_iter().flatten();
    reasons.filter_map(|(count, why)| Some(format!("{} {why}", count.filter(|count| *count > 0)?)))
}

pub(super) fn remarks(counted: &Counted) -> String {
    let times = |number: Option<u32>| number.filter(|number| *number > 0);
    let remarks = [
        counted.asked.map(|asked| format!("of {asked} tested")),
        times(counted.overlimits).map(|number| format!("rate-limited {number} times")),
        times(counted.requeues).map(|number| format!("requeued {number} times by the driver")),
        times(counted.borrows).map(|number| format!("{number} borrowed")),
    ];
    let remarks: Vec<_> = remarks.into_iter().flatten().chain(reasons(counted)).collect();
    if remarks.is_empty() { String::new() } else { format!("  {}", remarks.join(", ")) }
}
