//! What was measured for a figure, as its page.

use std::collections::BTreeMap;
use std::fs;
use std::iter;

use candor_lab::cells::State;
use candor_lab::record::Record;
use candor_lab::report::{Cell, ClaimLine, ClaimPage, ClaimTable, Curve, Curves, Picture, Seen, Summary, TimeUnit};

use super::claim::{Figure as Quantity, Levels, Said};
use super::figures::{Drawn, Figure, Rows, SaidLine};
use super::method::at;
use super::sheet::{Extent, How, Measurement, Sheet};

/// Beyond this many µs a picture is in ms.
const MOST_MICROSECONDS: f64 = 5000.0;

const COLUMNS: [Quantity; 6] =
    [Quantity::Min, Quantity::P50, Quantity::P90, Quantity::P99, Quantity::Max, Quantity::LostPercent];

pub(super) fn of(figure: &Figure, measurement: &Measurement, extent: Extent) -> Result<ClaimPage, String> {
    let claims = figure.claims.iter().filter_map(|claim| {
        let judged = claim.judge(measurement, extent.kernels);
        // Real-time kernels are told of, and decide nothing that was said of plain ones.
        let verdict = judged.iter().filter(|one| !one.is_realtime()).map(|one| one.verdict).max()?;
        let ours = judged.into_iter().map(|one| Seen {
            kernel: one.kernel.as_deref().map_or_else(String::new, |kernel| series(kernel).to_owned()),
            value: one.value.map_or_else(|| "–".to_owned(), |value| claim.unit.show(value)),
            verdict: one.verdict,
        });
        Some(ClaimLine {
            says: claim.says.to_owned(),
            published: claim.published.to_owned(),
            ours: ours.collect(),
            verdict,
            because: claim.because.to_owned(),
        })
    });
    let pictures = figure.pictures.iter().map(|drawn| picture(drawn, measurement, extent));
    Ok(ClaimPage {
        id: figure.id.to_owned(),
        paper: figure.paper.name().to_owned(),
        number: figure.number.to_owned(),
        title: figure.title.to_owned(),
        setup: figure.setup.to_owned(),
        claims: claims.collect(),
        pictures: pictures.collect::<Result<_, _>>()?,
        table: table(figure, measurement, extent),
        notes: notes_of(figure, measurement, extent),
    })
}

/// All cells that a figure looks at.
#[cfg(test)]
pub(super) fn cells(figure: &Figure) -> Vec<Levels> {
    let of_claims = figure.claims.iter().flat_map(|claim| claim.ours.cells());
    let of_rows = rows(figure).iter().map(|(_, levels)| *levels);
    let of_pictures = figure.pictures.iter().flat_map(|drawn| match drawn {
        Drawn::Profiles { lines, .. } => lines.iter().map(|(_, levels)| *levels).collect::<Vec<_>>(),
        Drawn::Kernels { levels, .. } => vec![*levels],
        Drawn::Curves { lines, .. } => {
            lines.iter().flat_map(|(_, points)| *points).map(|(_, levels)| *levels).collect()
        }
        Drawn::SaidCurves { .. } => Vec::new(),
    });
    of_claims.chain(of_rows).chain(of_pictures).collect()
}

