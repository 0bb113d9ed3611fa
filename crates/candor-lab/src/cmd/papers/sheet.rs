//! What is measured for the figures: plans of `candor-lab measure`, each for several figures of a paper.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candor_lab::cells::State;
#[cfg(test)]
use candor_lab::experiment::{self, Plan};
use candor_lab::report::Cell;
use serde_json::Value;

use candor_lab::job::{Topology, WIRE_EARS};

use super::claim::Levels;
use super::method::{Method, answer};
use crate::cmd::measure::status_table;

/// The kernels of Debian on which everything is measured, plain and real-time.
pub(super) const KERNELS: [&str; 4] = ["debian-6.1", "debian-6.1-rt", "backports-6.12", "backports-6.12-rt"];

/// Those of the quick run.
pub(super) const QUICK_KERNELS: [&str; 2] = ["debian-6.1", "debian-6.1-rt"];

/// What is measured at once, for one or several figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sheet {
    Gateway2011,
    Filters2011,
    Vcan2011,
    Flood2011,
    Precision2011,
    Stamps2011,
    Hops2011,
    Engines2014,
    Streams2014,
    Calls2014,
    SendVcan,
    SendKvaser,
    SendRules,
    SendCanid,
}

/// How it is measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// A plan whose `{frames}` and `{kernels}` are still open, and how many frames each cell had in the paper.
    Plan(&'static str, u32),
    Method(Method),
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) kernels: &'static [&'static str],
    /// Of each cell; `None` for as many as the paper had.
    pub(super) frames: Option<u32>,
}

/// What was measured for a figure.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    cells: Vec<Cell>,
    /// By the name of their cell.
    records: BTreeMap<String, PathBuf>,
    /// What another method said, by kernel.
    said: BTreeMap<String, Value>,
}

impl Extent {
    pub(super) const WHOLE: Self = Self { kernels: &KERNELS, frames: None };
    pub(super) const QUICK: Self = Self { kernels: &QUICK_KERNELS, frames: Some(500) };

    pub(super) fn is_quick(self) -> bool {
        self.kernels.len() < KERNELS.len()
    }
}

impl Sheet {
    pub(super) const ALL: [Self; 14] = [
        Self::Gateway2011,
        Self::Filters2011,
        Self::Vcan2011,
        Self::Flood2011,
        Self::Precision2011,
        Self::Stamps2011,
        Self::Hops2011,
        Self::Engines2014,
        Self::Streams2014,
        Self::Calls2014,
        Self::SendVcan,
        Self::SendKvaser,
        Self::SendRules,
        Self::SendCanid,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gateway2011 => "gateway-2011",
            Self::Filters2011 => "filters-2011",
            Self::Vcan2011 => "vcan-2011",
            Self::Flood2011 => "flood-2011",
            Self::Precision2011 => "precision-2011",
            Self::Stamps2011 => "precision-2011-adapter",
            Self::Hops2011 => "hops-2011",
            Self::Engines2014 => "engines-2014",
            // Fewer frames would all find room in the queues.
            Self::Streams2014 => "streams-2014",
            Self::Calls2014 => "system-calls-2014",
            Self::SendVcan => "can-send-vcan",
            Self::SendKvaser => "can-send-kvaser",
            Self::SendRules => "can-send-rules",
            Self::SendCanid => "can-send-em-canid",
        }
    }

    pub(super) const fn how(self) -> How {
        match self {
            Self::Gateway2011 => How::Plan(include_str!("plans/gateway-2011.toml"), 10_000),
            Self::Filters2011 => How::Plan(include_str!("plans/filters-2011.toml"), 10_000),
            Self::Vcan2011 => How::Plan(include_str!("plans/vcan-2011.toml"), 10_000),
            Self::Flood2011 => How::Plan(include_str!("plans/flood-2011.toml"), 10_000),
            Self::Engines2014 => How::Plan(include_str!("plans/engines-2014.toml"), 3200),
            Self::Precision2011 => precision(&[], &[]),
            Self::Stamps2011 => precision(&["--stamps", "hardware", "--loads", "none"], &[WIRE_EARS]),
            Self::Hops2011 => How::Method(Method {
                topology: Topology::Kvaser,
                words: &[
                    "hops",
                    "--send",
                    "can0",
                    "--monitor",
                    "can1",
                    "--from",
                    "can2",
                    "--to",
                    "can3",
                    "--receive",
                    "can4",
                ],
                frames: Some(10000),
                further: (&[], &[]),
                gateways: &[],
                wire_adapters: &[],
                module_parameters: &["can_gw.max_hops=6"],
                shift: 0,
            }),
            // As many frames as in the report, however many others have: fewer would all find room in the queues.
            Self::Streams2014 => How::Method(Method {
                topology: Topology::Kvaser,
                words: &["stream", "--way", "can0:can2:can3", "--down", "can1,can4", "--frames", "3200"],
                frames: None,
                further: (
                    &["--periods", "64us,69us,74us,79us,84us,89us,94us,99us,109us,119us,129us,144us"],
                    &["--periods", "74us,84us,99us,144us"],
                ),
                gateways: &[
                    "kernel",
                    "read-write",
                    "readnb-write",
                    "mmap-write",
                    "mmapbusy-write",
                    "readnb-mmap",
                    "mmsg-mmsg",
                    "mmap-mmap",
                    "mmapbusy-mmap",
                    "mmap-adaptive",
                ],
                wire_adapters: &[],
                module_parameters: &[],
                shift: 2,
            }),
            Self::Calls2014 => How::Method(Method {
                topology: Topology::Vcan,
                words: &["system-calls"],
                frames: None,
                further: (&[], &["--points", "1,10,100,1000,10000"]),
                gateways: &[],
                wire_adapters: &[],
                module_parameters: &[],
                shift: 0,
            }),
            Self::SendVcan => can_send(
                Topology::Vcan,
                &["can-send", "--interface", "vcan0", "--set-ups", "table-4.1", "--trace", "--gap", "0ms,1ms"],
                5000,
            ),
            Self::SendKvaser => can_send(
                Topology::Kvaser,
                &[
                    "can-send",
                    "--interface",
                    "can0",
                    "--down",
                    "can1,can2,can3,can4",
                    "--set-ups",
                    "table-4.1",
                    "--trace",
                    "--gap",
                    "0ms,1ms,2ms",
                ],
                5000,
            ),
            Self::SendRules => can_send(
                Topology::Vcan,
                &["can-send", "--interface", "vcan0", "--set-ups", "figure-4.6", "--trace", "--gap", "1ms"],
                5000,
            ),
            Self::SendCanid => can_send(
                Topology::Vcan,
                &["can-send", "--interface", "vcan0", "--set-ups", "em-canid", "--trace", "--gap", "0ms,1ms"],
                10000,
            ),
        }
    }

    /// The plan's file; `None` if it is measured by another method.
    pub(super) fn plan_text(self, extent: Extent) -> Option<String> {
        let How::Plan(text, of_paper) = self.how() else { return None };
        let kernels = extent.kernels.iter().map(|kernel| format!("\"{kernel}\"")).collect::<Vec<_>>().join(", ");
        let frames = extent.frames.unwrap_or(of_paper);
        Some(text.replace("{frames}", &frames.to_string()).replace("{kernels}", &format!("[{kernels}]")))
    }
}

