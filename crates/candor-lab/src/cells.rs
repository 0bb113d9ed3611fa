//! Protocol between the host and a guest that measures cells of a plan ([`crate::experiment`]).
//!
//! ```text
//!  host: Plan ─▶ Block ─▶ Order (cells.json) ─▶ guest: candor-lab cells ─▶ Said as lines of JSON; one record per cell
//! ```
//!
//! Without a guest, the order goes to a process on this machine, and a [supervisor](crate::supervisor) runs the gateway.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_config::engine::{Engine, Sender};
use candor_config::plan::Echo;
use candor_core::units::BitRate;
use serde::{Deserialize, Serialize};

use crate::arch::Arch;
use crate::device::OWN_PROGRAMS;
use crate::experiment::load::Load;
use crate::experiment::traffic::Traffic;
use crate::experiment::{
    Bench, Block, Cell, Conditions, DATABASE, Gateway, Plan, StampSource, Testbed, Topology, Wire,
};
use crate::guest::GuestSpec;
use crate::{device, job, kernel};

/// Name of the order in the guest's working directory.
pub const FILE: &str = "cells.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub cells: Vec<CellOrder>,
    /// Logs to replay, by the file names in the traffic of cells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub logs: BTreeMap<String, String>,
    /// Keep a second processor for gateways without an operating system.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bare_metal: bool,
    /// Starts gateways and loads. `None`: the measuring process does, which is right if all processes end with the
    /// guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<SupervisorOrder>,
    /// Keep the addresses of all functions, for a [profile](crate::profile).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub addresses: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorOrder {
    pub command: Vec<String>,
    /// Name for ssh; `None` for this machine.
    pub machine: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellOrder {
    /// Name in the plan, and stem of the record.
    pub name: String,
    /// Factors and their levels, for the record.
    pub levels: Vec<(String, String)>,
    pub device: Device,
    pub ends: Ends,
    pub traffic: String,
    pub load: String,
    pub frame: String,
    pub frames: u32,
    /// Frames before those that count.
    pub warm_up: u32,
    /// Shortest and longest pause between single frames.
    pub gap_ns: (u64, u64),
    pub lost_after_ns: u64,
    pub seed: u64,
    /// Bit rates of the sending bus. Bus loads in percent refer to it.
    pub bus: BitsPerSecond,
    /// True if a timer sends single frames, because a gateway of the plan never sleeps or has a processor of its own, or a load
    /// leaves no CPU time to the tester.
    pub from_timer: bool,
    /// Bit rates of the second bus if the time on the wire is to be subtracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<BitsPerSecond>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stages: bool,
    /// Use the receive stamps of the adapter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hardware_stamps: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitsPerSecond(u32, Option<u32>);

impl From<Wire> for BitsPerSecond {
    fn from(wire: Wire) -> Self {
        Self(wire.nominal.bits_per_second(), wire.data.map(BitRate::bits_per_second))
    }
}

impl BitsPerSecond {
    /// `None` if a rate is 0.
    pub fn wire(self) -> Option<Wire> {
        let data = self.1.map(|data| BitRate::from_bits_per_second(data).ok_or(())).transpose().ok()?;
        Some(Wire { nominal: BitRate::from_bits_per_second(self.0)?, data })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    None,
    /// A black box that runs already.
    External,
    /// `candor run` with this gateway file.
    Candor {
        engine: String,
        file: String,
        /// The database that the file names, as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        database: Option<String>,
    },
    /// `candor-lab baseline`.
    #[serde(rename = "bare")]
    Baseline {
        engine: String,
        from: String,
        to: String,
        /// True if local sockets receive what it sends.
        echo: bool,
    },
    /// `candor-lab bare-metal` with this gateway file.
    BareMetal {
        file: String,
    },
    Command {
        start: Vec<String>,
        /// Empty if there is nothing to run at the end.
        stop: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    pub send: String,
    pub monitor: String,
    pub receive: String,
    /// True if frames are stamped when `receive` sends them, because a virtual interface has no other end.
    pub hears_leaving: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub cell: String,
    pub state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Begun,
    Done(u32),
    Ok,
    /// Measured, but the record says nothing about the gateway; with the reason.
    Invalid(String),
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    #[error(
        "The engine {0} sends without echo on virtual interfaces, so the tester would not receive its frames one at a time; \
         measure it with topology = \"kvaser\" or another interface on the second bus, or exclude the cell"
    )]
    NoEcho(Engine),
}

impl Order {
    pub fn of(plan: &Plan, block: &Block<'_>) -> Result<Self, OrderError> {
        // The same for all cells of a plan, so that they can be compared.
        let is_busy = |cell: &Cell| cell.load != Load::None || needs_timer(plan.gateway(cell));
        let from_timer = plan.cells().iter().any(is_busy);
        let cells = block.cells.iter().map(|cell| CellOrder::of(plan, cell, from_timer)).collect::<Result<_, _>>()?;
        let logs = block.cells.iter().filter_map(|cell| match &cell.traffic {
            Traffic::Replay { file, .. } => Some((file.clone(), plan.logs.get(file)?.text.clone())),
            _ => None,
        });
        // For all kernels alike, where it is possible.
        let has_cards = cells_have_cards(block);
        let bare_metal = has_cards && plan.cells().iter().any(|cell| *plan.gateway(cell) == Gateway::BareMetal);
        Ok(Self { logs: logs.collect(), cells, bare_metal, supervisor: None, addresses: false })
    }
}

impl Order {
    /// Makes it the work of a guest, whose records are those of the cells.
    pub fn give_to(&self, spec: &mut GuestSpec) -> serde_json::Result<()> {
        spec.command = ["candor-lab", "cells", FILE, "--records", job::OUT].map(str::to_owned).into();
        spec.files.push((format!("{}/{FILE}", job::HOME), serde_json::to_vec(self)?));
        Ok(())
    }
}

impl CellOrder {
    fn of(plan: &Plan, cell: &Cell, from_timer: bool) -> Result<Self, OrderError> {
        let gateway = plan.gateway(cell);
        let interfaces = Interfaces::of(plan, cell);
        let between = interfaces.between;
        let device = match gateway {
            Gateway::None => Device::None,
            Gateway::External => Device::External,
            Gateway::Command { start, stop } => {
                let (from, to) = between;
                let filled = |words: &[String]| {
                    words.iter().map(|word| word.replace("{from}", from).replace("{to}", to)).collect()
                };
                Device::Command { start: filled(start), stop: filled(stop) }
            }
            Gateway::Baseline(engine) => {
                interfaces.check_echo(Engine::User(*engine), cell)?;
                Device::Baseline {
                    engine: engine.name().to_owned(),
                    from: between.0.to_owned(),
                    to: between.1.to_owned(),
                    echo: interfaces.echo(Engine::User(*engine)),
                }
            }
            Gateway::BareMetal => {
                // The engine of the file does not matter.
                let file = plan.rules(cell).gateway_file(Engine::Kernel, between, false, &cell.frame);
                Device::BareMetal { file }
            }
            Gateway::Candor(engine) => {
                interfaces.check_echo(*engine, cell)?;
                let rules = plan.rules(cell);
                let file = rules.gateway_file(*engine, between, interfaces.echo(*engine), &cell.frame);
                Device::Candor { engine: engine.name().to_owned(), file, database: rules.database.clone() }
            }
        };
        let of_bench = plan.bench.as_ref().and_then(|bench| bench.wire).filter(|_| !cell.conditions.testbed.is_guest());
        let played = (cell.conditions.topology == Topology::Wire).then_some(job::WIRE);
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self {
            name: cell.name(plan),
            levels: cell.levels().map(|(factor, level)| (factor.to_owned(), level)).into(),
            device,
            ends: interfaces.ends(),
            traffic: cell.traffic.to_string(),
            load: cell.load.to_string(),
            frame: cell.frame.to_string(),
            frames: plan.frames,
            warm_up: plan.warm_up,
            gap_ns: (nanoseconds(plan.gap.0), nanoseconds(plan.gap.1)),
            lost_after_ns: nanoseconds(plan.lost_after),
            // With one seed, repeats in icount would be identical.
            seed: plan.seed.wrapping_add(u64::from(cell.repeat) - 1),
            bus: played.unwrap_or(Wire { nominal: plan.bitrate, data: None }).into(),
            from_timer,
            wire: of_bench.or(played).map(BitsPerSecond::from),
            stages: plan.stages,
            hardware_stamps: plan.stamps == StampSource::Hardware,
        })
    }
}

