//! Expected times of blocks: for estimates, and to divide a plan into shards of equal length.

use std::time::Duration;

use candor_lab::experiment::load::Load;
use candor_lab::experiment::schedule;
use candor_lab::experiment::traffic::Traffic;
use candor_lab::experiment::{Block, Cell, Plan, Testbed, Topology, Wire};
use candor_lab::open_loop;

/// From times on two CPUs of a cloud machine in 2026, rough. The same on every machine, because the plan alone decides about shards.
pub(super) fn time(plan: &Plan, block: &Block<'_>) -> Duration {
    const BOOT: Duration = Duration::from_secs(8);
    const START: Duration = Duration::from_secs(2);
    let begin = if block.conditions.testbed.is_guest() { BOOT } else { START };
    begin + Duration::from_micros(block.cells.iter().map(|cell| us_of_cell(plan, cell)).sum())
}

pub(super) fn us_of_cell(plan: &Plan, cell: &Cell) -> u64 {
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
