//! `candor-lab report`: figures, threats and page of records that were made before, or of a whole plan.

mod export;
mod plan;
mod records;
mod table;

use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use candor_lab::record::{RECORD_EXTENSION, Record};
use candor_lab::report::{self, Figures, Matrix, Summary, Threat, matrix_markdown};
use candor_lab::stats::Interval;
use serde_json::json;

use crate::cli::ReportArgs;
use crate::cmd::measure::results::Results;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

pub(crate) fn run(args: &ReportArgs) -> Outcome {
    match (&args.records[..], args.records.iter().find(|path| Results::are_in(path))) {
        ([folder], Some(_)) => return plan::run(folder, args),
        (_, Some(folder)) => {
            return Err(format!(
                "{} holds results of candor-lab measure, which are reported alone: name nothing else",
                folder.display()
            )
            .into());
        }
        (_, None) => {}
    }
    let mut files = Vec::new();
    for path in &args.records {
        files.extend(files_of(path)?);
    }
    let records = files.iter().map(|file| read_one(file)).collect::<Result<Vec<_>, _>>()?;
    print(&records, args.html.as_deref(), args.json)?;
    records::write(&files, &records, args)?;
    Ok(Exit::Fine)
}

/// Writes the table of cells, if it is asked for.
fn write_markdown(matrix: &Matrix, args: &ReportArgs) -> Result<(), Box<dyn std::error::Error>> {
    let Some(path) = &args.markdown else { return Ok(()) };
    fs::write(path, matrix_markdown(matrix)).map_err(|error| format!("Cannot write {}: {error}", path.display()))?;
    if !args.json {
        render::out(&format!("Markdown: {}\n", path.display()))?;
    }
    Ok(())
}

/// Prints the figures of records and writes the page.
pub(super) fn print(records: &[Record], html: Option<&Path>, json: bool) -> io::Result<()> {
    if json {
        render::out(&format!("{:#}\n", as_json(records)))?;
    } else {
        render::out(&table::text(records))?;
    }
    if let Some(path) = html {
        fs::write(path, report::html(records))
            .map_err(|error| io::Error::new(error.kind(), format!("Cannot write {}: {error}", path.display())))?;
        if !json {
            render::out(&format!("\nReport: {}\n", path.display()))?;
        }
    }
    Ok(())
}

/// The record in a file, or those in a folder in the order of their names.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, Box<dyn std::error::Error>> {
    files_of(path)?.iter().map(|file| read_one(file)).collect()
}

/// A file, or the record files of a folder in the order of their names.
pub(super) fn files_of(path: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        files.retain(|file| file.to_string_lossy().ends_with(&format!(".{RECORD_EXTENSION}")));
        files.sort();
        if files.is_empty() {
            return Err(format!("{} holds no *.{RECORD_EXTENSION}", path.display()).into());
        }
    }
    Ok(files)
}

/// The record in a file.
pub(super) fn read_one(file: &Path) -> Result<Record, Box<dyn std::error::Error>> {
    let text = fs::read_to_string(file).map_err(|error| format!("Cannot read {}: {error}", file.display()))?;
    Ok(Record::parse(&text).map_err(|error| format!("{}: {error}", file.display()))?)
}

fn as_json(records: &[Record]) -> serde_json::Value {
    let summaries = Summary::of_all(records);
    let one = |record: &Record, summary: &Summary| {
        json!({
            "conditions": record.header,
            "frames": summary.frames,
            "lost": summary.sent.lost(),
            "latency": summary.figures.as_ref().map(latency),
            "p50_ratio_to_kernel": summary.kernel_ratio,
            "p50_ratio_to_baseline": summary.baseline_ratio,
            "threats": Threat::all_of(record).iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    records.iter().zip(&summaries).map(|(record, summary)| one(record, summary)).collect()
}

/// The figures, and between which latencies those lie that are quantiles; no bound is `null`.
fn latency(figures: &Figures) -> serde_json::Value {
    let columns = figures.columns().into_iter().zip(figures.intervals());
    let keys = columns.flat_map(|((name, latency), interval)| {
        let bounds = interval.into_iter().flat_map(move |Interval { lower, upper }| {
            [(format!("{name}_at_least_ns"), lower), (format!("{name}_at_most_ns"), upper)]
        });
        iter::once((format!("{name}_ns"), Some(latency))).chain(bounds)
    });
    keys.map(|(key, latency)| (key, json!(latency.map(|latency| latency.0)))).collect()
}
