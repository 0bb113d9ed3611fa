//! `candor measure --dry-run`: the cells, and how long they may take.

use std::fmt::Write as _;
use std::time::Duration;

use candor_core::experiment::load::Load;
use candor_core::experiment::{Block, Cell, Plan, Testbed, Topology};
use serde_json::json;

use super::progress::in_words;
use crate::cli::MeasureArgs;
use crate::cmd::Outcome;
use crate::cmd::tester::processors;
use crate::exit::Exit;
use crate::render;

/// Cells that are listed one by one for people; programs get all.
const MOST_LISTED: usize = 40;

pub(super) fn show(args: &MeasureArgs, plan: &Plan, blocks: &[&Block<'_>]) -> Outcome {
    let cells: Vec<&Cell> = blocks.iter().flat_map(|block| block.cells.iter().copied()).collect();
    let jobs = args.jobs.map_or_else(processors, usize::from);
    let time = estimate(plan, blocks, jobs);
    if args.json {
        let one = |cell: &&Cell| {
            let levels: serde_json::Map<_, _> =
                cell.levels().into_iter().map(|(factor, level)| (factor.to_owned(), level.into())).collect();
            json!({ "name": cell.name(plan), "levels": levels, "repeat": cell.repeat })
        };
        let value = json!({
            "cells": cells.iter().map(one).collect::<Vec<_>>(),
            "guests": blocks.len(),
            "frames": plan.frames,
            "estimated_s": time.as_secs(),
        });
        return render::answer(&format!("{value:#}\n"), Exit::Fine);
    }
    let mut text = String::new();
    for cell in cells.iter().take(MOST_LISTED) {
        let levels = cell.levels().map(|(factor, level)| (factor.to_owned(), level));
        let repeat = if cell.repeat > 1 { format!(" (repeat {})", cell.repeat) } else { String::new() };
        writeln!(text, "{}  {}{repeat}", cell.name(plan), in_words(&levels)).expect("a String takes everything");
    }
    if cells.len() > MOST_LISTED {
        writeln!(text, "… and {} more (--json lists all)", cells.len() - MOST_LISTED)
            .expect("a String takes everything");
    }
    writeln!(
        text,
        "\n{} cells of {} frames in {} guests, {jobs} at once: about {}",
        cells.len(),
        plan.frames,
        blocks.len(),
        in_minutes(time)
    )
    .expect("a String takes everything");
    render::answer(&text, Exit::Fine)
}

pub(super) fn in_minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// From what cells took on two processors of a cloud machine in 2026. Others are other; the progress knows better.
fn estimate(plan: &Plan, blocks: &[&Block<'_>], jobs: usize) -> Duration {
    let frames = u64::from(plan.frames) + u64::from(plan.warm_up);
    let cell = |cell: &&Cell| {
        let us_of_frame = match (cell.place.testbed, cell.place.topology) {
            (Testbed::Uml, _) => 150,
            (Testbed::Icount, Topology::Vcan) => 250,
            (Testbed::Icount, Topology::Kvaser) => 400,
            (Testbed::Icount, Topology::Wire) => 1500,
        };
        let us_of_frame = if cell.load == Load::None { us_of_frame } else { us_of_frame * 20 };
        frames * us_of_frame
    };
    const BOOT: Duration = Duration::from_secs(8);
    let block = |block: &&Block<'_>| BOOT + Duration::from_micros(block.cells.iter().map(cell).sum());
    let all: Duration = blocks.iter().map(block).sum();
    let longest = blocks.iter().map(block).max().unwrap_or_default();
    (all / u32::try_from(jobs.max(1)).unwrap_or(1)).max(longest)
}
