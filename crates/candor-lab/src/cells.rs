//! What the host asks of a guest that measures cells of a plan ([`candor_core::experiment`]), and what the guest says of them.
//!
//! ```text
//!  host: Plan ─▶ Block ─▶ Order (cells.json) ─▶ guest: candor lab cells ─▶ Said, a line of JSON each; a record for each cell
//! ```

use std::time::Duration;

use candor_core::engine::{Engine, Sender};
use candor_core::experiment::load::Load;
use candor_core::experiment::{Block, Cell, Gateway, Plan, Testbed, Topology};
use serde::{Deserialize, Serialize};

use crate::job;
use crate::kernel;

/// The order as a file in the guest's working directory.
pub const FILE: &str = "cells.json";

/// What a guest is to measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// In this order.
    pub cells: Vec<CellOrder>,
}

/// One cell as the guest has to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellOrder {
    /// The cell's name in the plan, and the stem of its record.
    pub name: String,
    /// Levels of its factors, for the record.
    pub levels: Vec<(String, String)>,
    /// What is measured.
    pub device: Device,
    /// The tester's interfaces.
    pub ends: Ends,
    /// A traffic law, as text.
    pub traffic: String,
    /// A load, as text.
    pub load: String,
    /// The frame, as text.
    pub frame: String,
    /// Frames that count.
    pub frames: u32,
    /// Frames in front of them.
    pub warm_up: u32,
    /// Shortest and longest pause where frames come one at a time.
    pub gap_ns: (u64, u64),
    /// When a frame counts as lost.
    pub lost_after_ns: u64,
    /// Seed of all random times.
    pub seed: u64,
    /// Bit rate that shares of a bus are of.
    pub bits_per_second: u32,
    /// Whether a timer sends the frames that come one at a time, because some gateway of the plan never waits, or some load
    /// leaves nothing of the processor to a tester that comes last.
    pub from_timer: bool,
}

/// What a guest starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// Nothing.
    None,
    /// `candor run` with this gateway file.
    Candor {
        /// Name of the engine.
        engine: String,
        /// The file's text.
        file: String,
    },
    /// `candor lab floor`: the system calls of an engine without rules.
    Bare {
        /// Name of the engine.
        engine: String,
        /// Interfaces.
        from: String,
        /// Interfaces.
        to: String,
        /// Whether local sockets hear what it sends.
        echo: bool,
    },
    /// A program, and what is run in the end.
    Command {
        /// Program and arguments.
        start: Vec<String>,
        /// Program and arguments; empty if nothing is to be run.
        stop: Vec<String>,
    },
}

/// Interfaces of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// The tester sends here.
    pub send: String,
    /// It watches here what came onto the first bus.
    pub monitor: String,
    /// It hears here what comes out.
    pub receive: String,
    /// Whether what comes out is heard as it leaves and not as it arrives: virtual interfaces have no other side.
    pub hears_leaving: bool,
}

/// What a guest says of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The cell.
    pub cell: String,
    /// What has become of it.
    pub state: State,
}

/// What has become of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It has begun.
    Begun,
    /// So many frames have been measured.
    Done(u32),
    /// It was measured.
    Ok,
    /// It was measured, but the record says nothing of the gateway, for this reason.
    Invalid(String),
    /// It could not be measured, for this reason.
    Failed(String),
}

/// A cell that this candor cannot order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// A black box in a guest.
    #[error(
        "An external gateway is not in a guest; it is measured with candor tester, between interfaces of this machine"
    )]
    External,
    /// A ring that nobody hears.
    #[error(
        "The engine {0} sends through a ring that virtual interfaces do not echo, so that the tester would not hear its frames \
         one at a time; measure it with topology = \"kvaser\", or exclude the cell"
    )]
    Unheard(Engine),
}

impl Order {
    /// Of a block.
    ///
    /// # Errors
    /// [`OrderError`] of the first cell that cannot be ordered.
    pub fn of(plan: &Plan, block: &Block<'_>) -> Result<Self, OrderError> {
        // All cells of a plan alike, or they could not be compared.
        let is_busy = |cell: &Cell| cell.load != Load::None || spins(plan.gateway(cell));
        let from_timer = plan.cells().iter().any(is_busy);
        let cells = block.cells.iter().map(|cell| CellOrder::of(plan, cell, from_timer)).collect::<Result<_, _>>()?;
        Ok(Self { cells })
    }
}

