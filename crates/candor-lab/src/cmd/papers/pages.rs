//! Pages of the figures, made from their measurements.

use std::collections::BTreeSet;
use std::iter;

use candor_lab::cells::State;
use candor_lab::report::{Cell, ClaimLine, ClaimPage, ClaimTable, Curve, Curves, Picture, Summary, TimeUnit};

use super::data::{Drawing, Figure, Line, Paper};
use super::experiment::Experiment;
use super::measurement::Measurement;
use super::method::{Extent, series};
use super::quantity::{self, LATENCIES};
use candor_lab::record::Record;

/// Pictures with longer times are in ms.
const MOST_MICROSECONDS: f64 = 5000.0;

pub(super) fn of(
    paper: &Paper,
    figure: &Figure,
    measurement: &Measurement,
    extent: Extent<'_>,
) -> Result<ClaimPage, String> {
    let claims = figure.claims.iter().filter_map(|claim| {
        let (ours, verdict) = claim.judge(measurement, extent.kernels)?;
        Some(ClaimLine {
            says: claim.claim.clone(),
            published: claim.published.clone(),
            ours,
            verdict,
            because: claim.because(verdict, measurement),
        })
    });
    let pictures = figure.pictures.iter().map(|drawing| picture(drawing, measurement, extent));
    Ok(ClaimPage {
        id: figure.id.clone(),
        paper: paper.name.clone(),
        number: figure.number.clone(),
        title: figure.title.clone(),
        setup: figure.setup.clone(),
        claims: claims.collect(),
        pictures: pictures.collect::<Result<_, _>>()?,
        table: table(figure, measurement, extent),
        notes: paper
            .experiment(figure)
            .map(|experiment| notes_of(experiment, figure, measurement, extent))
            .unwrap_or_default(),
    })
}

fn picture(drawing: &Drawing, measurement: &Measurement, extent: Extent<'_>) -> Result<(String, String), String> {
    if let Some(levels) = &drawing.every_kernel {
        let lines = extent.kernels.iter().map(|kernel| (*kernel, measurement.cell(levels.get_ref(), Some(kernel))));
        return profiles(drawing.title.clone(), lines, measurement);
    }
    let kernel = extent.kernels.iter().find(|kernel| **kernel == drawing.kernel).unwrap_or(&extent.kernels[0]);
    let title = format!("{} ({kernel})", drawing.title);
    if drawing.curves.is_empty() {
        let lines = drawing.profiles.iter();
        let lines = lines.map(|(name, levels)| (name.as_str(), measurement.cell(levels.get_ref(), Some(kernel))));
        return profiles(title, lines, measurement);
    }
    let curve = |line: &Line| {
        let points = line
            .points(drawing)?
            .into_iter()
            .map(|(x, term)| (x, measurement.value(&term, Some(kernel), false).map(|value| value / drawing.per)));
        Ok(Curve { name: line.name.clone(), points: points.collect() })
    };
    let curves = drawing.curves.iter().map(curve).collect::<Result<Vec<_>, String>>()?;
    let (along, of) = (&drawing.x_label, &drawing.y_label);
    let svg = Curves { title: &title, along, of, names: &[], curves: &curves }.to_svg();
    Ok((title, svg))
}

fn profiles<'a>(
    title: String,
    lines: impl Iterator<Item = (&'a str, Option<&'a Cell>)>,
    measurement: &Measurement,
) -> Result<(String, String), String> {
    let mut summaries = Vec::new();
    for (name, cell) in lines {
        let Some(path) = cell.and_then(|cell| measurement.record(cell)) else { continue };
        let mut record = Record::read(path)?;
        name.clone_into(&mut record.header.device);
        summaries.extend(Summary::of_all(&[record]));
    }
    let longest = summaries.iter().filter_map(|one| Some(one.figures?.max.microseconds())).fold(0.0, f64::max);
    let unit = if longest > MOST_MICROSECONDS { TimeUnit::Milliseconds } else { TimeUnit::Microseconds };
    let picture = Picture { title: &title, of: "latency of the gateway", unit, summaries: &summaries, rules: &[] };
    let svg = picture.to_svg();
    Ok((title, svg))
}

fn table(figure: &Figure, measurement: &Measurement, extent: Extent<'_>) -> ClaimTable {
    if figure.cells.is_empty() {
        table_of_answers(figure, measurement, extent)
    } else {
        table_of_cells(figure, measurement, extent)
    }
}

/// A column for each kernel.
fn table_of_answers(figure: &Figure, measurement: &Measurement, extent: Extent<'_>) -> ClaimTable {
    let kernels = || extent.kernels.iter().copied();
    let rows = figure.numbers.iter().map(|(name, term)| {
        let value = |kernel| measurement.value(term.get_ref(), Some(kernel), true);
        let shown = |kernel| value(kernel).map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"));
        iter::once(name.clone()).chain(kernels().map(shown)).collect()
    });
    let head = iter::once(figure.unit.clone()).chain(kernels().map(|kernel| series(kernel).to_owned()));
    ClaimTable { head: head.collect(), rows: rows.collect() }
}

