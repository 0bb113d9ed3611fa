//! Runs blocks: several guests at once, then other testbeds one after the other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use candor_lab::cells::{self, Order, Said};
use candor_lab::experiment::Block;
use candor_lab::guest::{self, ClockShift, GuestSpec};
use candor_lab::job::WIRE_LISTENERS;
use candor_lab::observer::Observer;

use super::lease::Lease;
use super::machines::Supervisors;
use super::progress::{Event, Progress};
use super::results::{KernelFiles, Results};
use crate::cli::GuestLimits;
use crate::cmd::guests::{Failure, failures_text};
use crate::cmd::progress::JsonLines;
use crate::cmd::tester::processors;

#[derive(Debug, Default)]
pub(in crate::cmd) struct Run {
    /// From the first boot to the end.
    pub(super) wall: Duration,
    /// Sum over all guests, until their command started.
    pub(super) boots: Duration,
    /// Sum over all guests.
    pub(super) guests: Duration,
    /// Measured in this run.
    pub(super) cells: usize,
    /// Blocks whose guest or tester failed, and why.
    pub(in crate::cmd) broken: Vec<(String, Failure)>,
}

impl Run {
    /// A line for each block that was not measured, and the console of its guest; empty if all were.
    pub(in crate::cmd) fn failures(&self) -> String {
        let what = |block: &String| format!("block {block} was not measured");
        failures_text(self.broken.iter().map(|(block, failure)| (what(block), failure)))
    }
}

pub(super) type Ordered<'b, 'p> = (&'b Block<'p>, Order);

/// Calls `work` for each item, `jobs` at a time.
pub(in crate::cmd) fn in_parallel<T: Sync>(jobs: usize, items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

/// Runs all blocks. A failed one does not stop the others.
pub(super) fn run(
    limits: GuestLimits,
    results: &Results,
    todo: &[Ordered<'_, '_>],
    supervisors: &Supervisors,
    files: &KernelFiles,
    lease: &Lease,
    done: usize,
) -> Result<Run, Box<dyn std::error::Error>> {
    let total = done + todo.iter().map(|(block, _)| block.cells.len()).sum::<usize>();
    // Guests would take CPU time from a gateway on this machine.
    let (guests, alone): (Vec<_>, Vec<_>) = todo.iter().partition(|(block, _)| block.conditions.testbed.is_guest());
    let candor = if guests.is_empty() { std::path::PathBuf::new() } else { guest::guest_lab()? };
    let jobs = limits.jobs.map_or_else(processors, usize::from);
    let progress = Progress::new(total, done);
    let run = Mutex::new(Run::default());
    let begin = Instant::now();
    let (sender, events) = mpsc::channel();
    let note = |block: &Block<'_>, outcome: Result<(Duration, Duration), Failure>| {
        let mut run = run.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match outcome {
            Ok((boot, wall)) => {
                run.boots += boot;
                run.guests += wall;
                run.cells += block.cells.len();
            }
            Err(error) => run.broken.push((block.name.clone(), error)),
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let sender = sender;
            in_parallel(jobs, &guests, |(block, order)| {
                if let Err(lost) = lease.check() {
                    return note(block, Err(lost.into()));
                }
                let exit = one(limits, results, block, order, &candor, files, &sender);
                note(block, exit.map(|exit| (exit.boot, exit.wall)));
            });
            for ordered in alone {
                if let Err(lost) = lease.check() {
                    note(ordered.0, Err(lost.into()));
                    continue;
                }
                let begin = Instant::now();
                let outcome = supervisors.one(limits, results, ordered, &sender);
                note(ordered.0, outcome.map(|()| (Duration::ZERO, begin.elapsed())).map_err(Failure::from));
            }
        });
        events.iter().for_each(|event| progress.update(todo, event));
    });
    progress.finish();
    let mut run = run.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    run.wall = begin.elapsed();
    run.broken.sort();
    Ok(run)
}

fn one(
    limits: GuestLimits,
    results: &Results,
    block: &Block<'_>,
    order: &Order,
    candor: &std::path::Path,
    files: &KernelFiles,
    events: &Sender<Event>,
) -> Result<guest::GuestExit, Failure> {
    let part = results.begin(&block.name).map_err(|error| error.to_string())?;
    let spec = specification(limits, block, order, candor, files, part.clone())?;
    let mut output = GuestOutput { events, lines: JsonLines::default(), states: Vec::new() };
    let exit = guest::run(&spec, &mut output)?;
    if exit.status != 0 {
        return Err(format!("the guest's command ended with status {}", exit.status).into());
    }
    results.finish_block(&part, block, order, &output.states)?;
    Ok(exit)
}

fn specification(
    limits: GuestLimits,
    block: &Block<'_>,
    order: &Order,
    candor: &std::path::Path,
    files: &KernelFiles,
    out: std::path::PathBuf,
) -> Result<GuestSpec, String> {
    let conditions = block.conditions;
    let (Some(testbed), Some(topology)) = (cells::testbed(conditions.testbed), cells::topology(conditions.topology))
    else {
        return Err(format!("{} is not a guest", conditions.testbed.name()));
    };
    let mut spec = GuestSpec::new(testbed, topology, candor.to_owned(), Vec::new());
    order.give_to(&mut spec).map_err(|error| error.to_string())?;
    if order.cells.iter().any(|cell| cell.hardware_stamps) {
        spec.wire_adapters.push(WIRE_LISTENERS.to_owned());
    }
    // For all blocks of such a plan: the cards are in other slots, and the order of interrupts is part of every latency.
    spec.bare_metal = order.bare_metal;
    spec.arch = conditions.arch.unwrap_or_default();
    let path = |name: &String| files.get(name).map(|file| file.path.clone());
    let kernel = |name: &String| path(name).map_or_else(|| name.clone(), |path| path.to_string_lossy().into_owned());
    spec.kernel = conditions.kernel.as_ref().map(kernel);
    spec.modules.extend(conditions.module.as_ref().and_then(path));
    spec.clock = ClockShift::new(conditions.shift).unwrap_or_default();
    spec.programs = cells::programs(order);
    spec.timeout = limits.timeout;
    spec.out = Some(out);
    Ok(spec)
}

struct GuestOutput<'a> {
    events: &'a Sender<Event>,
    lines: JsonLines,
    states: Vec<Said>,
}

impl GuestOutput<'_> {
    fn send(&self, event: Event) {
        // The receiver is gone only at the end.
        let _ = self.events.send(event);
    }
}

impl Observer for GuestOutput<'_> {
    fn stage(&mut self, stage: &str) {
        self.send(Event::Stage(stage.to_owned()));
    }

    fn notice(&mut self, text: &str) {
        self.send(Event::Complaint(format!("candor-lab: {text}\n")));
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        self.send(Event::Stage(format!("Fetching {what}: {} of {} MB", bytes / 1_000_000, total / 1_000_000)));
    }

    fn stdout(&mut self, bytes: &[u8]) {
        for said in self.lines.take::<Said>(bytes) {
            self.states.push(said.clone());
            self.send(Event::Said(said));
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.send(Event::Complaint(String::from_utf8_lossy(bytes).into_owned()));
    }
}
