//! Runs blocks: several guests at once, and then machines one after the other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use candor_core::causes;
use candor_lab::cells::{self, Order, OrderError, Said, State};
use candor_lab::experiment::{Block, Plan};
use candor_lab::guest::{self, ClockShift, GuestSpec};
use candor_lab::job::{HOME, OUT, WIRE_LISTENERS};
use candor_lab::observer::Observer;

use super::machines::Supervisors;
use super::progress::Progress;
use super::results::{Measured, MeasuredCell, Results};
use crate::cli::GuestLimits;
use crate::cmd::progress::JsonLines;
use crate::cmd::tester::processors;

/// What running blocks has taken.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Run {
    /// From the first boot to the last end.
    pub(super) wall: Duration,
    /// Of all guests together, until their command began.
    pub(super) boots: Duration,
    /// Of all guests together.
    pub(super) guests: Duration,
    /// Cells that were measured now.
    pub(super) cells: usize,
    /// Blocks whose guest or tester did not do its job, and why.
    pub(in crate::cmd) broken: Vec<(String, String)>,
}

/// What a guest tells while it works.
pub(super) enum News {
    /// A stage of a boot, or a download.
    Stage(String),
    /// What becomes of a cell.
    Said(Said),
    /// What a guest printed to its standard error.
    Complaint(String),
}

/// What the guests of blocks are asked.
pub(super) fn orders<'b, 'p>(plan: &Plan, blocks: &[&'b Block<'p>]) -> Result<Vec<(&'b Block<'p>, Order)>, OrderError> {
    blocks.iter().map(|block| Ok((*block, Order::of(plan, block)?))).collect()
}

/// A block and what is asked of whoever runs it.
pub(super) type Ordered<'b, 'p> = (&'b Block<'p>, Order);

/// Runs all blocks. One that does not do its job does not keep the others from doing theirs.
pub(super) fn run(
    limits: GuestLimits,
    results: &Results,
    todo: &[Ordered<'_, '_>],
    supervisors: &Supervisors,
    done: usize,
) -> Result<Run, Box<dyn std::error::Error>> {
    let total = done + todo.iter().map(|(block, _)| block.cells.len()).sum::<usize>();
    // What a guest takes of the processor would be missing to a gateway of this machine.
    let (guests, alone): (Vec<_>, Vec<_>) = todo.iter().partition(|(block, _)| block.place.testbed.is_guest());
    let candor = if guests.is_empty() { None } else { Some(guest::static_lab()?) };
    let jobs = limits.jobs.map_or_else(processors, usize::from).min(guests.len());
    let progress = Progress::new(total, done);
    let (next, run) = (AtomicUsize::new(0), Mutex::new(Run::default()));
    let begin = Instant::now();
    let (tell, news) = mpsc::channel();
    let (guests, next, run_of) = (&guests, &next, &run);
    let note = |block: &Block<'_>, outcome: Result<(Duration, Duration), String>| {
        let mut run = run_of.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match outcome {
            Ok((boot, wall)) => {
                run.boots += boot;
                run.guests += wall;
                run.cells += block.cells.len();
            }
            Err(error) => run.broken.push((block.name.clone(), error)),
        }
    };
    let note = &note;
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..jobs {
            let (tell, candor) = (tell.clone(), candor.as_deref());
            workers.push(scope.spawn(move || {
                while let (Some((block, order)), Some(candor)) =
                    (guests.get(next.fetch_add(1, Ordering::Relaxed)), candor)
                {
                    let exit = one(limits, results, block, order, candor, &tell);
                    note(block, exit.map(|exit| (exit.boot, exit.wall)));
                }
            }));
        }
        scope.spawn(move || {
            // A panic of theirs comes out at the end of the scope.
            workers.into_iter().for_each(|worker| drop(worker.join()));
            for ordered in alone {
                let begin = Instant::now();
                let outcome = supervisors.one(limits, results, ordered, &tell);
                note(ordered.0, outcome.map(|()| (Duration::ZERO, begin.elapsed())));
            }
        });
        news.iter().for_each(|news| progress.tell(todo, news));
    });
    progress.finish();
    let mut run = run.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    run.wall = begin.elapsed();
    run.broken.sort();
    Ok(run)
}