impl CellOrder {
    fn of(plan: &Plan, cell: &Cell, from_timer: bool) -> Result<Self, OrderError> {
        let gateway = plan.gateway(cell);
        let device = match gateway {
            Gateway::None => Device::None,
            Gateway::External => return Err(OrderError::External),
            Gateway::Command { start, stop } => {
                let (from, to) = between(cell.place.topology);
                let filled = |words: &[String]| {
                    words.iter().map(|word| word.replace("{from}", from).replace("{to}", to)).collect()
                };
                Device::Command { start: filled(start), stop: filled(stop) }
            }
            Gateway::Bare(engine) => {
                let (from, to) = between(cell.place.topology);
                hears(Engine::User(*engine), cell)?;
                Device::Bare {
                    engine: engine.name().to_owned(),
                    from: from.to_owned(),
                    to: to.to_owned(),
                    echo: echo(Engine::User(*engine), cell.place.topology),
                }
            }
            Gateway::Candor(engine) => {
                let echo = echo(*engine, cell.place.topology);
                hears(*engine, cell)?;
                let file = plan.rules(cell).gateway_file(*engine, between(cell.place.topology), echo, &cell.frame);
                Device::Candor { engine: engine.name().to_owned(), file }
            }
        };
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self {
            name: cell.name(plan),
            levels: cell.levels().map(|(factor, level)| (factor.to_owned(), level)).into(),
            device,
            ends: Ends::of(cell.place.topology, *gateway == Gateway::None),
            traffic: cell.traffic.to_string(),
            load: cell.load.to_string(),
            frame: cell.frame.to_string(),
            frames: plan.frames,
            warm_up: plan.warm_up,
            gap_ns: (nanoseconds(plan.gap.0), nanoseconds(plan.gap.1)),
            lost_after_ns: nanoseconds(plan.lost_after),
            // Repeats differ in their pauses, or in icount they would differ in nothing but their neighbours.
            seed: plan.seed.wrapping_add(u64::from(cell.repeat) - 1),
            bits_per_second: plan.bitrate.bits_per_second(),
            from_timer,
        })
    }
}

impl Ends {
    fn of(topology: Topology, is_null: bool) -> Self {
        let (send, monitor, receive) = match (topology, is_null) {
            (Topology::Vcan, false) => ("vcan0", "vcan0", "vcan1"),
            (Topology::Vcan, true) => ("vcan0", "vcan0", "vcan0"),
            (Topology::Kvaser | Topology::Wire, false) => ("can0", "can1", "can4"),
            // The interface of the gateway that is not there.
            (Topology::Kvaser | Topology::Wire, true) => ("can0", "can1", "can2"),
        };
        let hears_leaving = topology == Topology::Vcan && !is_null;
        Self { send: send.to_owned(), monitor: monitor.to_owned(), receive: receive.to_owned(), hears_leaving }
    }
}

/// Interfaces of the gateway.
const fn between(topology: Topology) -> (&'static str, &'static str) {
    match topology {
        Topology::Vcan => ("vcan0", "vcan1"),
        Topology::Kvaser | Topology::Wire => ("can2", "can3"),
    }
}

/// Whether the tester hears what the engine sends.
fn hears(engine: Engine, cell: &Cell) -> Result<(), OrderError> {
    let rings_only = matches!(engine, Engine::User(engine) if engine.sender() == Sender::Mmap);
    if rings_only && cell.place.topology == Topology::Vcan && cell.traffic.is_closed_loop() {
        return Err(OrderError::Unheard(engine));
    }
    Ok(())
}

/// Frames between virtual interfaces are heard only with echo. Rings echo what their driver echoes, whatever one asks for.
fn echo(engine: Engine, topology: Topology) -> bool {
    let may_send_by_ring = matches!(engine, Engine::User(engine) if engine.sender().has_ring());
    match topology {
        Topology::Vcan => !matches!(engine, Engine::User(engine) if engine.sender() == Sender::Mmap),
        Topology::Kvaser | Topology::Wire => may_send_by_ring,
    }
}

