//! `candor-lab report`: figures, threats and pages of records, or of a whole plan.

mod lava;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use candor_cli::{Exit, Outcome, render};
use candor_lab::cells::State;
use candor_lab::device::BARE_METAL;
use candor_lab::export::{Export, Form, Origin};
use candor_lab::record::{Header, RECORD_EXTENSION, Record};
use candor_lab::report::{
    self, Cell, Matrix, Measured, Picture, Show, Summary, Table, TimeUnit, matrix_html, matrix_markdown,
};
use candor_lab::report::{conditions_of, threats, units};
use candor_lab::stats::{CONFIDENCE, Figures, Interval, LatencyNs};
use comfy_table::{CellAlignment, ContentArrangement, presets};
use serde::Serialize;

use super::measure::results::Results;
use super::measure::status_table::{self, CellView, Found};
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
    if args.svg.is_some() && args.table.is_empty() {
        let folder = folder.display();
        return Err(format!(
            "--svg draws records, or a --table of a plan: name the records of a block in {folder}, or use --html"
        )
        .into());
    }
    let (results, plan) = status_table::open(folder)?;
    let found = status_table::find_all(&plan, &results)?;
    let cells = status_table::read(&found)?;
    if args.json {
        let (cells, missing) = (status_table::views(&cells), status_table::missing(&cells));
        render::out(&render::object(&PlanView { results: folder.display().to_string(), cells, missing }))?;
    } else if args.table.is_empty() {
        render::out(&status_table::text(&cells, &results))?;
    }
    // The name of a directory such as `.`, too.
    let whole = folder.canonicalize().unwrap_or_else(|_unreadable| folder.to_owned());
    let name = whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    let matrix = Matrix { name, frames: plan.frames, warm_up: plan.warm_up, seed: plan.seed, cells };
    if let [rows, columns] = &args.table[..] {
        let table = Table::of(&matrix, rows, columns, &args.figures)?;
        render::out(&table.to_markdown())?;
        let svg = args.svg.as_ref().map(|_| table.to_svg()).transpose()?;
        write("\nCurves", args.svg.as_deref(), args.json, || svg.unwrap_or_default())?;
    }
    write("\nReport", args.html.as_deref(), args.json, || matrix_html(&matrix))?;
    write("Markdown", args.markdown.as_deref(), args.json, || matrix_markdown(&matrix))?;
    write("LAVA", args.lava.as_deref(), args.json, || lava::script(&matrix.cells))?;
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
    if !args.table.is_empty() {
        return Err("--table shows factors of a plan: name a directory with results of candor-lab measure".into());
    }
    let mut files = Vec::new();
    for path in &args.records {
        files.extend(files_of(path)?);
    }
    let records = files.iter().map(|file| Record::read(file)).collect::<Result<Vec<_>, _>>()?;
    print(&records, args.html.as_deref(), args.json)?;
    write("Latency profile", args.svg.as_deref(), args.json, || profile(&records))?;
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
    write("LAVA", args.lava.as_deref(), args.json, || lava::script(&matrix.cells))?;
    Ok(write("Markdown", args.markdown.as_deref(), args.json, || matrix_markdown(&matrix))?)
}

fn profile(records: &[Record]) -> String {
    let releases: BTreeSet<&str> = records.iter().map(|record| record.header.kernel_release.as_str()).collect();
    let title = format!("Latency profile, Linux {}", releases.into_iter().collect::<Vec<_>>().join(", "));
    let (of, summaries) = ("latency of the gateway", Summary::of_all(records));
    Picture { title: &title, of, unit: TimeUnit::Microseconds, summaries: &summaries, rules: &[] }.to_svg()
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
        render::out(&render::object(&views(records)))?;
    } else {
        render::out(&text(records))?;
    }
    write("\nReport", html, json, || report::html(records))
}

/// The record in a file, or the records of a directory, sorted by name.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, Failed> {
    files_of(path)?.iter().map(|file| Ok(Record::read(file)?)).collect()
}

/// A file, or the record files of a directory, sorted by name.
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

/// Results of a plan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PlanView<'a> {
    results: String,
    cells: Vec<CellView<'a>>,
    missing: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RecordView<'a> {
    conditions: &'a Header,
    frames: usize,
    lost: usize,
    /// `null` if all frames were lost.
    latency: Option<LatencyView>,
    p50_ratio_to_kernel: Option<f64>,
    p50_ratio_to_baseline: Option<f64>,
    threats: Vec<String>,
}