/// Runs one block in a guest.
fn one(
    limits: GuestLimits,
    results: &Results,
    block: &Block<'_>,
    order: &Order,
    candor: &std::path::Path,
    tell: &Sender<News>,
) -> Result<guest::GuestExit, String> {
    let part = results.begin(&block.name).map_err(|error| error.to_string())?;
    let spec = specification(limits, block, order, candor, part)?;
    let mut heard = Heard { tell, lines: JsonLines::default(), states: Vec::new() };
    let exit = guest::run(&spec, &mut heard).map_err(|error| causes::in_full(&error))?;
    if exit.status != 0 {
        return Err(format!("the guest's command ended with status {}", exit.status));
    }
    finish(results, block, order, &heard.states)?;
    Ok(exit)
}

/// Writes down what became of the cells of a block.
pub(super) fn finish(results: &Results, block: &Block<'_>, order: &Order, states: &[Said]) -> Result<(), String> {
    let state = |name: &str| {
        let last = states.iter().rev().find(|said| said.cell == name);
        last.map_or_else(|| State::Failed("the guest said nothing of it".to_owned()), |said| said.state.clone())
    };
    let cell = |cell: &cells::CellOrder| MeasuredCell {
        name: cell.name.clone(),
        levels: cell.levels.clone(),
        state: state(&cell.name),
    };
    let measured = Measured {
        candor_version: env!("CARGO_PKG_VERSION").to_owned(),
        cells: order.cells.iter().map(cell).collect(),
    };
    results.finish(&block.name, &measured).map_err(|error| causes::in_full(&error))
}

fn specification(
    limits: GuestLimits,
    block: &Block<'_>,
    order: &Order,
    candor: &std::path::Path,
    out: std::path::PathBuf,
) -> Result<GuestSpec, String> {
    let command = ["candor-lab", "cells", cells::FILE, "--records", OUT].map(str::to_owned).into();
    let place = block.place;
    let (Some(testbed), Some(topology)) = (cells::testbed(place.testbed), cells::topology(place.topology)) else {
        return Err(format!("{} is no guest", place.testbed.name()));
    };
    let mut spec = GuestSpec::new(testbed, topology, candor.to_owned(), command);
    if order.cells.iter().any(|cell| cell.hardware_stamps) {
        spec.wire_adapters.push(WIRE_LISTENERS.to_owned());
    }
    spec.kernel.clone_from(&place.kernel);
    spec.clock = ClockShift::new(place.shift).unwrap_or_default();
    spec.programs = cells::programs(order);
    spec.timeout = limits.timeout;
    spec.out = Some(out);
    let text = serde_json::to_vec(order).map_err(|error| error.to_string())?;
    spec.files.push((format!("{}/{}", HOME, cells::FILE), text));
    Ok(spec)
}

/// What one guest says.
struct Heard<'a> {
    tell: &'a Sender<News>,
    lines: JsonLines,
    states: Vec<Said>,
}

impl Heard<'_> {
    fn tell(&self, news: News) {
        // Nobody listens any more only when all is over.
        let _ = self.tell.send(news);
    }
}

impl Observer for Heard<'_> {
    fn stage(&mut self, stage: &str) {
        self.tell(News::Stage(stage.to_owned()));
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        self.tell(News::Stage(format!("Fetching {what}: {} of {} MB", bytes / 1_000_000, total / 1_000_000)));
    }

    fn stdout(&mut self, bytes: &[u8]) {
        for said in self.lines.take::<Said>(bytes) {
            self.states.push(said.clone());
            self.tell(News::Said(said));
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.tell(News::Complaint(String::from_utf8_lossy(bytes).into_owned()));
    }
}