/// Stamps beside the log of the buses, with these options besides.
const fn precision(further: &'static [&'static str], wire_adapters: &'static [&'static str]) -> How {
    How::Method(Method {
        topology: Topology::Wire,
        words: &[
            "precision",
            "--send",
            "can0",
            "--monitor",
            "can1",
            "--tap",
            "can2",
            "--receive",
            "can4",
            "--wire-log",
            "out/wire.log",
            "--wire-bitrate",
            "500k",
        ],
        frames: Some(10000),
        further: (further, further),
        gateways: &["kernel"],
        wire_adapters,
        module_parameters: &[],
        shift: 0,
    })
}

/// The time within `can_send()`, by the command of that name.
const fn can_send(topology: Topology, words: &'static [&'static str], of_paper: u32) -> How {
    How::Method(Method {
        topology,
        words,
        frames: Some(of_paper),
        further: (&[], &[]),
        gateways: &[],
        wire_adapters: &[],
        module_parameters: &[],
        shift: 0,
    })
}

impl Measurement {
    /// What the commands of a method have said.
    pub(super) fn of_method(folder: &Path, extent: Extent) -> Self {
        let said =
            extent.kernels.iter().filter_map(|kernel| Some(((*kernel).to_owned(), answer(folder, extent, kernel)?)));
        Self { said: said.collect(), ..Self::default() }
    }

    /// Of a folder that `candor-lab measure` has filled.
    pub(super) fn read(folder: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let (results, plan) = status_table::open(folder)?;
        let found = status_table::find_all(&plan, &results)?;
        let cells = status_table::read(&found)?;
        let records = found.into_iter().filter_map(|cell| Some((cell.name, cell.record?))).collect();
        Ok(Self { cells, records, said: BTreeMap::new() })
    }

    /// The cell with these levels, and otherwise those of the first cell of the plan, if it can be believed. A cell that is
    /// invalid has figures, but they are not of the gateway.
    pub(super) fn cell(&self, levels: Levels, kernel: Option<&str>) -> Option<&Cell> {
        self.whatever(levels, kernel).filter(|cell| cell.state == Some(State::Ok))
    }

    /// The same, whether it can be believed or not.
    pub(super) fn whatever(&self, levels: Levels, kernel: Option<&str>) -> Option<&Cell> {
        let first = self.cells.first()?;
        let wanted = |factor: &str| {
            let named = levels.iter().find(|(known, _)| *known == factor).map(|(_, level)| *level);
            let kernel = kernel.filter(|_| factor == "kernel");
            named.or(kernel).unwrap_or_else(|| first.level(factor))
        };
        self.cells.iter().find(|cell| cell.levels.iter().all(|(factor, level)| level == wanted(factor)))
    }

    /// The record of a cell, if it has one.
    pub(super) fn record(&self, cell: &Cell) -> Option<&Path> {
        self.records.get(&cell.name).map(PathBuf::as_path)
    }

    /// Of a plan of which nothing has been measured.
    #[cfg(test)]
    pub(super) fn planned(plan: &Plan) -> Self {
        let cell = |cell: &experiment::Cell| Cell {
            name: cell.name(plan),
            levels: cell.levels().map(|(factor, level)| (factor.to_owned(), level)).into(),
            state: None,
            measured: None,
        };
        Self { cells: plan.cells().iter().map(cell).collect(), ..Self::default() }
    }

    pub(super) fn said(&self, kernel: Option<&str>) -> Option<&Value> {
        self.said.get(kernel?)
    }

    /// Cells that are ok, invalid, failed, and missing.
    pub(super) fn states(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for cell in &self.cells {
            let at = match &cell.state {
                Some(State::Invalid(_)) => 1,
                Some(State::Failed(_)) => 2,
                Some(_) => 0,
                None => 3,
            };
            counts[at] += 1;
        }
        counts
    }
}
