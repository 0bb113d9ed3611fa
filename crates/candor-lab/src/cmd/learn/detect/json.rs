//! The output of `candor learn detect --json`.

use candor_learn::detect::Rule;
use serde::Serialize;

use super::{Cell, Row, Table};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct View<'a> {
    about: &'a str,
    rows: Vec<RowView<'a>>,
    left_out: &'a [String],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RowView<'a> {
    /// `null`: without attacks.
    attack: Option<&'a str>,
    runs: usize,
    attack_frames: usize,
    duration_s: f64,
    rules: Vec<CellView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CellView {
    rule: &'static str,
    detected: usize,
    median_delay_ns: Option<u64>,
    caught_frames: usize,
    false_alarms: usize,
}

pub(super) fn view(from: &Table) -> View<'_> {
    View { about: &from.about, rows: from.rows.iter().map(row).collect(), left_out: &from.left_out }
}

fn row(from: &Row) -> RowView<'_> {
    let cell = |(rule, cell): (Rule, &Cell)| CellView {
        rule: rule.name(),
        detected: cell.detected,
        median_delay_ns: cell.delay_ns(),
        caught_frames: cell.caught,
        false_alarms: cell.false_alarms,
    };
    RowView {
        attack: from.name.as_deref(),
        runs: from.runs,
        attack_frames: from.frames,
        duration_s: from.seconds,
        rules: Rule::ALL.into_iter().zip(&from.cells).map(cell).collect(),
    }
}
