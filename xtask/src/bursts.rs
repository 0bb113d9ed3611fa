//! Bursts of frames through all engines, and through 16 buses: tables of `docs/engines.md`.

use cargo_metadata::camino::Utf8PathBuf;
use serde_json::Value;

use crate::lab::{self, Guest};
use crate::static_build;

/// can-gw, then the engines of the 2014 report and those that came since.
const ENGINES: [&str; 16] = [
    "kernel",
    "mmap-adaptive",
    "mmap-mmap",
    "mmap-mmsg",
    "mmap-write",
    "read-write",
    "readbusy-write",
    "mmsg-mmsg",
    "mmsg-write",
    "uring-uring",
    "uring-write",
    "mmapbusy-adaptive",
    "mmapbusy-mmap",
    "mmapbusy-write",
    "readnb-mmap",
    "readnb-write",
];

/// Frames of a burst.
const SIZES: [u16; 4] = [1, 4, 16, 64];

/// Frames on each of many buses at once: all together stay below the 1000 that the kernel keeps for a processor
/// (`net.core.netdev_max_backlog`).
const SIZES_OF_MANY: [u16; 3] = [1, 4, 16];

/// Buses of the large gateway, in a ring: each leads to the next. So many routes lead from each.
const BUSES: usize = 16;
const ROUTES_PER_BUS: usize = 2;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Bursts of each size for each gateway.
    #[arg(long, default_value_t = 400)]
    bursts: u32,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long)]
    kernel: Option<String>,
    /// Tables to make.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "vcan,kvaser,buses")]
    tables: Vec<Table>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Table {
    /// All engines between two virtual interfaces.
    Vcan,
    /// All engines between two buses of emulated cards.
    Kvaser,
    /// One bus and 16.
    Buses,
}

/// Interfaces between which all engines are measured.
struct Wiring {
    topology: &'static str,
    way: &'static str,
    from: &'static str,
    to: &'static str,
    /// Controllers echo what a ring sends, virtual interfaces do not.
    ring_echoes: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let candor = static_build::lab()?;
    let guest =
        |topology| Guest { candor: &candor, kernel: args.kernel.as_deref(), topology, shift: 0, timeout: "60min" };
    for table in &args.tables {
        let wiring = match table {
            Table::Vcan => {
                Wiring { topology: "vcan", way: "vcan0:vcan1", from: "vcan0", to: "vcan1", ring_echoes: false }
            }
            Table::Kvaser => {
                Wiring { topology: "kvaser", way: "can0:can2:can3", from: "can2", to: "can3", ring_echoes: true }
            }
            Table::Buses => {
                one_and_many(guest("vcan"), args.bursts)?;
                continue;
            }
        };
        all_engines(guest(wiring.topology), &wiring, args.bursts)?;
    }
    Ok(())
}

fn all_engines(guest: Guest<'_>, wiring: &Wiring, bursts: u32) -> anyhow::Result<()> {
    let folder = lab::folder("bursts")?;
    let echo = |engine: &str| wiring.ring_echoes && lab::may_send_by_ring(engine);
    let file =
        |engine: &&str| lab::write(&folder, engine, &lab::one_rule(engine, wiring.from, wiring.to, echo(engine)));
    let files = ENGINES.iter().map(file).collect::<anyhow::Result<Vec<_>>>()?;
    let ways = [wiring.way.to_owned()];
    let measured = measure(guest, &files, (bursts, &SIZES), &ways, &["--single", "--baselines"])?;
    println!("{}", wiring.topology);
    let result = lab::write_result(&folder, wiring.topology, &measured)?;
    lab::figure(guest.candor, "bursts", &[result], None)
}

fn one_and_many(guest: Guest<'_>, bursts: u32) -> anyhow::Result<()> {
    let folder = lab::folder("bursts")?;
    let mut results = Vec::new();
    for engine in ["mmap-adaptive", "read-write"] {
        for buses in [1, BUSES] {
            let name = format!("ring-{engine}-{buses}");
            let file = lab::write(&folder, &name, &ring(engine, buses))?;
            let measured = measure(guest, &[file], (bursts, &SIZES_OF_MANY), &ways(buses), &["--create"])?;
            results.push(lab::write_result(&folder, &name, &measured)?);
        }
    }
    lab::figure(guest.candor, "buses", &results, None)
}

fn measure(
    guest: Guest<'_>,
    files: &[Utf8PathBuf],
    (bursts, sizes): (u32, &[u16]),
    ways: &[String],
    further: &[&str],
) -> anyhow::Result<Value> {
    let sizes: Vec<_> = sizes.iter().map(u16::to_string).collect();
    let mut arguments: Vec<String> = ["bursts", "--bursts"].map(str::to_owned).into();
    arguments.extend([bursts.to_string(), "--sizes".to_owned(), sizes.join(",")]);
    arguments.extend(ways.iter().flat_map(|way| ["--way".to_owned(), way.clone()]));
    arguments.extend(further.iter().map(|word| (*word).to_owned()));
    let (measured, is_whole) = guest.json(files, &arguments)?;
    anyhow::ensure!(is_whole, "frames were lost or out of order: {measured}");
    Ok(measured)
}

/// Each bus to the next, and the last to the first, by routes of which the last one takes the frame.
fn ring(engine: &str, buses: usize) -> String {
    let mut file = format!("engine = \"{engine}\"\n");
    let mut add = |text: String| file += &text;
    // A ring of one bus would be none: it leads to a second one.
    (0..buses.max(2)).for_each(|bus| add(format!("[bus.b{bus}]\ninterface = \"vcan{bus}\"\n")));
    for bus in 0..buses {
        for route in 0..ROUTES_PER_BUS {
            let (next, id) = (next(bus, buses), 0x123 + ROUTES_PER_BUS - 1 - route);
            add(format!(
                "[[route]]\nname = \"r{bus}-{route}\"\nfrom = \"b{bus}\"\nto = \"b{next}\"\nmatch = \"{id:03X}\"\n"
            ));
        }
    }
    file
}

fn ways(buses: usize) -> Vec<String> {
    (0..buses).map(|bus| format!("vcan{bus}:vcan{}", next(bus, buses))).collect()
}

const fn next(bus: usize, buses: usize) -> usize {
    if buses == 1 { 1 } else { (bus + 1) % buses }
}