/// Whether it takes a whole processor.
fn spins(gateway: &Gateway) -> bool {
    matches!(gateway, Gateway::Candor(Engine::User(engine)) | Gateway::Bare(engine) if engine.receiver().spins())
}

/// The laboratory of a place.
#[must_use]
pub const fn testbed(testbed: Testbed) -> kernel::Testbed {
    match testbed {
        Testbed::Icount => kernel::Testbed::Icount,
        Testbed::Uml => kernel::Testbed::Uml,
    }
}

/// The interfaces of a place.
#[must_use]
pub const fn topology(topology: Topology) -> job::Topology {
    match topology {
        Topology::Vcan => job::Topology::Vcan,
        Topology::Kvaser => job::Topology::Kvaser,
        Topology::Wire => job::Topology::Wire,
    }
}

/// Programs of this machine that the cells of a block need in their guest.
#[must_use]
pub fn programs(order: &Order) -> Vec<String> {
    let mut programs = Vec::new();
    for cell in &order.cells {
        if let Device::Command { start, stop } = &cell.device {
            programs.extend([start, stop].into_iter().filter_map(|words| words.first()).cloned());
        }
    }
    programs.sort();
    programs.dedup();
    // Every guest has it, and no other may come in its place.
    programs.retain(|program| program != "candor");
    programs
}

#[cfg(test)]
mod tests {
    use candor_core::experiment::{Available, load};

    use super::*;

    fn plan(text: &str) -> Plan {
        load(text.as_bytes(), Available::default()).unwrap_or_else(|wrong| panic!("{wrong:?}")).plan
    }

    #[test]
    fn a_block_becomes_an_order() {
        let plan = plan(
            "frames = 10\n[factor]\ngateway = [\"none\", \"read-write\", \"x\"]\ntopology = [\"kvaser\"]\n\
             [gateway.x]\ncommand = [\"cangw\", \"-s\", \"{from}\"]\n",
        );
        let [block] = &plan.blocks()[..] else { panic!("three cells fit into one") };
        let order = Order::of(&plan, block).unwrap();
        let of = |level: &str| {
            order.cells.iter().find(|cell| cell.levels.contains(&("gateway".to_owned(), level.to_owned()))).unwrap()
        };
        assert_eq!(of("none").ends.receive, "can2");
        let start = ["cangw", "-s", "can2"].map(str::to_owned).into();
        assert_eq!(of("x").device, Device::Command { start, stop: Vec::new() });
        let Device::Candor { engine, file } = &of("read-write").device else { panic!("it is candor") };
        assert!(engine == "read-write" && file.contains("interface = \"can3\""), "{file}");
        assert!(order.cells.iter().all(|cell| !cell.from_timer));
        assert_eq!(programs(&order), ["cangw"]);
        let text = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order);
    }

    #[test]
    fn one_cell_that_leaves_no_processor_decides_for_all() {
        for text in ["[\"kernel\", \"mmapbusy-write\"]\n", "\"kernel\"\nload = [\"none\", \"cpu\"]\n"] {
            let plan = plan(&format!("[factor]\ngateway = {text}"));
            let order = Order::of(&plan, &plan.blocks()[0]).unwrap();
            assert!(order.cells.iter().all(|cell| cell.from_timer));
        }
    }

    #[test]
    fn what_nobody_would_hear_is_refused() {
        let of = |text: &str| {
            let plan = plan(text);
            Order::of(&plan, &plan.blocks()[0]).map(drop)
        };
        assert!(matches!(of("[factor]\ngateway = \"mmap-mmap\"\n"), Err(OrderError::Unheard(_))));
        assert_eq!(of("[factor]\ngateway = \"mmap-mmap\"\ntraffic = \"every 1ms\"\n"), Ok(()));
        assert_eq!(of("[factor]\ngateway = \"mmap-mmap\"\ntopology = \"kvaser\"\n"), Ok(()));
        assert_eq!(of("[factor]\ngateway = \"external\"\n"), Err(OrderError::External));
    }
}
