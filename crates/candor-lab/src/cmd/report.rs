//! `candor-lab report`: figures, threats and pages of records, or of a whole plan.

mod export;
mod table;

use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use candor_cli::{Exit, Outcome, render};
use candor_lab::cells::State;
use candor_lab::export::Origin;
use candor_lab::record::{RECORD_EXTENSION, Record};
use candor_lab::report::{self, Cell, Matrix, Measured, Summary, matrix_html, matrix_markdown, threats};
use candor_lab::stats::{Figures, Interval};
use serde_json::{Value, json};

use self::export::Exports;
use super::measure::results::Results;
use super::measure::status_table::{self, Found};
use crate::cli::ReportArgs;

type Failed = Box<dyn std::error::Error>;

pub(crate) fn run(args: &ReportArgs) -> Outcome {
    match (&args.records[..], args.records.iter().find(|path| Results::are_in(path))) {
        ([folder], Some(_)) => of_plan(folder, args)?,
        (_, Some(folder)) => {
            return Err(format!(
                "{} contains results of candor-lab measure, which are reported alone: name nothing else",
                folder.display()
            )
            .into());
        }
        (_, None) => of_records(args)?,
    }
    Ok(Exit::Fine)
}

fn of_plan(folder: &Path, args: &ReportArgs) -> Result<(), Failed> {
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
    // The name of a folder such as `.`, too.
    let whole = folder.canonicalize().unwrap_or_else(|_unreadable| folder.to_owned());
    let name = whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    let matrix = Matrix { name, frames: plan.frames, warm_up: plan.warm_up, seed: plan.seed, cells };
    write("\nReport", args.html.as_deref(), args.json, || matrix_html(&matrix))?;
    write("Markdown", args.markdown.as_deref(), args.json, || matrix_markdown(&matrix))?;
    let levels = found.first().into_iter().flat_map(|cell| &cell.levels);
    let mut exports = Exports::begin(args, &levels.map(|(factor, _)| factor.clone()).collect::<Vec<_>>())?;
    if exports.is_empty() {
        return Ok(());
    }
    for Found { name, levels, state, record } in &found {
        let state = if *state == Some(State::Ok) { "ok" } else { "invalid" };
        // One at a time: all records together may exceed the memory.
        if let Some(path) = record {
            exports.add(Origin { cell: name, state, levels }, &Record::read(path)?)?;
        }
    }
    exports.finish(!args.json)
}

fn of_records(args: &ReportArgs) -> Result<(), Failed> {
    let mut files = Vec::new();
    for path in &args.records {
        files.extend(files_of(path)?);
    }
    let records = files.iter().map(|file| Record::read(file)).collect::<Result<Vec<_>, _>>()?;
    print(&records, args.html.as_deref(), args.json)?;
    let cells: Vec<Cell> = files.iter().zip(&records).map(|(file, record)| cell(file, record)).collect();
    let mut factors: Vec<String> = Vec::new();
    for (factor, _) in cells.iter().flat_map(|cell| &cell.levels) {
        if !factors.contains(factor) {
            factors.push(factor.clone());
        }
    }
    let mut exports = Exports::begin(args, &factors)?;
    for (cell, record) in cells.iter().zip(&records) {
        exports.add(Origin { cell: &cell.name, state: "ok", levels: &cell.levels }, record)?;
    }
    exports.finish(!args.json)?;
    let Some(Record { header, .. }) = records.first() else { return Ok(()) };
    let frames = records.iter().map(|record| record.samples.len()).max().unwrap_or_default();
    let frames = u32::try_from(frames).unwrap_or(u32::MAX);
    let (name, warm_up, seed) = ("Records".to_owned(), header.warm_up_frames, header.seed);
    let matrix = Matrix { name, frames, warm_up, seed, cells };
    Ok(write("Markdown", args.markdown.as_deref(), args.json, || matrix_markdown(&matrix))?)
}

/// The cell of a record that belongs to no plan.
fn cell(file: &Path, record: &Record) -> Cell {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    Cell {
        name: name.strip_suffix(&format!(".{RECORD_EXTENSION}")).unwrap_or(&name).to_owned(),
        levels: record.header.all_levels(),
        state: Some(State::Ok),
        measured: Some(Measured::of(record)),
    }
}

/// Writes a file if it was requested, and prints its path.
fn write(what: &str, path: Option<&Path>, is_quiet: bool, text: impl FnOnce() -> String) -> io::Result<()> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, text())
        .map_err(|error| io::Error::new(error.kind(), format!("Cannot write {}: {error}", path.display())))?;
    if is_quiet { Ok(()) } else { render::out(&format!("{what}: {}\n", path.display())) }
}

/// Prints the figures of records and writes the page.
pub(super) fn print(records: &[Record], html: Option<&Path>, json: bool) -> io::Result<()> {
    if json {
        render::out(&format!("{:#}\n", as_json(records)))?;
    } else {
        render::out(&table::text(records))?;
    }
    write("\nReport", html, json, || report::html(records))
}

/// The record in a file, or the records of a folder, sorted by name.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, Failed> {
    files_of(path)?.iter().map(|file| Ok(Record::read(file)?)).collect()
}

/// A file, or the record files of a folder, sorted by name.
pub(super) fn files_of(path: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        files.retain(|file| file.to_string_lossy().ends_with(&format!(".{RECORD_EXTENSION}")));
        files.sort();
        if files.is_empty() {
            return Err(format!("{} contains no *.{RECORD_EXTENSION}", path.display()).into());
        }
    }
    Ok(files)
}

fn as_json(records: &[Record]) -> Value {
    let summaries = Summary::of_all(records);
    let one = |(record, summary): (&Record, &Summary)| {
        json!({
            "conditions": record.header,
            "frames": summary.frames,
            "lost": summary.lost,
            "latency": summary.figures.as_ref().map(latency),
            "p50_ratio_to_kernel": summary.kernel_ratio,
            "p50_ratio_to_baseline": summary.baseline_ratio,
            "threats": threats(record),
        })
    };
    records.iter().zip(&summaries).map(one).collect()
}

/// Figures with the bounds of their intervals; a missing bound is `null`.
fn latency(figures: &Figures) -> Value {
    let columns = figures.columns().into_iter().zip(figures.intervals());
    let keys = columns.flat_map(|((name, latency), interval)| {
        let bounds = interval.into_iter().flat_map(move |Interval { lower, upper }| {
            [(format!("{name}_at_least_ns"), lower), (format!("{name}_at_most_ns"), upper)]
        });
        iter::once((format!("{name}_ns"), Some(latency))).chain(bounds)
    });
    keys.map(|(key, latency)| (key, json!(latency.map(|latency| latency.0)))).collect()
}