impl Device {
    /// The command line of the device; a gateway file is written to `folder`.
    pub fn gateway(&self, folder: &Path, name: &str) -> Result<Option<device::Gateway>, String> {
        match self {
            Self::None | Self::External => Ok(None),
            Self::Candor { engine, file, database } => {
                if let Some(database) = database {
                    write_to(&folder.join(DATABASE), database)?;
                }
                Ok(Some(device::Gateway::of_file(&written(folder, name, file)?).called(engine)))
            }
            Self::BareMetal { file } => Ok(Some(device::Gateway::bare_metal(&written(folder, name, file)?))),
            Self::Baseline { engine, from, to, echo } => {
                let engine = Engine::named(engine).and_then(Engine::of_user_space).ok_or("Unknown engine")?;
                Ok(Some(device::Gateway::baseline(engine, from, to, if *echo { Echo::On } else { Echo::Off })))
            }
            Self::Command { start, stop } => Ok(Some(device::Gateway::of_command(start, stop))),
        }
    }
}

/// Writes a gateway file.
fn written(folder: &Path, name: &str, file: &str) -> Result<PathBuf, String> {
    let path = folder.join(format!("{name}.toml"));
    write_to(&path, file)?;
    Ok(path)
}

fn write_to(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("Cannot write {}: {error}", path.display()))
}

