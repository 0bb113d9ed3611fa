//! Cost of handing a frame to an interface, by its qdisc tree: the tables of `docs/egress.md`.

mod before;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use serde_json::Value;

use crate::lab::{self, Guest};
use crate::static_build;
use before::{Before, Ids, Sample};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Repetitions of each frame.
    #[arg(long, default_value_t = 20)]
    frames: u32,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable; for the order of arbitration one that has it).
    #[arg(long)]
    kernel: Option<String>,
    /// Tables to make.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "sff,eff,pgn,controller,arbitration,report")]
    tables: Vec<Table>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Table {
    /// Policies with up to 1000 identifiers of 11 bits.
    Sff,
    /// The same with 29 bits, scattered, and what else could look for them.
    Eff,
    /// Policies with up to 1000 parameter groups of J1939, whatever their priority and source address.
    Pgn,
    /// The queue that a controller has by itself, and a policy before it.
    Controller,
    /// Queues in the order of arbitration, and policies in their place.
    Arbitration,
    /// Ten filters, as in the measurement of em_canid (2012).
    Report,
}

/// The kernel for queues in BPF, unless another one is given.
const WITH_BPF_QUEUES: &str = "debian-7.3";
const VIRTUAL: (&str, &str) = ("vcan", "vcan0");
const CONTROLLER: (&str, &str) = ("kvaser", "can0");

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let guest =
        |topology| Guest { candor: &candor, kernel: args.kernel.as_deref(), topology, shift: 0, timeout: "60min" };
    for table in &args.tables {
        let (title, (topology, interface), rows, sample) = match table {
            Table::Sff => ("11 bits", VIRTUAL, before::policies(Ids::Sff), Sample::of(Ids::Sff)),
            Table::Eff => {
                let rows = [before::policies(Ids::Eff), before::others()].concat();
                ("29 bits, scattered", VIRTUAL, rows, Sample::of(Ids::Eff))
            }
            Table::Pgn => ("29 bits, parameter groups", VIRTUAL, before::policies(Ids::Pgn), Sample::of(Ids::Pgn)),
            Table::Controller => {
                ("29 bits, a controller", CONTROLLER, before::policies(Ids::Eff), Sample::of(Ids::Eff))
            }
            Table::Arbitration => {
                let kernel = args.kernel.as_deref().or(Some(WITH_BPF_QUEUES));
                arbitration(|topology| Guest { kernel, ..guest(topology) }, args.frames)?;
                continue;
            }
            Table::Report => {
                report(guest("vcan"), args.frames)?;
                continue;
            }
        };
        let figures = measure(guest(topology), interface, args.frames, &rows, &sample.frames())?;
        println!("{title}, {}\n\n{}", figures.kernel, policies(&figures, &rows, &sample)?);
    }
    Ok(())
}

/// Median instructions of a `write()`, by what stands before the bus and the number of the frame.
struct Figures {
    kernel: String,
    of: BTreeMap<String, Vec<i64>>,
}

impl Figures {
    fn row(&self, name: &str) -> anyhow::Result<&Vec<i64>> {
        self.of.get(name).with_context(|| format!("{name} was not measured"))
    }
}

fn measure(
    guest: Guest<'_>,
    interface: &str,
    count: u32,
    rows: &[Before],
    frames: &[String],
) -> anyhow::Result<Figures> {
    let folder = lab::folder("can-send")?;
    let file = |row: &Before| lab::write(&folder, &row.name, &row.gateway(interface));
    let files = rows.iter().map(file).collect::<anyhow::Result<Vec<_>>>()?;
    let mut arguments: Vec<String> = ["can-send", "--interface", interface, "--frames"].map(str::to_owned).into();
    arguments.push(count.to_string());
    if guest.topology == "kvaser" {
        // What the other controllers do with a frame is not asked here.
        arguments.extend(["--down", "can1,can2,can3,can4"].map(str::to_owned));
    }
    arguments.extend(frames.iter().flat_map(|frame| ["--frame".to_owned(), frame.clone()]));
    let (measured, is_valid) = guest.json(&files, &arguments)?;
    anyhow::ensure!(is_valid, "a gateway file is not valid: {measured}");
    let kernel = format!("Linux {}", measured["kernel_release"].as_str().unwrap_or_default());
    let medians =
        |of: &Value| of["calls"].as_array()?.iter().map(|call| call["p50_ns"].as_i64()).collect::<Option<_>>();
    let named = |of: &Value| Some((of["before"].as_str()?.to_owned(), medians(of)?));
    let all = measured["measured"].as_array().context("nothing was measured")?.iter();
    Ok(Figures { kernel, of: all.map(named).collect::<Option<_>>().context("a figure is missing")? })
}

/// A row for each tree: the first identifier, the last one, the dearest of all, and a frame that nothing chooses.
fn policies(figures: &Figures, rows: &[Before], sample: &Sample) -> anyhow::Result<String> {
    let mut text = String::from(
        "| before the bus | first | last | dearest | none | dearest ÷ 1 identifier |\n|---|--:|--:|--:|--:|--:|\n",
    );
    let one = rows.iter().find(|row| row.of == Some(1)).context("no policy with one identifier")?;
    let base = figures.row(&one.name)?[0];
    for (name, of) in std::iter::once(("as it is", None)).chain(rows.iter().map(|row| (row.name.as_str(), row.of))) {
        let calls = figures.row(name)?;
        let none = *calls.last().context("no frame")?;
        let Some(count) = of else {
            writeln!(text, "| {name} | | | | {none} | |")?;
            continue;
        };
        let chosen: Vec<i64> = sample.in_set(count).into_iter().map(|at| calls[at]).collect();
        let dearest = chosen.iter().copied().chain([none]).max().context("no frame")?;
        let (first, last) = (chosen[0], chosen[chosen.len() - 1]);
        writeln!(text, "| {name} | {first} | {last} | {dearest} | {none} | {:.3} |", dearest as f64 / base as f64)?;
    }
    Ok(text)
}

/// A row for each queue: one identifier of each format, on a virtual interface and on a controller.
fn arbitration<'a>(guest: impl Fn(&'static str) -> Guest<'a>, count: u32) -> anyhow::Result<()> {
    let (rows, frames) = before::arbitration();
    let on = |(topology, interface)| measure(guest(topology), interface, count, &rows, &frames);
    let (virtual_one, controller) = (on(VIRTUAL)?, on(CONTROLLER)?);
    let mut text = String::from(
        "| queue | virtual interface: 11 bits | 29 bits | controller: 11 bits | 29 bits |\n|---|--:|--:|--:|--:|\n",
    );
    for name in std::iter::once("as it is").chain(rows.iter().map(|row| row.name.as_str())) {
        let both = [virtual_one.row(name)?, controller.row(name)?].into_iter().flatten();
        let cells: Vec<_> = both.map(i64::to_string).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | "))?;
    }
    println!("order of arbitration, {}\n\n{text}", virtual_one.kernel);
    Ok(())
}

/// Ten classes with a filter each.
fn report(guest: Guest<'_>, count: u32) -> anyhow::Result<()> {
    let (rows, frames) = before::report();
    let figures = measure(guest, "vcan0", count, &rows, &frames)?;
    let mut text =
        String::from("| ten filters | 11 bits: first | last | 29 bits: first | last |\n|---|--:|--:|--:|--:|\n");
    for name in std::iter::once("as it is").chain(rows.iter().map(|row| row.name.as_str())) {
        let cells: Vec<_> = figures.row(name)?.iter().map(i64::to_string).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | "))?;
    }
    println!("ten filters, {}\n\n{text}", figures.kernel);
    Ok(())
}
