//! The table of `candor learn detect`.

use std::fmt::Write as _;

use candor_cli::table::table;
use candor_learn::detect::Rule;

use super::{Cell, Row, Table};

pub(super) fn text(from: &Table) -> String {
    let mut text = format!("{}\n\nDetected attacks of all, and the median time to the first alarm:\n\n", from.about);
    let attacks = || from.rows.iter().filter(|row| row.name.is_some());
    text += &rows(attacks(), "attack", |row, cell| match cell.delay_ns() {
        Some(delay) => format!("{} of {}, {}", cell.detected, row.runs, time(delay)),
        None => "-".into(),
    });
    text += "\nFrames of the attacker that were found:\n\n";
    text += &rows(attacks().filter(|row| row.frames > 0), "attack", |row, cell| match cell.caught {
        0 => "-".into(),
        caught => format!("{:.1} %", 100.0 * caught as f64 / row.frames as f64),
    });
    text += "\nFalse alarms (per hour of traffic):\n\n";
    text += &rows(from.rows.iter(), "traffic", |row, cell| match cell.false_alarms {
        0 => "0".into(),
        alarms => format!("{alarms} ({:.1})", alarms as f64 * 3600.0 / row.seconds.max(1.0)),
    });
    if !from.left_out.is_empty() {
        text += "\nLeft out:\n";
    }
    for one in &from.left_out {
        let _ = writeln!(text, "  {one}");
    }
    text + "\nA frame in place of the usual one, at its time, with possible values and a valid checksum cannot be detected: only an\n\
            authentication code (SecOC) can tell.\n"
}

fn rows<'a>(from: impl Iterator<Item = &'a Row>, what: &str, cell: impl Fn(&Row, &Cell) -> String) -> String {
    let mut rows = vec![std::iter::once(what).chain(Rule::ALL.map(Rule::name)).map(str::to_owned).collect::<Vec<_>>()];
    for row in from {
        let name = row.name.clone().unwrap_or_else(|| "without attacks".into());
        rows.push(std::iter::once(name).chain(row.cells.iter().map(|one| cell(row, one))).collect());
    }
    table(&rows, 1..Rule::ALL.len() + 1)
}

fn time(ns: u64) -> String {
    if ns < 10_000_000 { format!("{:.1} ms", ns as f64 / 1e6) } else { format!("{} ms", ns / 1_000_000) }
}
