//! What candor adds to the bare system calls of its engines: the table of `docs/engines.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;

use crate::lab::{self, FramesFrom, Laboratory, Series};
use crate::static_build;

/// Engines that wait for frames. Those that send through a ring only need an echo on the cards.
const WAITING: [&str; 10] = [
    "mmap-write",
    "mmap-adaptive",
    "mmap-mmsg",
    "mmap-mmap",
    "read-write",
    "readbusy-write",
    "mmsg-write",
    "mmsg-mmsg",
    "uring-write",
    "uring-uring",
];

/// Engines that never wait.
const SPINNING: [&str; 4] = ["mmapbusy-write", "mmapbusy-adaptive", "mmapbusy-mmap", "readnb-write"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Frames for each gateway.
    #[arg(long, default_value_t = 400)]
    frames: u32,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
}

/// A pair of buses in the guest.
struct Topology {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    /// Whether nobody hears what is sent without echo.
    is_virtual: bool,
}

const TOPOLOGIES: [Topology; 2] = [
    Topology { name: "kvaser", from: "can2", to: "can3", is_virtual: false },
    Topology { name: "vcan", from: "vcan0", to: "vcan1", is_virtual: true },
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let laboratory = Laboratory { candor: &candor, kernel: args.kernel.as_deref(), frames: args.frames };
    for topology in &TOPOLOGIES {
        let mut text = format!(
            "{}\n\n| engine | candor p50 | p99 | bare calls p50 | p99 | candor ÷ bare | can-gw p50 | p99 | candor ÷ can-gw |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            topology.name
        );
        for (from, engines) in [(FramesFrom::Call, &WAITING[..]), (FramesFrom::Timer, &SPINNING[..])] {
            rows(&mut text, topology, engines, &measure(laboratory, topology, from, engines)?)?;
        }
        println!("{text}");
    }
    Ok(())
}

/// By the engine that a record names.
fn measure(
    laboratory: Laboratory<'_>,
    topology: &Topology,
    from: FramesFrom,
    engines: &[&str],
) -> anyhow::Result<BTreeMap<String, Series>> {
    let folder = lab::folder("floors")?;
    let mut files = Vec::new();
    for engine in std::iter::once(&"kernel").chain(engines).filter(|engine| topology.has(engine)) {
        files.push(lab::write(&folder, engine, &topology.gateway(engine))?);
    }
    let arguments = ["--topology", topology.name, "--floors"];
    let all = laboratory.measure(from, folder.join("records").as_str(), &files, &arguments)?;
    Ok(all.into_iter().map(|series| (series.engine.clone(), series)).collect())
}

fn rows(
    text: &mut String,
    topology: &Topology,
    engines: &[&str],
    all: &BTreeMap<String, Series>,
) -> anyhow::Result<()> {
    let find = |engine: &str| all.get(engine).with_context(|| format!("{engine} was not measured"));
    let ratio = |one: &Series, base: &Series| one.p50 as f64 / base.p50 as f64;
    let kernel = find("kernel")?;
    for engine in engines.iter().filter(|engine| topology.has(engine)) {
        let (candor, bare) = (find(engine)?, find(&format!("floor of {engine}"))?);
        writeln!(
            text,
            "| `{engine}` | {} | {} | {} | {} | {:.3} | {} | {} | {:.2} |",
            candor.p50,
            candor.p99,
            bare.p50,
            bare.p99,
            ratio(candor, bare),
            kernel.p50,
            kernel.p99,
            ratio(candor, kernel)
        )?;
    }
    Ok(())
}

impl Topology {
    /// Virtual interfaces do not echo what a ring sends, and nobody hears it there.
    fn has(&self, engine: &str) -> bool {
        !(self.is_virtual && sends_by_ring(engine))
    }

    /// One rule.
    fn gateway(&self, engine: &str) -> String {
        let echo = self.is_virtual || sends_by_ring(engine);
        lab::one_rule(engine, self.from, self.to, echo)
    }
}

fn sends_by_ring(engine: &str) -> bool {
    engine.ends_with("-mmap")
}
