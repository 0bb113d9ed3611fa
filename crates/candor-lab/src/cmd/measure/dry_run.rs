//! `candor-lab measure --dry-run`: the cells, and an estimate of the time.

use std::collections::BTreeMap;
use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_lab::experiment::{Block, Cell, Plan};
use serde::Serialize;

use super::expected;
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

/// The progress bar refines it.
fn estimate(plan: &Plan, blocks: &[&Block<'_>], jobs: usize) -> Duration {
    let (guests, alone): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| block.conditions.testbed.is_guest());
    let times = |blocks: Vec<&Block<'_>>| -> Vec<Duration> {
        blocks.into_iter().map(|block| expected::time(plan, block)).collect()
    };
    let (guests, alone) = (times(guests), times(alone));
    let longest = guests.iter().max().copied().unwrap_or_default();
    let all: Duration = guests.iter().sum();
    (all / u32::try_from(jobs.max(1)).unwrap_or(1)).max(longest) + alone.iter().sum::<Duration>()
}
