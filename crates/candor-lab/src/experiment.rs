//! Plans of experiments: which gateways are to be measured under which conditions, and which runs that makes.
//!
//! ```text
//!  text ──load──▶ Plan { factors × gateways × rules } ──cells()──▶ [Cell] ──blocks()──▶ [Block]
//!  (PLAN.toml)    (proven: every level has a meaning)  (one series each)   (what one boot of a guest runs, in order)
//! ```
//!
//! A *factor* is one of the conditions, a *level* one of the values that it takes. Every level of every factor is crossed with
//! all others, `[[exclude]]` takes cells away, and `[[include]]` adds some. What each key means is written down in
//! `docs/plans.md`.

pub mod budget;
pub mod code;
pub mod load;
pub mod replay;
pub mod schedule;
pub mod traffic;

mod bench;
mod blocks;
mod cells;
mod check;
mod hash;
mod parse;
mod rules;

pub use bench::{Bench, Ssh, Wire};
pub use blocks::{Block, Shard, ShardError};
pub use cells::{Cell, Place, StampSource, Testbed, Topology};
pub use hash::name_of;
pub use rules::{Decoys, Rules};

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::experiment::replay::Log;
use crate::experiment::traffic::Traffic;
use candor_config::engine::{Engine, UserEngine};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::units::BitRate;

/// The file ending of plans.
pub const EXTENSION: &str = "toml";

/// A plan that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Seed of the order and of all random times.
    pub seed: u64,
    /// Frames of each cell that count.
    pub frames: u32,
    /// Frames of each cell in front of them, which do not.
    pub warm_up: u32,
    /// Shortest and longest pause between a reception and the next frame, where frames come one at a time.
    pub gap: (Duration, Duration),
    /// A frame that has not arrived after this time is lost.
    pub lost_after: Duration,
    /// Bit rate of the buses where frames take no time, for traffic that is a share of a bus.
    pub bitrate: BitRate,
    /// Whether the sender's stamps are kept, too, so that the time of a frame can be told in more parts. They cost the machine that
    /// sends.
    pub stages: bool,
    /// Who stamps the frames on both buses.
    pub stamps: StampSource,
    /// Cells that one boot of a guest runs, at most.
    pub cells_per_guest: u32,
    /// What is to be measured, by name.
    pub gateways: BTreeMap<String, Gateway>,
    /// What the gateways are to do, by name.
    pub rules: BTreeMap<String, Rules>,
    /// Interfaces of the testbeds that are no guests.
    pub bench: Option<Bench>,
    /// The board of the testbed `ssh`.
    pub ssh: Option<Ssh>,
    /// The logs that it replays, by the names of their files; empty as long as nobody has read them.
    pub logs: BTreeMap<String, Log>,
    /// Every series that is to be measured, in the order of the file.
    cells: Vec<Cell>,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gateway {
    /// Nothing: the frames stay on the first bus. What is measured then is the tester.
    None,
    /// Candor with this engine.
    Candor(Engine),
    /// A program with its arguments, in which `{from}` and `{to}` are the interfaces.
    Command {
        /// It forwards frames until SIGTERM, or ends with 0 at once and has set the kernel up.
        start: Vec<String>,
        /// What is run in the end; empty if nothing is.
        stop: Vec<String>,
    },
    /// The baseline loop of an engine: its system calls without any rules.
    Baseline(UserEngine),
    /// Something that candor neither starts nor ends: a black box between the interfaces of the tester.
    External,
}

/// What a file says of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The plan.
    pub plan: Plan,
    /// What may not be meant as written, in the order of the file.
    pub warnings: Vec<Diagnostic>,
}

/// What this candor can run, for plans that ask for something else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Available<'a> {
    /// Names of kernels; `None` if that is not known.
    pub kernels: Option<&'a [String]>,
    /// What the files hold that the plan replays, by their names; `None` if nobody has read them.
    pub logs: Option<&'a BTreeMap<String, Vec<u8>>>,
}

/// Reads a plan from the bytes of a file.
///
/// # Errors
/// Every mistake in the file, in the order of the file.
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
    /// Every series that is to be measured.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Names of the files that are replayed, as they are written.
    #[must_use]
    pub fn replays(&self) -> BTreeSet<&str> {
        let traffics = self.cells.iter().map(|cell| &cell.traffic);
        let file = traffics.filter_map(|traffic| match traffic {
            Traffic::Replay { file, .. } => Some(file.as_str()),
            _ => None,
        });
        file.collect()
    }

    /// What the cell's gateway is.
    ///
    /// # Panics
    /// If the cell is of another plan.
    #[must_use]
    pub fn gateway(&self, cell: &Cell) -> &Gateway {
        &self.gateways[&cell.gateway]
    }

    /// What the cell's gateway is to do.
    ///
    /// # Panics
    /// If the cell is of another plan.
    #[must_use]
    pub fn rules(&self, cell: &Cell) -> &Rules {
        &self.rules[&cell.rules]
    }
}

#[cfg(test)]
mod tests;
