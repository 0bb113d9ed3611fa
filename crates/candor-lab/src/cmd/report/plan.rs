//! The report of a folder that `candor-lab measure` has filled.

use std::fs;
use std::path::Path;

use candor_lab::cells::State;
use candor_lab::export::Origin;
use candor_lab::report::{Matrix, matrix_html};
use serde_json::json;

use super::export::Exports;
use crate::cli::ReportArgs;
use crate::cmd::measure::status_table::{self, Found};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

pub(super) fn run(folder: &Path, args: &ReportArgs) -> Outcome {
    let (results, plan) = status_table::open(folder)?;
    let found = status_table::find_all(&plan, &results)?;
    let cells = status_table::read(&found)?;
    if args.json {
        let value = json!({
            "results": folder.display().to_string(),
            "cells": status_table::as_json(&cells),
            "missing": status_table::missing(&cells),
        });
        render::out(&format!("{value:#}\n"))?;
    } else {
        render::out(&status_table::text(&cells, &results))?;
    }
    let matrix = Matrix { name: name(folder), frames: plan.frames, warm_up: plan.warm_up, seed: plan.seed, cells };
    if let Some(path) = &args.html {
        fs::write(path, matrix_html(&matrix)).map_err(|error| format!("Cannot write {}: {error}", path.display()))?;
        if !args.json {
            render::out(&format!("\nReport: {}\n", path.display()))?;
        }
    }
    super::write_markdown(&matrix, args)?;
    export(&found, args)?;
    Ok(Exit::Fine)
}

/// Writes the frames, reading one record after the other once more: all of them at once may be more than the memory.
fn export(found: &[Found], args: &ReportArgs) -> Result<(), Box<dyn std::error::Error>> {
    let factors: Vec<String> =
        found.first().into_iter().flat_map(|cell| &cell.levels).map(|(factor, _)| factor.clone()).collect();
    let mut exports = Exports::begin(args, &factors)?;
    if exports.is_empty() {
        return Ok(());
    }
    for Found { name, levels, state, record } in found {
        let state = if *state == Some(State::Ok) { "ok" } else { "invalid" };
        if let Some(path) = record {
            exports.add(Origin { cell: name, state, levels }, &super::read_one(path)?)?;
        }
    }
    exports.finish(!args.json)
}

/// How people call the folder, wherever it is.
fn name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_unreadable| folder.to_owned());
    whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}