fn table_of_cells(figure: &Figure, measurement: &Measurement, extent: Extent<'_>) -> ClaimTable {
    let mut head: Vec<String> = ["case", "kernel"].map(str::to_owned).into();
    head.extend(LATENCIES.map(|column| format!("{column}/µs")));
    head.extend(["lost/%", "state"].map(str::to_owned));
    let mut rows = Vec::new();
    for (name, levels) in &figure.cells {
        for kernel in extent.kernels {
            let cell = measurement.cell(levels.get_ref(), Some(kernel));
            let figure = |name: &str| cell.and_then(|cell| quantity::figure(cell, name));
            let frames = figure("frames").unwrap_or_default();
            let lost = figure("lost").filter(|_| frames > 0.0).map(|lost| 100.0 * lost / frames);
            let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
            let mut row = vec![name.clone(), series(kernel).to_owned()];
            row.extend(LATENCIES.map(figure).into_iter().chain([lost]).map(shown));
            row.push(state(cell));
            rows.push(row);
        }
    }
    // The state is of interest only where one is not ok.
    if rows.iter().all(|row| row.last().is_some_and(|state| state == OK)) {
        head.pop();
        rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    ClaimTable { head, rows }
}

/// State of a valid cell.
const OK: &str = "ok";

fn state(cell: Option<&Cell>) -> String {
    match cell.and_then(|cell| cell.state.as_ref()) {
        None => "not measured".to_owned(),
        Some(State::Invalid(why)) => format!("invalid: {why}"),
        Some(State::Failed(why)) => format!("failed: {why}"),
        Some(_) => OK.to_owned(),
    }
}

/// Conditions that the cells of a page have in common.
fn notes_of(experiment: &Experiment, figure: &Figure, measurement: &Measurement, extent: Extent<'_>) -> Vec<String> {
    let mut notes = vec![match &experiment.method {
        None => format!("Plan: {} (candor-lab papers --show-plan {}).", experiment.name.get_ref(), figure.id),
        Some(method) => format!(
            "One guest per kernel (icount, {}): candor-lab {}. Times are counted instructions of an emulated CPU without caches, {} ns each.",
            method.topology.name(),
            method.command,
            1_u32 << method.shift
        ),
    }];
    let cells = || {
        let all =
            figure.cells.iter().flat_map(|(_, levels)| extent.kernels.iter().map(|kernel| (levels.get_ref(), *kernel)));
        all.filter_map(|(levels, kernel)| measurement.cell(levels, Some(kernel))?.measured.as_ref())
    };
    if let Some(first) = cells().next() {
        let header = &first.header;
        if let Some(ns) = header.instruction_ns {
            notes.push(format!(
                "Times are counted instructions of {ns} ns each on an emulated CPU without caches: they are reproducible, but are not \
                 wall-clock times."
            ));
        }
        notes.push(format!(
            "Timestamps: {}. Seed {}. {} frames after {} warm-up frames.",
            header.stamps, header.seed, first.frames, header.warm_up_frames
        ));
    }
    let releases: BTreeSet<&str> = cells().map(|cell| cell.header.kernel_release.as_str()).collect();
    if !releases.is_empty() {
        notes.push(format!("Kernels: {}.", Vec::from_iter(releases).join(", ")));
    }
    let threats: BTreeSet<String> = cells().flat_map(|cell| &cell.threats).map(|threat| format!("{threat}.")).collect();
    notes.extend(threats);
    notes
}

/// Notes for all pages together.
pub(super) fn notes(measured: &[(&Experiment, Extent<'_>, Measurement)], extent: Extent<'_>) -> Vec<String> {
    let mut notes = vec![format!(
        "candor {} in {}QEMU guests whose clock counts instructions, with Debian's kernels {}.",
        env!("CARGO_PKG_VERSION"),
        if extent.arch.is_here() { String::new() } else { format!("{} ", extent.arch.name()) },
        extent.kernels.join(", ")
    )];
    for (experiment, extent, measurement) in measured {
        let name = experiment.name.get_ref();
        let frames = match (experiment.frames, extent.frames) {
            (None, _) => "frames as in the paper".to_owned(),
            (Some(of_paper), None) => format!("{of_paper} frames, as in the paper"),
            (Some(of_paper), Some(fewer)) => format!("{fewer} frames, in the paper {of_paper}"),
        };
        if experiment.method.is_some() {
            let answers = extent.kernels.iter().filter(|kernel| measurement.answer(Some(kernel)).is_some()).count();
            notes.push(format!("{name}: {frames}; answers of {answers} of {} kernels.", extent.kernels.len()));
            continue;
        }
        let [ok, invalid, failed, missing] = measurement.states();
        let cells = format!("{ok} cells ok, {invalid} invalid, {failed} failed, {missing} missing");
        notes.push(format!("{name}: {frames}; {cells}."));
    }
    notes.push("candor-lab papers all repeats all measurements.".to_owned());
    notes
}