/// `None` if cells run without a guest.
pub const fn testbed(testbed: Testbed) -> Option<kernel::Testbed> {
    match testbed {
        Testbed::Icount => Some(kernel::Testbed::Icount),
        Testbed::Uml => Some(kernel::Testbed::Uml),
        Testbed::Host | Testbed::Ssh => None,
    }
}

/// `None` if cells run without a guest.
pub const fn topology(topology: Topology) -> Option<job::Topology> {
    match topology {
        Topology::Vcan => Some(job::Topology::Vcan),
        Topology::Kvaser => Some(job::Topology::Kvaser),
        Topology::Wire => Some(job::Topology::Wire),
        Topology::Bench => None,
    }
}

/// Programs of this machine that the cells need in their guest.
pub fn programs(order: &Order) -> Vec<String> {
    let mut programs = Vec::new();
    for cell in &order.cells {
        if let Device::Command { start, stop } = &cell.device {
            programs.extend([start, stop].into_iter().filter_map(|words| words.first()).cloned());
        }
    }
    programs.sort();
    programs.dedup();
    programs.retain(|program| !OWN_PROGRAMS.contains(&program.as_str()));
    programs
}

/// Interfaces of a cell: the tester's and the gateway's.
#[derive(Clone, Copy, Debug)]
struct Interfaces<'a> {
    send: &'a str,
    monitor: &'a str,
    receive: &'a str,
    between: (&'a str, &'a str),
    /// True if outgoing frames are received on the interface that sends them.
    hears_own: bool,
}

impl<'a> Interfaces<'a> {
    fn of(plan: &'a Plan, cell: &Cell) -> Self {
        let is_null = *plan.gateway(cell) == Gateway::None;
        match (cell.conditions.topology, &plan.bench) {
            (Topology::Bench, Some(bench)) => Self::of_bench(bench, cell.conditions.testbed, plan.gateway(cell)),
            // Plans without a bench have no such cell.
            (Topology::Vcan | Topology::Bench, _) => Self {
                send: "vcan0",
                monitor: "vcan0",
                receive: if is_null { "vcan0" } else { "vcan1" },
                between: ("vcan0", "vcan1"),
                hears_own: !is_null,
            },
            (Topology::Kvaser | Topology::Wire, _) => Self {
                send: "can0",
                monitor: "can1",
                // The gateway's, which is unused.
                receive: if is_null { "can2" } else { "can4" },
                between: ("can2", "can3"),
                hears_own: false,
            },
        }
    }

