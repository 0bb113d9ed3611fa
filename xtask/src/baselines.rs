//! Engines compared with their system calls without rules: the table of `docs/engines.md`.

use crate::lab::{self, FramesFrom, Laboratory};
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
    /// True if frames sent without echo are not received anywhere.
    is_virtual: bool,
}

const TOPOLOGIES: [Topology; 2] = [
    Topology { name: "kvaser", from: "can2", to: "can3", is_virtual: false },
    Topology { name: "vcan", from: "vcan0", to: "vcan1", is_virtual: true },
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let folder = lab::folder("baselines")?;
    let laboratory = Laboratory { candor: &candor, kernel: args.kernel.as_deref(), frames: args.frames };
    for topology in &TOPOLOGIES {
        let mut results = Vec::new();
        for (from, name, engines) in
            [(FramesFrom::Call, "call", &WAITING[..]), (FramesFrom::Timer, "timer", &SPINNING[..])]
        {
            let mut files = Vec::new();
            for engine in std::iter::once(&"kernel").chain(engines).filter(|engine| topology.has(engine)) {
                files.push(lab::write(&folder, engine, &topology.gateway(engine))?);
            }
            let arguments = ["--topology", topology.name, "--baselines"];
            let measured = laboratory.measure(from, folder.join("records").as_str(), &files, &arguments)?;
            results.push(lab::write_result(&folder, &format!("{}-{name}", topology.name), &measured)?);
        }
        println!("{}\n", topology.name);
        lab::figure(&candor, "baselines", &results, None)?;
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