fn picture(drawn: &Drawn, measurement: &Measurement, extent: Extent) -> Result<(String, String), String> {
    match *drawn {
        Drawn::Profiles { title, kernel, lines } => {
            let kernel = present(kernel, extent);
            let lines = lines.iter().map(|(name, levels)| (*name, measurement.whatever(levels, Some(kernel))));
            profiles(&format!("{title} ({kernel})"), lines, measurement)
        }
        Drawn::Kernels { title, levels } => {
            let lines = extent.kernels.iter().map(|kernel| (*kernel, measurement.whatever(levels, Some(kernel))));
            profiles(title, lines, measurement)
        }
        Drawn::Curves { title, kernel, along, figure, lines } => {
            let kernel = present(kernel, extent);
            let value = |levels: &Levels| figure.of(measurement.whatever(levels, Some(kernel))?);
            let curve = |(name, points): &(&str, &[(f64, Levels)])| Curve {
                name: (*name).to_owned(),
                points: points.iter().map(|(number, levels)| (*number, value(levels))).collect(),
            };
            let curves: Vec<Curve> = lines.iter().map(curve).collect();
            let title = format!("{title} ({kernel})");
            let of = match figure {
                Quantity::LostPercent => "lost frames in %".to_owned(),
                other => format!("{} of the latency in µs", other.name()),
            };
            let svg = Curves { title: &title, along, of: &of, curves: &curves }.to_svg();
            Ok((title, svg))
        }
        Drawn::SaidCurves { title, kernel, along, of, lines } => {
            let kernel = present(kernel, extent);
            let said = measurement.said(Some(kernel));
            let (of, unit) = of;
            let value = |path: &Said| Some(at(said?, path)?.as_f64()? / unit);
            let curve = |(name, points): &SaidLine| Curve {
                name: (*name).to_owned(),
                points: points.iter().map(|(number, path)| (*number, value(path))).collect(),
            };
            let curves: Vec<Curve> = lines.iter().map(curve).collect();
            let title = format!("{title} ({kernel})");
            let svg = Curves { title: &title, along, of, curves: &curves }.to_svg();
            Ok((title, svg))
        }
    }
}

/// Cells whose figures stand in the table.
fn rows(figure: &Figure) -> &'static [(&'static str, Levels)] {
    match figure.rows {
        Rows::Cells(rows) => rows,
        Rows::Said(..) => &[],
    }
}

/// What people call a kernel: all of them are Debian's.
fn series(kernel: &str) -> &str {
    kernel.split_once('-').map_or(kernel, |(_origin, series)| series)
}

/// The kernel that a picture is of, or the first of those that were measured.
fn present(kernel: &'static str, extent: Extent) -> &'static str {
    if extent.kernels.contains(&kernel) { kernel } else { extent.kernels[0] }
}

fn profiles<'a>(
    title: &str,
    lines: impl Iterator<Item = (&'a str, Option<&'a Cell>)>,
    measurement: &Measurement,
) -> Result<(String, String), String> {
    let mut summaries = Vec::new();
    for (name, cell) in lines {
        let Some(path) = cell.and_then(|cell| measurement.record(cell)) else { continue };
        let text = fs::read_to_string(path).map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
        let mut record = Record::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        name.clone_into(&mut record.header.device);
        summaries.extend(Summary::of_all(&[record]));
    }
    let longest = summaries.iter().filter_map(|one| Some(one.figures?.max.microseconds())).fold(0.0, f64::max);
    let unit = if longest > MOST_MICROSECONDS { TimeUnit::Milliseconds } else { TimeUnit::Microseconds };
    let picture = Picture { title, of: "latency of the gateway", unit, summaries: &summaries, rules: &[] };
    Ok((title.to_owned(), picture.to_svg()))
}

fn table(figure: &Figure, measurement: &Measurement, extent: Extent) -> ClaimTable {
    match figure.rows {
        Rows::Cells(rows) => table_of_cells(rows, measurement, extent),
        Rows::Said(unit, rows) => table_of_answers(unit, rows, measurement, extent),
    }
}

/// A column for each kernel.
fn table_of_answers(unit: &str, rows: &[(&str, Said)], measurement: &Measurement, extent: Extent) -> ClaimTable {
    let mut head = vec![unit.to_owned()];
    head.extend(extent.kernels.iter().map(|kernel| series(kernel).to_owned()));
    let row = |(name, path): &(&str, Said)| {
        let value = |kernel: &&str| {
            let value =
                measurement.said(Some(kernel)).and_then(|said| at(said, path)).and_then(serde_json::Value::as_f64);
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"))
        };
        iter::once((*name).to_owned()).chain(extent.kernels.iter().map(value)).collect()
    };
    ClaimTable { head, rows: rows.iter().map(row).collect() }
}