/// Figures with the bounds of their intervals; a missing bound is `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LatencyView {
    min_ns: i64,
    p50_ns: i64,
    p50_at_least_ns: Option<i64>,
    p50_at_most_ns: Option<i64>,
    p90_ns: i64,
    p90_at_least_ns: Option<i64>,
    p90_at_most_ns: Option<i64>,
    p99_ns: i64,
    p99_at_least_ns: Option<i64>,
    p99_at_most_ns: Option<i64>,
    max_ns: i64,
}

impl LatencyView {
    fn of(figures: &Figures) -> Self {
        let [_, p50, p90, p99, _] = figures.intervals().map(|interval| {
            let ends = interval.map_or([None; 2], |Interval { lower, upper }| [lower, upper]);
            ends.map(|end| end.map(|end| end.0))
        });
        Self {
            min_ns: figures.min.0,
            p50_ns: figures.p50.0,
            p50_at_least_ns: p50[0],
            p50_at_most_ns: p50[1],
            p90_ns: figures.p90.0,
            p90_at_least_ns: p90[0],
            p90_at_most_ns: p90[1],
            p99_ns: figures.p99.0,
            p99_at_least_ns: p99[0],
            p99_at_most_ns: p99[1],
            max_ns: figures.max.0,
        }
    }
}

fn views<'a>(records: &'a [Record]) -> Vec<RecordView<'a>> {
    let summaries = Summary::of_all(records);
    let one = |(record, summary): (&'a Record, &Summary)| RecordView {
        conditions: &record.header,
        frames: summary.frames,
        lost: summary.lost,
        latency: summary.figures.as_ref().map(LatencyView::of),
        p50_ratio_to_kernel: summary.kernel_ratio,
        p50_ratio_to_baseline: summary.baseline_ratio,
        threats: threats(record),
    };
    records.iter().zip(&summaries).map(one).collect()
}

struct Exports(Vec<(PathBuf, Box<dyn Export>)>);

fn failed(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("Cannot write {}: {error}", path.display())
}

impl Exports {
    /// With a column for each of these factors.
    fn begin(args: &ReportArgs, factors: &[String]) -> Result<Self, String> {
        let asked = [(Form::Csv, &args.csv), (Form::JsonLines, &args.jsonl), (Form::Parquet, &args.parquet)];
        let open = |(form, path): (Form, &PathBuf)| {
            let begun = File::create(path).and_then(|file| form.begin(file, factors));
            begun.map(|file| (path.clone(), file)).map_err(failed(path))
        };
        let asked = asked.into_iter().filter_map(|(form, path)| Some((form, path.as_ref()?)));
        asked.map(open).collect::<Result<_, _>>().map(Self)
    }

    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, origin: Origin<'_>, record: &Record) -> Result<(), String> {
        for (path, file) in &mut self.0 {
            file.add(origin, record).map_err(failed(path))?;
        }
        Ok(())
    }

    fn finish(self, is_shown: bool) -> Result<(), Box<dyn std::error::Error>> {
        for (path, file) in self.0 {
            file.finish().map_err(failed(&path))?;
            if is_shown {
                render::out(&format!("Frames: {}\n", path.display()))?;
            }
        }
        Ok(())
    }
}

fn text(records: &[Record]) -> String {
    let summaries = Summary::of_all(records);
    let mut text = format!("{}\n", table(records, &summaries));
    for summary in &summaries {
        let of_kernel = match summary.engine.as_str() {
            BARE_METAL => "the kernel gateway's, with the tester's part in both (docs/bare-metal.md)",
            _ => "the kernel gateway's (a paper of 2011 found about three times, see candor-lab papers)",
        };
        let ratios = [
            (summary.kernel_ratio, of_kernel),
            (summary.baseline_ratio, "that of the same calls without rules (candor-lab baseline)"),
        ];
        for (ratio, base) in ratios.into_iter().filter_map(|(ratio, base)| Some((ratio?, base))) {
            text += &format!("{}: p50 is {ratio:.2} times {base}\n", summary.device);
        }
    }
    let kinds = conditions_of(records).len();
    if kinds > 1 {
        text += &format!(
            "These are {kinds} sets of conditions; only figures of the same set can be compared (--html lists them)\n"
        );
    }
    for record in records {
        threats(record).iter().for_each(|threat| text += &format!("{}: {threat}\n", record.header.device));
    }
    text
}

