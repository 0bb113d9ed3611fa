//! Files of records that belong to no plan.

use std::path::{Path, PathBuf};

use candor_lab::cells::State;
use candor_lab::export::Origin;
use candor_lab::record::{RECORD_EXTENSION, Record};
use candor_lab::report::{Cell, Matrix, Measured};

use super::export::Exports;
use crate::cli::ReportArgs;

/// How the table of them is headed.
const NAME: &str = "Records";

/// Writes the files that were asked for beside the page. The records are those of the files, in the same order.
pub(super) fn write(
    files: &[PathBuf],
    records: &[Record],
    args: &ReportArgs,
) -> Result<(), Box<dyn std::error::Error>> {
    let cells: Vec<Cell> = files.iter().zip(records).map(|(file, record)| cell(file, record)).collect();
    let mut factors: Vec<String> = Vec::new();
    for (factor, _) in cells.iter().flat_map(|cell| &cell.levels) {
        if !factors.contains(factor) {
            factors.push(factor.clone());
        }
    }
    let mut exports = Exports::begin(args, &factors)?;
    for (cell, record) in cells.iter().zip(records) {
        exports.add(Origin { cell: &cell.name, state: "ok", levels: &cell.levels }, record)?;
    }
    exports.finish(!args.json)?;
    let Some(Record { header, .. }) = records.first() else { return Ok(()) };
    let frames = records.iter().map(|record| record.samples.len()).max().unwrap_or_default();
    let frames = u32::try_from(frames).unwrap_or(u32::MAX);
    let matrix = Matrix { name: NAME.to_owned(), frames, warm_up: header.warm_up_frames, seed: header.seed, cells };
    super::write_markdown(&matrix, args)
}

fn cell(file: &Path, record: &Record) -> Cell {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    Cell {
        name: name.strip_suffix(&format!(".{RECORD_EXTENSION}")).unwrap_or(&name).to_owned(),
        levels: record.header.told_levels(),
        state: Some(State::Ok),
        measured: Some(Measured::of(record)),
    }
}
