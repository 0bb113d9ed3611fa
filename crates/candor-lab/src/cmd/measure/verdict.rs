//! Results of a run: figures of each cell, failures, and exceeded budgets.

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_lab::cells::State;
use candor_lab::experiment::budget::{Budgets, Cost};
use candor_lab::experiment::{Block, Plan};
use candor_lab::report::{Cell, Measured};
use serde::Serialize;

use super::budgets::{self, Verdict};
use super::dry_run::in_minutes;
use super::guests::Run;
use super::progress::in_words;
use super::results::Results;
use super::status_table::{self, CellView};
use crate::cli::MeasureArgs;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    results: String,
    cells: Vec<CellView<'a>>,
    missing: usize,
    /// `null` without `--budget`.
    budgets: Option<budgets::View<'a>>,
    broken_guests: Vec<BrokenView<'a>>,
}

/// A guest or remote tester that failed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BrokenView<'a> {
    block: &'a str,
    why: &'a str,
}

pub(super) fn report(
    args: &MeasureArgs,
    plan: &Plan,
    blocks: &[&Block<'_>],
    results: &Results,
    run: &Run,
    budgets: Option<&Budgets>,
) -> Outcome {
    let wanted: Vec<_> = blocks.iter().flat_map(|block| block.cells.iter().copied()).collect();
    let names: Vec<String> = blocks.iter().map(|block| block.name.clone()).collect();
    let cells = status_table::read(&status_table::find(plan, &wanted, &names, results)?)?;
    let there: Vec<&Cell> = cells.iter().filter(|cell| cell.state.is_some()).collect();
    let verdict = budgets.map(|budgets| Verdict::of(budgets, &there.iter().map(|cell| cost(cell)).collect::<Vec<_>>()));
    let keeps_budgets = verdict.as_ref().is_none_or(Verdict::is_kept);
    let is_fine = cells.iter().all(|cell| cell.state == Some(State::Ok)) && keeps_budgets;
    let exit = match status_table::missing(&cells) {
        0 if is_fine => Exit::Fine,
        0 => Exit::No,
        _ => Exit::TryAgain,
    };
    if args.json {
        let names: Vec<&str> = there.iter().map(|cell| cell.name.as_str()).collect();
        let view = View {
            results: results.folder().display().to_string(),
            cells: status_table::views(&cells),
            missing: status_table::missing(&cells),
            budgets: verdict.as_ref().map(|verdict| verdict.view(&names)),
            broken_guests: run.broken.iter().map(|(block, failure)| BrokenView { block, why: &failure.why }).collect(),
        };
        return render::answer(&render::object(&view), exit);
    }
    let mut text = status_table::text(&cells, results);
    if let Some(verdict) = &verdict {
        let names: Vec<String> = there.iter().map(|cell| in_words(&cell.levels)).collect();
        text.push_str(&verdict.to_text(&names));
    }
    if run.cells > 0 {
        let boots = 100.0 * run.boots.as_secs_f64() / run.guests.as_secs_f64().max(f64::MIN_POSITIVE);
        // Times of the host are not part of the result.
        render::err(&format!(
            "candor-lab: {} in {}{}\n",
            plural(run.cells, "cell"),
            in_minutes(run.wall),
            if run.boots.is_zero() { String::new() } else { format!(", of which boots took {boots:.0} %") }
        ));
    }
    render::err(&run.failures());
    if !run.broken.is_empty() {
        render::err("candor-lab: run the same command again to retry the missing cells\n");
    }
    render::answer(&text, exit)
}

fn cost(cell: &Cell) -> Cost {
    let measured = cell.measured.as_ref();
    Cost {
        levels: cell.levels.clone(),
        instruction_ns: measured.and_then(|measured| measured.header.instruction_ns),
        lost: u64::try_from(measured.map_or(0, Measured::lost)).unwrap_or(u64::MAX),
        figures: measured.and_then(|measured| measured.figures),
    }
}
