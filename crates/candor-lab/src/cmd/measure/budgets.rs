//! `candor-lab measure --budget`: comparison of cells with their limits.

use std::path::Path;

use candor_cli::gateway_file::{Form, read_bytes};
use candor_cli::render::Source;
use candor_lab::experiment::budget::{self, Budgets, Comparison, Cost, Idle};
use serde::Serialize;

use super::MOST_BYTES;

/// `None` if the file is invalid, after reporting why.
pub(super) fn read(path: &Path, form: Form) -> Result<Option<Budgets>, Box<dyn std::error::Error>> {
    let (name, bytes) = read_bytes(path, MOST_BYTES)?;
    match budget::load(&bytes) {
        Ok(budgets) => Ok(Some(budgets)),
        Err(findings) => {
            super::report_findings(&Source::new(name, &bytes), &findings, form, "not a file of budgets")?;
            Ok(None)
        }
    }
}

#[derive(Debug)]
pub(super) struct Verdict {
    comparisons: Vec<Comparison>,
    idle: Vec<Idle>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    is_kept: bool,
    comparisons: Vec<ComparisonView<'a>>,
    idle: Vec<IdleView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ComparisonView<'a> {
    cell: Option<&'a str>,
    #[serde(flatten)]
    of: &'a Comparison,
}

/// A budget that matches no cell.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IdleView<'a> {
    line: usize,
    why: &'a str,
}

impl Verdict {
    pub(super) fn of(budgets: &Budgets, costs: &[Cost]) -> Self {
        let (comparisons, idle) = budgets.compare(costs);
        Self { comparisons, idle }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.idle.is_empty() && self.comparisons.iter().all(|one| one.is_kept)
    }

    /// `names` are those of the cells.
    pub(super) fn view<'a>(&'a self, names: &[&'a str]) -> View<'a> {
        let one = |of: &'a Comparison| ComparisonView { cell: names.get(of.cell).copied(), of };
        View {
            is_kept: self.is_kept(),
            comparisons: self.comparisons.iter().map(one).collect(),
            idle: self.idle.iter().map(|(line, why)| IdleView { line: *line, why }).collect(),
        }
    }

    /// `names` are those of the cells.
    pub(super) fn to_text(&self, names: &[String]) -> String {
        let head = ["cell", "what", "budget", "measured", "difference", ""];
        let row = |one: &'_ Comparison| {
            let name = names.get(one.cell).map_or("", String::as_str);
            let verdict = if one.is_kept { "" } else { "EXCEEDED" };
            [name, one.what, &one.budget, &one.measured, &one.difference, verdict].map(str::to_owned)
        };
        let rows: Vec<_> = [head.map(str::to_owned)].into_iter().chain(self.comparisons.iter().map(row)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let (cell, budget, measured) = (width(0), width(2), width(3));
        let mut text = String::from("\n");
        for [name, what, limit, value, difference, verdict] in &rows {
            let row =
                format!("{name:<cell$}  {what:<9}  {limit:>budget$}  {value:>measured$}  {difference:>10}  {verdict}");
            text += &format!("{}\n", row.trim_end());
        }
        for (line, why) in &self.idle {
            text += &format!("The budget on line {line} compares nothing: {why}\n");
        }
        let exceeded = self.comparisons.iter().filter(|one| !one.is_kept).count();
        text + &format!("\n{exceeded} of {} budgets are exceeded\n", self.comparisons.len())
    }
}
