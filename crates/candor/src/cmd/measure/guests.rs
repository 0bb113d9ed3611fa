//! Runs blocks, several guests at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use candor_core::causes;
use candor_core::experiment::{Block, Plan};
use candor_lab::cells::{self, Order, OrderError, Said, State};
use candor_lab::guest::{self, ClockShift, GuestSpec};
use candor_lab::job::OUT;
use candor_lab::observer::Observer;

use super::progress::Progress;
use super::results::{Measured, MeasuredCell, Results};
use crate::cli::MeasureArgs;
use crate::cmd::lab::progress::JsonLines;

/// What running blocks has taken.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// From the first boot to the last end.
    pub(super) wall: Duration,
    /// Of all guests together, until their command began.
    pub(super) boots: Duration,
    /// Of all guests together.
    pub(super) guests: Duration,
    /// Cells that were measured now.
    pub(super) cells: usize,
    /// Blocks whose guest did not do its job, and why.
    pub(super) broken: Vec<(String, String)>,
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

/// Runs all blocks. One that does not do its job does not keep the others from doing theirs.
pub(super) fn run(
    args: &MeasureArgs,
    results: &Results,
    todo: &[(&Block<'_>, Order)],
    jobs: usize,
    done: usize,
) -> Result<Run, Box<dyn std::error::Error>> {
    let candor = guest::static_candor()?;
    let total = done + todo.iter().map(|(block, _)| block.cells.len()).sum::<usize>();
    let progress = Progress::new(total, done);
    let (next, run) = (AtomicUsize::new(0), Mutex::new(Run::default()));
    let begin = Instant::now();
    let (tell, news) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (tell, next, run, candor) = (tell.clone(), &next, &run, &candor);
            scope.spawn(move || {
                while let Some((block, order)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = one(args, results, block, order, candor, &tell);
                    let mut run = run.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    match outcome {
                        Ok(exit) => {
                            run.boots += exit.boot;
                            run.guests += exit.wall;
                            run.cells += block.cells.len();
                        }
                        Err(error) => run.broken.push((block.name.clone(), error)),
                    }
                }
            });
        }
        drop(tell);
        news.iter().for_each(|news| progress.tell(todo, news));
    });
    progress.finish();
    let mut run = run.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    run.wall = begin.elapsed();
    run.broken.sort();
    Ok(run)
}

/// Runs one block.
fn one(
    args: &MeasureArgs,
    results: &Results,
    block: &Block<'_>,
    order: &Order,
    candor: &std::path::Path,
    tell: &Sender<News>,
) -> Result<guest::GuestExit, String> {
    let part = results.begin(&block.name).map_err(|error| error.to_string())?;
    let spec = specification(args, block, order, candor, part)?;
    let mut heard = Heard { tell, lines: JsonLines::default(), states: Vec::new() };
    let exit = guest::run(&spec, &mut heard).map_err(|error| causes::in_full(&error))?;
    let states = heard.states;
    if exit.status != 0 {
        return Err(format!("the guest's command ended with status {}", exit.status));
    }
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
    results.finish(&block.name, &measured).map_err(|error| causes::in_full(&error))?;
    Ok(exit)
}

fn specification(
    args: &MeasureArgs,
    block: &Block<'_>,
    order: &Order,
    candor: &std::path::Path,
    out: std::path::PathBuf,
) -> Result<GuestSpec, String> {
    let command = ["candor", "lab", "cells", cells::FILE, "--records", OUT].map(str::to_owned).into();
    let place = block.place;
    let mut spec =
        GuestSpec::new(cells::testbed(place.testbed), cells::topology(place.topology), candor.to_owned(), command);
    spec.kernel.clone_from(&place.kernel);
    spec.clock = ClockShift::new(place.shift).unwrap_or_default();
    spec.programs = cells::programs(order);
    spec.timeout = args.timeout;
    spec.out = Some(out);
    let text = serde_json::to_vec(order).map_err(|error| error.to_string())?;
    spec.files.push((format!("{}/{}", candor_lab::job::HOME, cells::FILE), text));
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