    fn of_bench(bench: &'a Bench, testbed: Testbed, gateway: &Gateway) -> Self {
        Self {
            send: &bench.send,
            monitor: &bench.monitor,
            receive: bench.far(testbed, gateway),
            between: bench.gateway.as_ref().map_or(("", ""), |(from, to)| (from.as_str(), to.as_str())),
            hears_own: bench.hears_own(testbed, gateway),
        }
    }

    fn ends(&self) -> Ends {
        let [send, monitor, receive] = [self.send, self.monitor, self.receive].map(str::to_owned);
        Ends { send, monitor, receive, hears_leaving: self.hears_own }
    }

    /// Fails if the tester cannot receive what the engine sends.
    fn check_echo(&self, engine: Engine, cell: &Cell) -> Result<(), OrderError> {
        let rings_only = matches!(engine, Engine::User(engine) if engine.sender() == Sender::Mmap);
        if (rings_only || engine == Engine::Bpf) && self.hears_own && cell.traffic.is_closed_loop() {
            return Err(OrderError::NoEcho(engine));
        }
        Ok(())
    }

    /// True if the route needs an echo. A ring echoes as its driver does, regardless of `echo`.
    fn echo(&self, engine: Engine) -> bool {
        if self.hears_own {
            return !matches!(engine, Engine::User(engine) if engine.sender() == Sender::Mmap) && engine != Engine::Bpf;
        }
        matches!(engine, Engine::User(engine) if engine.sender().has_ring())
    }
}

fn cells_have_cards(block: &Block<'_>) -> bool {
    let Conditions { testbed, arch, topology, .. } = block.conditions;
    (*testbed, *topology) == (Testbed::Icount, Topology::Kvaser) && arch.unwrap_or_default() == Arch::X86_64
}

