//! The figures of records as a table in the terminal.

use std::fmt::Write as _;

use candor_core::stats::LatencyNs;
use candor_lab::record::{Header, Record};
use candor_lab::report::{Summary, Threat, conditions_of};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// The table, the ratios beside the paper's, and what to believe less.
pub(super) fn text(records: &[Record]) -> String {
    let summaries = Summary::of_all(records);
    let mut text = format!("{}\n", table(records, &summaries));
    for summary in &summaries {
        let mut say = |ratio: Option<f64>, base: &str| {
            if let Some(ratio) = ratio {
                writeln!(text, "{}: p50 is {ratio:.2} times {base}", summary.device)
                    .expect("writing to a String cannot fail");
            }
        };
        say(summary.kernel_ratio, "the kernel gateway's (2011 paper, section 3.7: about three times)");
        say(summary.floor_ratio, "that of the same calls without rules (candor lab floor)");
    }
    let kinds = conditions_of(records).len();
    if kinds > 1 {
        writeln!(
            text,
            "These are {kinds} sets of conditions; only figures of the same set can be compared (--html tells them)"
        )
        .expect("writing to a String cannot fail");
    }
    for record in records {
        for threat in Threat::all_of(record) {
            writeln!(text, "{}: {threat}", record.header.device).expect("writing to a String cannot fail");
        }
    }
    text
}

fn table(records: &[Record], summaries: &[Summary]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["gateway", "unit", "frames", "lost", "min", "p50", "p90", "p99", "max"]);
    for (record, summary) in records.iter().zip(summaries) {
        for (row, (unit, show)) in units(&record.header).into_iter().enumerate() {
            let first = |text: String| if row == 0 { text } else { String::new() };
            let mut cells = vec![first(summary.device.clone()), unit.to_owned()];
            cells.extend([first(summary.frames.to_string()), first(summary.lost.to_string())]);
            match summary.figures {
                Some(figures) => cells.extend(figures.columns().map(|(_, latency)| show(latency))),
                None => cells.extend(["–"; 5].map(str::to_owned)),
            }
            table.add_row(cells);
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

type Show = Box<dyn Fn(LatencyNs) -> String>;

/// The units that a record's figures are given in: instructions too, where the clock counts them.
fn units(header: &Header) -> Vec<(&'static str, Show)> {
    let microseconds: Show = Box::new(|latency| format!("{:.3}", latency.microseconds()));
    match header.instruction_ns {
        None => vec![("µs", microseconds)],
        Some(ns) => {
            let instructions: Show = Box::new(move |latency| (latency.0 / i64::from(ns.max(1))).to_string());
            vec![("instructions", instructions), ("virtual µs", microseconds)]
        }
    }
}
