//! The report of a folder that `candor measure` has filled.

use std::fs;
use std::path::Path;

use candor_core::experiment::{self, Available};
use candor_lab::report::{Matrix, matrix_html};
use serde_json::json;

use crate::cli::ReportArgs;
use crate::cmd::Outcome;
use crate::cmd::measure::results::Results;
use crate::cmd::measure::told;
use crate::exit::Exit;
use crate::render;

pub(super) fn run(folder: &Path, args: &ReportArgs) -> Outcome {
    let (results, bytes) = Results::existing(folder)?;
    let plan = experiment::load(&bytes, Available::default())
        .map_err(|_findings| format!("{}: plan.toml is no plan of this candor", folder.display()))?
        .plan;
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
    if let Some(path) = &args.html {
        let matrix = Matrix { name: name(folder), frames: plan.frames, warm_up: plan.warm_up, seed: plan.seed, cells };
        fs::write(path, matrix_html(&matrix)).map_err(|error| format!("Cannot write {}: {error}", path.display()))?;
        if !args.json {
            render::out(&format!("\nReport: {}\n", path.display()))?;
        }
    }
    Ok(Exit::Fine)
}

/// How people call the folder, wherever it is.
fn name(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_unreadable| folder.to_owned());
    whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}
