//! What came of a plan: figures of each cell, and what did not work.

use std::fmt::Write as _;
use std::fs;

use candor_core::experiment::budget::{Budgets, Cost, Figure};
use candor_core::experiment::{Block, Plan};
use candor_core::stats::{LatencyNs, Quantile, Series};
use candor_lab::cells::State;
use candor_lab::record::{Fate, Record};
use serde_json::{Value, json};

use super::budgets::Verdict;
use super::dry_run::in_minutes;
use super::guests::Run;
use super::progress::in_words;
use super::results::{MeasuredCell, Results};
use crate::cli::MeasureArgs;
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::render;

/// A cell with its figures, as far as it has any.
struct Told {
    cell: MeasuredCell,
    frames: usize,
    lost: usize,
    /// In the order of [`Figure`].
    figures: Option<[LatencyNs; 4]>,
    instruction_ns: Option<u32>,
}

impl Told {
    fn figure(&self, figure: Figure) -> Option<LatencyNs> {
        self.figures.map(|figures| figures[figure as usize])
    }

    fn cost(&self) -> Cost {
        Cost {
            levels: self.cell.levels.clone(),
            instruction_ns: self.instruction_ns,
            lost: u64::try_from(self.lost).unwrap_or(u64::MAX),
            figures: self.figures,
        }
    }
}

pub(super) fn tell(
    args: &MeasureArgs,
    plan: &Plan,
    blocks: &[&Block<'_>],
    results: &Results,
    run: &Run,
    budgets: Option<&Budgets>,
) -> Outcome {
    let mut told = Vec::new();
    for block in blocks {
        let Some(measured) = results.measured(&block.name)? else { continue };
        for cell in measured.cells {
            told.push(of(results, &block.name, cell)?);
        }
    }
    // In the order of the plan, which people know.
    let order: Vec<String> = plan.cells().iter().map(|cell| cell.name(plan)).collect();
    told.sort_by_key(|told| order.iter().position(|name| *name == told.cell.name));
    let missing = blocks.iter().map(|block| block.cells.len()).sum::<usize>() - told.len();
    let is_ok = |told: &&Told| told.cell.state == State::Ok;
    let verdict = budgets.map(|budgets| Verdict::of(budgets, &told.iter().map(Told::cost).collect::<Vec<_>>()));
    let keeps_budgets = verdict.as_ref().is_none_or(Verdict::is_kept);
    let is_fine = missing == 0 && told.iter().all(|told| is_ok(&told)) && keeps_budgets;
    let exit = if is_fine { Exit::Fine } else { Exit::No };
    if args.json {
        let names: Vec<&str> = told.iter().map(|told| told.cell.name.as_str()).collect();
        let value = json!({
            "budgets": verdict.as_ref().map(|verdict| verdict.to_json(&names)),
            "results": results.folder().display().to_string(),
            "cells": told.iter().map(as_json).collect::<Vec<_>>(),
            "missing": missing,
            "broken_guests": run.broken.iter().map(|(block, why)| json!({ "block": block, "why": why })).collect::<Vec<_>>(),
        });
        return render::answer(&format!("{value:#}\n"), exit);
    }
    let mut text = table(&told);
    let count = |wanted: fn(&State) -> bool| told.iter().filter(|told| wanted(&told.cell.state)).count();
    let (invalid, failed) =
        (count(|state| matches!(state, State::Invalid(_))), count(|state| matches!(state, State::Failed(_))));
    let ok = count(|state| *state == State::Ok);
    writeln!(
        text,
        "\n{ok} ok, {invalid} invalid, {failed} failed, {missing} missing; {:.1} MB in {}",
        megabytes(results.bytes()),
        results.folder().display()
    )?;
    if let Some(verdict) = &verdict {
        let names: Vec<String> = told.iter().map(|told| in_words(&told.cell.levels)).collect();
        text.push_str(&verdict.to_text(&names));
    }
    if run.cells > 0 {
        let boots = 100.0 * run.boots.as_secs_f64() / run.guests.as_secs_f64().max(f64::MIN_POSITIVE);
        // Times of the host are news, not a result.
        render::err(&format!(
            "candor: {} cells in {}, of which boots took {boots:.0} %\n",
            run.cells,
            in_minutes(run.wall)
        ));
    }
    for (block, why) in &run.broken {
        render::err(&format!("candor: the guest of block {block} did not do its job: {why}\n"));
    }
    if !run.broken.is_empty() {
        render::err("candor: the same command tries what is missing again\n");
    }
    render::answer(&text, exit)
}

fn of(results: &Results, block: &str, cell: MeasuredCell) -> Result<Told, Box<dyn std::error::Error>> {
    let mut told = Told { cell, frames: 0, lost: 0, figures: None, instruction_ns: None };
    if matches!(told.cell.state, State::Failed(_)) {
        return Ok(told);
    }
    let path = results.record(block, &told.cell.name);
    let text = fs::read_to_string(&path).map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
    let record = Record::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    told.instruction_ns = record.header.instruction_ns;
    told.frames = record.samples.len();
    told.lost = record
        .samples
        .iter()
        .filter(|sample| matches!(sample.fate, Fate::Refused | Fate::Unseen | Fate::Lost | Fate::Late))
        .count();
    if let Some(series) = Series::new(record.samples.iter().filter_map(|sample| sample.latency()).collect()) {
        let of = |figure| match figure {
            Figure::P50 => series.quantile(Quantile::P50),
            Figure::P90 => series.quantile(Quantile::P90),
            Figure::P99 => series.quantile(Quantile::P99),
            Figure::Max => series.max(),
        };
        told.figures = Some(Figure::ALL.map(of));
    }
    Ok(told)
}

fn table(told: &[Told]) -> String {
    let names: Vec<String> = told.iter().map(|told| in_words(&told.cell.levels)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default().max("cell".len());
    let mut text = format!(
        "{:<width$}{:>9}{:>8}{:>13}{:>13}{:>13}  state\n",
        "cell", "frames", "lost", "p50/us", "p99/us", "max/us"
    );
    let us = |latency: Option<LatencyNs>| {
        latency.map_or_else(|| "-".to_owned(), |latency| format!("{:.3}", latency.microseconds()))
    };
    for (told, name) in told.iter().zip(&names) {
        let state = match &told.cell.state {
            State::Invalid(why) => format!("invalid: {why}"),
            State::Failed(why) => format!("failed: {why}"),
            _ => "ok".to_owned(),
        };
        writeln!(
            text,
            "{name:<width$}{:>9}{:>8}{:>13}{:>13}{:>13}  {state}",
            told.frames,
            told.lost,
            us(told.figure(Figure::P50)),
            us(told.figure(Figure::P99)),
            us(told.figure(Figure::Max))
        )
        .expect("a String takes everything");
    }
    text
}

fn as_json(told: &Told) -> Value {
    let levels: serde_json::Map<_, _> =
        told.cell.levels.iter().map(|(factor, level)| (factor.clone(), level.clone().into())).collect();
    let ns = |latency: Option<LatencyNs>| latency.map(|latency| latency.0);
    json!({
        "name": told.cell.name,
        "levels": levels,
        "state": told.cell.state,
        "frames": told.frames,
        "lost": told.lost,
        "p50_ns": ns(told.figure(Figure::P50)),
        "p90_ns": ns(told.figure(Figure::P90)),
        "p99_ns": ns(told.figure(Figure::P99)),
        "max_ns": ns(told.figure(Figure::Max)),
    })
}

fn megabytes(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "sizes of folders stay far below 2^53 bytes")]
    let bytes = bytes as f64;
    bytes / 1e6
}