/// True if the gateway would be measured together with what the tester does after sending: it never waits, or its processor runs
/// only while the tester's is idle.
fn needs_timer(gateway: &Gateway) -> bool {
    *gateway == Gateway::BareMetal
        || matches!(gateway, Gateway::Candor(Engine::User(engine)) | Gateway::Baseline(engine) if engine.receiver().spins())
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Available, load};

    use super::*;

    fn plan(text: &str) -> Plan {
        load(text.as_bytes(), Available::default()).unwrap_or_else(|wrong| panic!("{wrong:?}")).plan
    }

    /// The order of the first block.
    fn order(text: &str) -> Result<Order, OrderError> {
        let plan = plan(text);
        Order::of(&plan, &plan.blocks()[0])
    }

    /// The cells of all blocks.
    fn cells(text: &str) -> Vec<CellOrder> {
        let plan = plan(text);
        plan.blocks().iter().flat_map(|block| Order::of(&plan, block).unwrap().cells).collect()
    }

    fn with<'a>(cells: &'a [CellOrder], factor: &str, level: &str) -> &'a CellOrder {
        cells.iter().find(|cell| cell.levels.contains(&(factor.to_owned(), level.to_owned()))).unwrap()
    }

    #[test]
    fn block_becomes_an_order() {
        let plan = plan(
            "frames = 10\n[factor]\ngateway = [\"none\", \"read-write\", \"x\"]\ntopology = [\"kvaser\"]\n\
             [gateway.x]\ncommand = [\"cangw\", \"-s\", \"{from}\"]\n",
        );
        let [block] = &plan.blocks()[..] else { panic!("three cells fit into one") };
        let order = Order::of(&plan, block).unwrap();
        let of = |level| with(&order.cells, "gateway", level);
        assert_eq!(of("none").ends.receive, "can2");
        let start = ["cangw", "-s", "can2"].map(str::to_owned).into();
        assert_eq!(of("x").device, Device::Command { start, stop: Vec::new() });
        let Device::Candor { engine, file, .. } = &of("read-write").device else { panic!("it is candor") };
        assert!(engine == "read-write" && file.contains("interface = \"can3\""), "{file}");
        assert!(order.cells.iter().all(|cell| !cell.from_timer));
        assert_eq!(programs(&order), ["cangw"]);
        let text = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order);
    }

    #[test]
    fn one_busy_cell_selects_the_timer_for_all() {
        for text in ["[\"kernel\", \"mmapbusy-write\"]\n", "\"kernel\"\nload = [\"none\", \"cpu\"]\n"] {
            let order = order(&format!("[factor]\ngateway = {text}")).unwrap();
            assert!(order.cells.iter().all(|cell| cell.from_timer));
        }
    }

    #[test]
    fn engines_without_echo_are_refused() {
        let of = |text: &str| order(text).map(drop);
        assert!(matches!(of("[factor]\ngateway = \"mmap-mmap\"\n"), Err(OrderError::NoEcho(_))));
        assert_eq!(of("[factor]\ngateway = \"mmap-mmap\"\ntraffic = \"every 1ms\"\n"), Ok(()));
        assert_eq!(of("[factor]\ngateway = \"mmap-mmap\"\ntopology = \"kvaser\"\n"), Ok(()));
        let host = |receive: &str, to: &str| {
            of(&format!(
                "[factor]\ntestbed = \"host\"\ngateway = \"mmap-mmap\"\n[bench]\nsend = \"a\"\nreceive = \"{receive}\"\n\
                 from = \"b\"\nto = \"{to}\"\n"
            ))
        };
        assert!(matches!(host("c", "c"), Err(OrderError::NoEcho(_))));
        assert_eq!(host("d", "c"), Ok(()));
    }

    #[test]
    fn emulated_wire_has_its_own_bit_rates() {
        let cells = cells("bitrate = \"1Mbit/s\"\n[factor]\ngateway = \"kernel\"\ntopology = [\"wire\", \"kvaser\"]\n");
        let (wire, kvaser) = (with(&cells, "topology", "wire"), with(&cells, "topology", "kvaser"));
        assert_eq!((wire.bus.wire(), wire.wire), (Some(job::WIRE), Some(job::WIRE.into())));
        assert_eq!((kvaser.bus, kvaser.wire), (BitsPerSecond(1_000_000, None), None));
        for bus in job::WIRE_BUSES {
            assert!(bus.contains(":500k/2M:"), "{bus} has the rates of job::WIRE");
        }
        assert_eq!(BitsPerSecond(0, None).wire(), None);
    }

    #[test]
    fn plan_selects_hardware_stamps() {
        let text = "[factor]\ntopology = \"wire\"\ngateway = \"kernel\"\n";
        let of = |text: &str| {
            let order = order(text).unwrap().cells.remove(0);
            (order.hardware_stamps, serde_json::to_string(&order).unwrap().contains("hardware_stamps"))
        };
        assert_eq!(of(text), (false, false));
        assert_eq!(of(&format!("stamps = \"hardware\"\n{text}")), (true, true));
    }

    #[test]
    fn bench_has_its_own_interfaces() {
        let of = |testbed: &str, receive: &str| {
            let cells = cells(&format!(
                "[factor]\ntestbed = \"{testbed}\"\ngateway = [\"none\", \"kernel\"]\n[ssh]\nhost = \"b\"\n[bench]\n\
                 send = \"t0\"\nmonitor = \"t1\"\nreceive = \"{receive}\"\nfrom = \"g0\"\nto = \"g1\"\nwire-bitrate = \"1Mbit/s\"\n"
            ));
            ["none", "kernel"].map(|gateway| with(&cells, "gateway", gateway).clone())
        };
        let [none, kernel] = of("host", "t2");
        assert_eq!((none.ends.receive.as_str(), none.device), ("g0", Device::None));
        assert_eq!((kernel.ends.receive.as_str(), kernel.ends.hears_leaving), ("t2", false));
        assert_eq!(kernel.wire, Some(BitsPerSecond(1_000_000, None)));
        let Device::Candor { file, .. } = &kernel.device else { panic!("it is candor") };
        assert!(file.contains("\"g0\"") && file.contains("\"g1\"") && file.contains("echo = false"), "{file}");
        let [_, own] = of("host", "g1");
        assert!(own.ends.hears_leaving);
        // The gateway's interfaces are on another machine.
        let [none, kernel] = of("ssh", "g1");
        assert_eq!((none.ends.receive.as_str(), kernel.ends.hears_leaving), ("t1", false));
    }
}