fn table(records: &[Record], summaries: &[Summary]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["gateway", "unit", "frames", "lost", "min", "p50", "p90", "p99", "max"]);
    for (record, summary) in records.iter().zip(summaries) {
        for (row, (unit, show)) in units(&record.header, str::to_owned).into_iter().enumerate() {
            let first = |text: String| if row == 0 { text } else { String::new() };
            let mut cells = vec![first(summary.device.clone()), unit.to_owned()];
            cells.extend([first(summary.frames.to_string()), first(summary.lost.to_string())]);
            match summary.figures {
                Some(figures) => cells.extend(figures.columns().map(|(_, latency)| show(latency))),
                None => cells.extend(["–"; 5].map(str::to_owned)),
            }
            table.add_row(cells);
            if let Some(figures) = summary.figures.as_ref().filter(|_| row == 0) {
                table.add_rows(bounds(figures, &show));
            }
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The ends of the intervals as two rows, because one row would be too wide for a terminal.
fn bounds(figures: &Figures, show: &Show) -> [Vec<String>; 2] {
    let row = |word: &str, end: fn(Interval) -> Option<LatencyNs>| {
        let cell = |interval| end(interval).map_or_else(|| "too few".to_owned(), show);
        let cells = figures.intervals().map(|interval| interval.map_or_else(String::new, cell));
        let first = [String::new(), format!("{CONFIDENCE} {word}"), String::new(), String::new()];
        first.into_iter().chain(cells).collect()
    };
    [row("from", |interval| interval.lower), row("to", |interval| interval.upper)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::measure::results::HEAD;

    /// Frames that took 8001, 8002, … instructions.
    fn record(frames: u32) -> Record {
        let rows = (0..frames).map(|row| format!("{row},{row},0,10,{},0\n", 8011 + row)).collect::<String>();
        Record::parse(&(HEAD.to_owned() + &rows)).unwrap()
    }

    #[test]
    fn intervals_are_below_their_quantiles() {
        let text = text(&[record(400)]);
        let wanted = [
            "│ gateway   unit           frames   lost     min     p50     p90     p99     max │",
            "│ kernel    instructions      400      0    8001    8200    8360    8396    8400 │",
            "│           95 % from                               8180    8348    8392         │",
            "│           95 % to                                 8221    8372    8400         │",
            "│           virtual µs                     8.001   8.200   8.360   8.396   8.400 │",
        ];
        assert_eq!(text.lines().filter(|line| line.starts_with('│')).collect::<Vec<_>>(), wanted);
        assert!(!text.contains("too"), "{text}");
    }

    #[test]
    fn missing_bound_is_too_few() {
        let text = text(&[record(50)]);
        let wanted = [
            "│           95 % from                               8018    8041      8048         │",
            "│           95 % to                                 8033    8050   too few         │",
            "kernel: n too small: p99 needs 368 frames, there are 50: measure more frames",
        ];
        assert!(wanted.iter().all(|wanted| text.lines().any(|line| line == *wanted)), "{text}");
    }

    #[test]
    fn gateway_without_an_operating_system_is_not_compared_with_the_paper() {
        let ratio = |engine: &str| {
            let mut other = record(400);
            other.header.device = "other".to_owned();
            other.header.engine = engine.to_owned();
            let text = text(&[record(400), other]);
            text.lines().find(|line| line.starts_with("other: p50 is 1.00 times")).unwrap().to_owned()
        };
        assert!(ratio("read-write").contains("about three times"));
        assert!(!ratio(BARE_METAL).contains("three times"));
    }

    #[test]
    fn missing_bound_is_null_in_json() {
        let json = serde_json::to_value(views(&[record(50)])).unwrap();
        let latency = &json[0]["latency"];
        let bounds = ["p50_at_least_ns", "p50_at_most_ns", "p99_at_least_ns", "p99_at_most_ns"];
        assert_eq!(bounds.map(|key| latency[key].as_i64()), [Some(8018), Some(8033), Some(8048), None]);
        assert!(latency["p99_at_most_ns"].is_null() && latency.get("max_at_most_ns").is_none(), "{latency}");
    }
}
