//! The report of a folder that `candor measure` has filled.

use std::fs;
use std::path::Path;

use candor_core::experiment::Plan;
use candor_lab::cells::State;
use candor_lab::export::Origin;
use candor_lab::report::{Matrix, matrix_html};
use serde_json::json;

use super::export::Exports;
use crate::cli::ReportArgs;
use crate::cmd::Outcome;
use crate::cmd::measure::results::Results;
use crate::cmd::measure::told;
use crate::exit::Exit;
use crate::render;

pub(super) fn run(folder: &Path, args: &ReportArgs) -> Outcome {
    let (results, plan) = told::open(folder)?;
    // Whatever blocks there are: another candor may have shared the cells out in another way.
    let cells = told::read(&plan, &plan.cells().iter().collect::<Vec<_>>(), &results.blocks()?, &results)?;
    if args.json {
        let value = json!({
            "results": folder.display().to_string(),
            "cells": told::as_json(&cells),
            "missing": told::missing(&cells),
        });
        render::out(&format!("{value:#}\n"))?;
    } else {
        render::out(&told::text(&cells, &results))?;
    }
    let matrix = Matrix { name: name(folder), frames: plan.frames, warm_up: plan.warm_up, seed: plan.seed, cells };
    if let Some(path) = &args.html {
        fs::write(path, matrix_html(&matrix)).map_err(|error| format!("Cannot write {}: {error}", path.display()))?;
        if !args.json {
            render::out(&format!("\nReport: {}\n", path.display()))?;
        }
    }
    super::write_markdown(&matrix, args)?;
    export(&plan, &results, &matrix, args)?;
    Ok(Exit::Fine)
}

/// Writes the frames, reading one record after the other once more: all of them at once may be more than the memory.
fn export(
    plan: &Plan,
    results: &Results,
    matrix: &Matrix,
    args: &ReportArgs,
) -> Result<(), Box<dyn std::error::Error>> {
    let factors: Vec<String> =
        matrix.cells.first().into_iter().flat_map(|cell| &cell.levels).map(|(factor, _)| factor.clone()).collect();
    let mut exports = Exports::begin(args, &factors)?;
    if exports.is_empty() {
        return Ok(());
    }
    let paths = told::records(plan, results)?;
    for cell in &matrix.cells {
        let state = if cell.state == Some(State::Ok) { "ok" } else { "invalid" };
        if let Some(path) = paths.get(&cell.name) {
            exports.add(Origin { cell: &cell.name, state, levels: &cell.levels }, &super::read_one(path)?)?;
        }
    }
    exports.finish(!args.json)
}

/// How people call the folder, wherever it is.
fn name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_unreadable| folder.to_owned());
    whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}
