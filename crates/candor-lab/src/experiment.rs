//! Plans of experiments: gateways to be measured, under which conditions.
//!
//! ```text
//!  text ──load──▶ Plan { factors × gateways × rules } ──cells()──▶ [Cell] ──blocks()──▶ [Block]
//!  (PLAN.toml)    (valid: every level has a meaning)   (one series each)   (cells of one boot of a guest, in order)
//! ```
//!
//! A *factor* is one of the conditions, a *level* one of its values. All levels of all factors are combined, `[[exclude]]` removes
//! cells, and `[[include]]` adds some. `docs/plans.md` describes the keys.

pub mod budget;
pub mod code;
pub mod load;
pub mod replay;
pub mod schedule;
pub mod traffic;

mod blocks;
mod cells;
mod check;
mod parse;
mod rules;
mod shard;

pub use blocks::{Block, name_of};
pub use cells::{Bench, Cell, Conditions, Ssh, StampSource, Testbed, Topology, Wire};
pub use rules::{DATABASE, Decoys, Rules};
pub use shard::{Shard, ShardError};

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::experiment::replay::Log;
use crate::experiment::traffic::Traffic;
use crate::kernel::is_path;
use candor_config::engine::{Engine, UserEngine};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::units::BitRate;

/// A validated plan; only [`load()`] constructs one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Of the order and of all random times.
    pub seed: u64,
    /// Frames per cell that count.
    pub frames: u32,
    /// Uncounted frames before those.
    pub warm_up: u32,
    /// Shortest and longest pause between a reception and the next frame, in a closed loop.
    pub gap: (Duration, Duration),
    /// A frame that has not arrived by then is lost.
    pub lost_after: Duration,
    /// Of buses on which frames take no time, for traffic given as a share of a bus.
    pub bitrate: BitRate,
    /// Keep the sender's timestamps, too, for finer stages of a latency. Costs time on the sending machine.
    pub stages: bool,
    pub stamps: StampSource,
    /// Largest number of cells per boot of a guest.
    pub cells_per_guest: u32,
    pub gateways: BTreeMap<String, Gateway>,
    pub rules: BTreeMap<String, Rules>,
    /// Interfaces of testbeds other than guests.
    pub bench: Option<Bench>,
    /// The board of testbed `ssh`.
    pub ssh: Option<Ssh>,
    /// By file name as written; empty until they have been read.
    pub logs: BTreeMap<String, Log>,
    /// In the order of the file.
    cells: Vec<Cell>,
}

/// The device under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gateway {
    /// The frames stay on the first bus: measures the tester itself.
    None,
    Candor(Engine),
    /// A program and its arguments. `{from}` and `{to}` stand for the interfaces.
    Command {
        /// Forwards frames until SIGTERM, or configures the kernel and ends with status 0.
        start: Vec<String>,
        /// Run at the end; may be empty.
        stop: Vec<String>,
    },
    /// The baseline loop of an engine: its system calls without rules.
    Baseline(UserEngine),
    /// The rules on two cards, without an operating system.
    BareMetal,
    /// A black box between the tester's interfaces, neither started nor stopped.
    External,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub plan: Plan,
    /// In the order of the file.
    pub warnings: Vec<Diagnostic>,
}

/// Kernels and logs that plans may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Available<'a> {
    /// `None` if unknown.
    pub kernels: Option<&'a [String]>,
    /// Contents of the replayed files by name; `None` if they have not been read.
    pub logs: Option<&'a BTreeMap<String, Vec<u8>>>,
}

/// # Errors
/// All mistakes, in the order of the file.
pub fn load(bytes: &[u8], available: Available<'_>) -> Result<Loaded, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let plan = match parse::plan(bytes, &mut findings) {
        Ok(spec) => spec.and_then(|spec| check::plan(&spec, available, &mut findings)),
        Err(diagnostic) => return Err(vec![*diagnostic]),
    };
    match plan {
        Some(plan) if !findings.has_errors() => Ok(Loaded { plan, warnings: findings.into_sorted() }),
        _ => Err(findings.into_sorted()),
    }
}

impl Plan {
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Paths of the user's kernels and modules, as written.
    pub fn kernel_files(&self) -> BTreeSet<&str> {
        let conditions = self.cells.iter().map(|cell| &cell.conditions);
        let files = conditions.flat_map(|Conditions { kernel, module, .. }| {
            [kernel.as_deref().filter(|kernel| is_path(kernel)), module.as_deref()]
        });
        files.flatten().collect()
    }

    /// Names of replayed files, as written.
    pub fn replays(&self) -> BTreeSet<&str> {
        let traffics = self.cells.iter().map(|cell| &cell.traffic);
        let file = traffics.filter_map(|traffic| match traffic {
            Traffic::Replay { file, .. } => Some(file.as_str()),
            _ => None,
        });
        file.collect()
    }

    /// # Panics
    /// If the cell belongs to another plan.
    pub fn gateway(&self, cell: &Cell) -> &Gateway {
        &self.gateways[&cell.gateway]
    }

    /// # Panics
    /// If the cell belongs to another plan.
    pub fn rules(&self, cell: &Cell) -> &Rules {
        &self.rules[&cell.rules]
    }
}

#[cfg(test)]
mod tests;
