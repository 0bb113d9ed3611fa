//! `candor-lab measure --dry-run`: the cells, and an estimate of the time.

use std::collections::BTreeMap;
use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_lab::experiment::load::Load;
use candor_lab::experiment::schedule;
use candor_lab::experiment::traffic::Traffic;
use candor_lab::experiment::{Block, Cell, Plan, Testbed, Topology, Wire};
use candor_lab::open_loop;
use serde::Serialize;

use super::progress::in_words;

use crate::cli::MeasureArgs;
use crate::cmd::tester::processors;

/// JSON output lists all.
const MOST_LISTED: usize = 40;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View {
    cells: Vec<CellView>,
    guests: usize,
    frames: u32,
    estimated_s: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CellView {
    name: String,
    levels: BTreeMap<String, String>,
    repeat: u32,
}

pub(super) fn show(args: &MeasureArgs, plan: &Plan, blocks: &[&Block<'_>]) -> Outcome {
    let cells: Vec<&Cell> = blocks.iter().flat_map(|block| block.cells.iter().copied()).collect();
    let jobs = args.limits.jobs.map_or_else(processors, usize::from);
    let time = estimate(plan, blocks, jobs);
    let guests = blocks.iter().filter(|block| block.conditions.testbed.is_guest()).count();
    let levels = |cell: &Cell| cell.levels().map(|(factor, level)| (factor.to_owned(), level));
    if args.json {
        let one = |cell: &&Cell| CellView {
            name: cell.name(plan),
            levels: levels(cell).into_iter().collect(),
            repeat: cell.repeat,
        };
        let cells = cells.iter().map(one).collect();
        let view = View { cells, guests, frames: plan.frames, estimated_s: time.as_secs() };
        return render::answer(&render::object(&view), Exit::Fine);
    }
    let mut text = String::new();
    for cell in cells.iter().take(MOST_LISTED) {
        let repeat = if cell.repeat > 1 { format!(" (repeat {})", cell.repeat) } else { String::new() };
        text += &format!("{}  {}{repeat}\n", cell.name(plan), in_words(&levels(cell)));
    }
    if cells.len() > MOST_LISTED {
        text += &format!("… and {} more (--json lists all)\n", cells.len() - MOST_LISTED);
    }
    let place = match (guests, blocks.len() - guests) {
        (0, _) => ", one after the other".to_owned(),
        (guests, 0) => format!(" in {}, {jobs} at once", plural(guests, "guest")),
        (guests, alone) => format!(" in {}, {jobs} at once, and then {alone} alone", plural(guests, "guest")),
    };
    let (cells, frames) = (plural(cells.len(), "cell"), plural(plan.frames as usize, "frame"));
    text += &format!("\n{cells} of {frames}{place}: about {}\n", in_minutes(time));
    render::answer(&text, Exit::Fine)
}

pub(super) fn in_minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// A rough estimate, from times on two CPUs of a cloud machine in 2026. The progress bar refines it.
fn estimate(plan: &Plan, blocks: &[&Block<'_>], jobs: usize) -> Duration {
    let cell = |cell: &&Cell| {
        // A search has about twenty trials.
        let series = if matches!(cell.traffic, Traffic::Throughput { .. }) { 20 } else { 1 };
        let frames = (u64::from(plan.frames) + u64::from(plan.warm_up)) * series;
        let us_of_frame = match (cell.conditions.testbed, cell.conditions.topology) {
            (Testbed::Uml, _) => 150,
            (Testbed::Host | Testbed::Ssh, _) => return frames * us_of_frame_in_true_time(plan, cell),
            (Testbed::Icount, Topology::Vcan | Topology::Bench) => 250,
            (Testbed::Icount, Topology::Kvaser) => 600,
            (Testbed::Icount, Topology::Wire) => 1500,
        };
        frames * us_of_frame.max(us_of_loaded_frame(plan, cell))
    };
    const BOOT: Duration = Duration::from_secs(8);
    const START: Duration = Duration::from_secs(2);
    let block = |block: &&Block<'_>| {
        let begin = if block.conditions.testbed.is_guest() { BOOT } else { START };
        begin + Duration::from_micros(block.cells.iter().map(cell).sum())
    };
    let (guests, alone): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| block.conditions.testbed.is_guest());
    let all: Duration = guests.iter().copied().map(block).sum();
    let longest = guests.iter().copied().map(block).max().unwrap_or_default();
    let alone: Duration = alone.iter().copied().map(block).sum();
    (all / u32::try_from(jobs.max(1)).unwrap_or(1)).max(longest) + alone
}

/// Under load the CPU of a guest is never idle: everything until the next frame is emulated.
fn us_of_loaded_frame(plan: &Plan, cell: &Cell) -> u64 {
    /// Emulated by QEMU per µs, with two guests on two CPUs.
    const INSTRUCTIONS: u64 = 90;
    if cell.load == Load::None || cell.conditions.testbed != Testbed::Icount {
        return 0;
    }
    let us = us_of_frame_in_true_time(plan, cell);
    // A frame from a timer has another one before it.
    let us = if cell.traffic == Traffic::OneAtATime { 2 * us } else { us };
    us * (1000 >> cell.conditions.shift) / INSTRUCTIONS
}

/// Mean time between frames on testbeds that run in real time.
fn us_of_frame_in_true_time(plan: &Plan, cell: &Cell) -> u64 {
    const FRAMES: u32 = 1000;
    /// From one bus to the other.
    const PASSAGE_US: u64 = 100;
    if let Traffic::Replay { file, interface } = &cell.traffic {
        let frames = plan.logs.get(file).and_then(|log| log.frames(interface.as_deref()).ok()).unwrap_or_default();
        let most = plan.warm_up as usize + plan.frames as usize;
        let last = frames[..frames.len().min(most)].last().map_or(0, |last| last.at_ns);
        return last / 1000 / (u64::from(plan.frames) + u64::from(plan.warm_up));
    }
    let frame = |number| open_loop::numbered(cell.frame, number);
    let bus = Wire { nominal: plan.bitrate, data: None };
    if let Traffic::Throughput { up_to } = cell.traffic {
        return 1_000_000 / u64::from(schedule::frame_rate(up_to, &cell.frame, bus).frames_per_second());
    }
    match schedule::moments(&cell.traffic, FRAMES, frame, bus, plan.seed) {
        Some(moments) => moments.last().copied().unwrap_or_default() / 1000 / u64::from(FRAMES),
        None => u64::try_from((plan.gap.0 + plan.gap.1).as_micros() / 2).unwrap_or(u64::MAX) + PASSAGE_US,
    }
}
