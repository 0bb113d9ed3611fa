//! `candor-lab measure --budget`: whether cells cost what they may.

use std::fmt::Write as _;
use std::path::Path;

use candor_lab::experiment::budget::{self, Budgets, Comparison, Cost, Idle};
use serde_json::{Value, json};

use super::MOST_BYTES;
use candor_cli::gateway_file::{Form, read_bytes};
use candor_cli::render::Source;

/// The budgets of a file; `None` after saying what is wrong with it.
pub(super) fn read(path: &Path, form: Form) -> Result<Option<Budgets>, Box<dyn std::error::Error>> {
    let (name, bytes) = read_bytes(path, MOST_BYTES)?;
    match budget::load(&bytes) {
        Ok(budgets) => Ok(Some(budgets)),
        Err(findings) => {
            super::tell_findings(&Source::new(name, &bytes), &findings, form, "not a file of budgets")?;
            Ok(None)
        }
    }
}

/// What came of all budgets.
#[derive(Debug)]
pub(super) struct Verdict {
    comparisons: Vec<Comparison>,
    idle: Vec<Idle>,
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
    pub(super) fn to_json(&self, names: &[&str]) -> Value {
        let one = |one: &Comparison| {
            json!({
                "cell": names.get(one.cell),
                "what": one.what,
                "budget": one.budget,
                "measured": one.measured,
                "difference": one.difference,
                "is_kept": one.is_kept,
            })
        };
        let idle = |(line, why): &Idle| json!({ "line": line, "why": why });
        json!({
            "is_kept": self.is_kept(),
            "comparisons": self.comparisons.iter().map(one).collect::<Vec<_>>(),
            "idle": self.idle.iter().map(idle).collect::<Vec<_>>(),
        })
    }

    /// A table, and what was compared with nothing. `names` are those of the cells.
    pub(super) fn to_text(&self, names: &[String]) -> String {
        let name = |one: &Comparison| names.get(one.cell).map_or("", String::as_str);
        let widest = |of: &dyn Fn(&Comparison) -> usize, head: &str| {
            self.comparisons.iter().map(of).max().unwrap_or_default().max(head.len())
        };
        let cell = widest(&|one| name(one).chars().count(), "cell");
        let budget = widest(&|one| one.budget.len(), "budget");
        let measured = widest(&|one| one.measured.len(), "measured");
        let mut text = format!(
            "\n{:<cell$}  {:<9}  {:>budget$}  {:>measured$}  difference\n",
            "cell", "what", "budget", "measured"
        );
        for one in &self.comparisons {
            let verdict = if one.is_kept { "" } else { "  EXCEEDED" };
            let row = format!(
                "{:<cell$}  {:<9}  {:>budget$}  {:>measured$}  {:>10}{verdict}",
                name(one),
                one.what,
                one.budget,
                one.measured,
                one.difference
            );
            writeln!(text, "{}", row.trim_end()).expect("a String takes everything");
        }
        for (line, why) in &self.idle {
            writeln!(text, "The budget on line {line} compares nothing: {why}").expect("a String takes everything");
        }
        let exceeded = self.comparisons.iter().filter(|one| !one.is_kept).count();
        writeln!(text, "\n{} of {} budgets are exceeded", exceeded, self.comparisons.len())
            .expect("a String takes everything");
        text
    }
}