fn table_of_cells(of: &[(&str, Levels)], measurement: &Measurement, extent: Extent) -> ClaimTable {
    let mut head: Vec<String> = ["", "kernel", "frames"].map(str::to_owned).into();
    head.extend(COLUMNS.iter().map(|column| match column {
        Quantity::LostPercent => "lost/%".to_owned(),
        other => format!("{}/µs", other.name()),
    }));
    head.push("state".to_owned());
    let mut rows = Vec::new();
    for (name, levels) in of {
        for kernel in extent.kernels {
            let cell = measurement.whatever(levels, Some(kernel));
            let frames = cell.and_then(|cell| cell.measured.as_ref()).map_or(0, |measured| measured.frames);
            let value = |column: &Quantity| {
                cell.and_then(|cell| column.of(cell)).map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
            };
            let mut row = vec![(*name).to_owned(), series(kernel).to_owned(), frames.to_string()];
            row.extend(COLUMNS.iter().map(value));
            row.push(state(cell));
            rows.push(row);
        }
    }
    ClaimTable { head, rows }
}

fn state(cell: Option<&Cell>) -> String {
    match cell.and_then(|cell| cell.state.as_ref()) {
        None => "not measured".to_owned(),
        Some(State::Invalid(why)) => format!("invalid: {why}"),
        Some(State::Failed(why)) => format!("failed: {why}"),
        Some(_) => "ok".to_owned(),
    }
}

/// Of one page: what its cells have in common.
fn notes_of(figure: &Figure, measurement: &Measurement, extent: Extent) -> Vec<String> {
    let mut notes = vec![match figure.sheet.how() {
        How::Plan(..) => format!("The plan is {}: candor-lab papers --show-plan {}.", figure.sheet.name(), figure.id),
        How::Method(method) => format!(
            "In a guest each (icount, {}): candor {}. Times are counted instructions of an emulated processor without caches, {} ns each.",
            method.topology.name(),
            method.words.join(" "),
            1_u32 << method.shift
        ),
    }];
    let cells = || {
        let all = rows(figure).iter().flat_map(|(_, levels)| extent.kernels.iter().map(|kernel| (*levels, *kernel)));
        all.filter_map(|(levels, kernel)| measurement.whatever(levels, Some(kernel))?.measured.as_ref())
    };
    if let Some(first) = cells().next() {
        let header = &first.header;
        if let Some(ns) = header.instruction_ns {
            notes.push(format!(
                "Times are counted instructions, of {ns} ns each, of an emulated processor without caches: they repeat exactly, and no \
                 stopwatch would show them."
            ));
        }
        notes.push(format!(
            "Stamps: {}. Seed {}. {} frames went before the first that counts.",
            header.stamps, header.seed, header.warm_up_frames
        ));
    }
    let mut releases: Vec<_> = cells().map(|cell| cell.header.kernel_release.clone()).collect();
    releases.sort();
    releases.dedup();
    if !releases.is_empty() {
        notes.push(format!("Kernels: {}.", releases.join(", ")));
    }
    let mut threats: Vec<String> = cells().flat_map(|cell| &cell.threats).map(|threat| format!("{threat}.")).collect();
    threats.sort();
    threats.dedup();
    notes.extend(threats);
    notes
}

/// Of all pages together.
pub(super) fn notes(measured: &BTreeMap<Sheet, Measurement>, extent: Extent) -> Vec<String> {
    let mut notes = vec![format!(
        "By candor {} in guests of QEMU whose clock counts instructions, with Debian's kernels {}.",
        env!("CARGO_PKG_VERSION"),
        extent.kernels.join(", ")
    )];
    for (sheet, measurement) in measured {
        if let How::Method(_) = sheet.how() {
            let answers = extent.kernels.iter().filter(|kernel| measurement.said(Some(kernel)).is_some()).count();
            notes.push(format!("{}: {answers} of {} kernels.", sheet.name(), extent.kernels.len()));
            continue;
        }
        let [ok, invalid, failed, missing] = measurement.states();
        notes.push(format!("{}: {ok} cells ok, {invalid} invalid, {failed} failed, {missing} missing.", sheet.name()));
    }
    let frames = extent.frames.map_or_else(|| "as many as in the papers".to_owned(), |frames| frames.to_string());
    notes.push(format!("Frames of each cell: {frames}; of each stream 3200. candor-lab papers makes all of it again."));
    notes
}
