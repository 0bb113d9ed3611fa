//! Sixteen buses in one process: all directions at once, rings that wrap around, and what that takes of memory.

use std::time::Duration;

use candor_config::config;
use candor_config::engine::Engine;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_engine::Gateway;
use candor_io::can::CanSocket;
use candor_io::signal::Signal;

use crate::candor::Run;
use crate::frames::{self, classic, listener_on, send};
use crate::kernel::WithVcanEcho;
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const BUSES: usize = 16;
/// What goes over each bus in one direction. Not more at once than the queue of a socket takes.
const ROUNDS: usize = 4;
const AT_ONCE: usize = 16;
const PATIENCE: Duration = Duration::from_secs(20);

/// Every receiver and every sender once at least.
const ENGINES: [&str; 7] =
    ["read-write", "readnb-mmap", "readbusy-mmsg", "mmap-adaptive", "mmapbusy-mmap", "mmsg-write", "uring-uring"];

/// From each bus to the next one as it is, and to the fifth with a byte changed: 32 routes.
fn file() -> String {
    let mut file = String::new();
    for bus in 0..BUSES {
        file += &format!("[bus.b{bus}]\ninterface = \"t-many{bus}\"\n");
    }
    for from in 0..BUSES {
        let (next, fifth) = (next(from), fifth(from));
        let change = "and = { data = \"FFFFFFFFFFFFFF00\" }\nor = { data = \"0000000000000055\" }\n";
        for (to, change) in [(next, ""), (fifth, change)] {
            file += &format!("[[route]]\nname = \"b{from}-b{to}\"\nfrom = \"b{from}\"\nto = \"b{to}\"\necho = true\n");
            file += change;
        }
    }
    file
}

const fn next(bus: usize) -> usize {
    (bus + 1) % BUSES
}

const fn fifth(bus: usize) -> usize {
    (bus + 5) % BUSES
}

fn frame(from: usize, number: usize) -> Frame {
    let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
    classic(0x123, &[u8::try_from(from).unwrap(), high, low, 0, 0, 0, 0, 7])
}

/// The buses, and what sits on them: each node hears all but what it has sent itself.
struct Place {
    nodes: Vec<CanSocket>,
    _buses: Vec<Bus>,
}

impl Place {
    fn new() -> Self {
        let buses: Vec<Bus> = (0..BUSES).map(|bus| Bus::new(&format!("many{bus}"))).collect();
        let nodes = buses.iter().map(|bus| listener_on(bus.index)).collect();
        Self { nodes, _buses: buses }
    }
}

/// The buses with each engine in turn.
fn with_each_engine(mut check: impl FnMut(&str, &[CanSocket], Gateway)) {
    let Some(_machine) = require(NEEDS) else { return };
    let Some(_with) = WithVcanEcho::new() else { return };
    for engine in ENGINES {
        let place = Place::new();
        let plan = config::load(file().as_bytes()).unwrap().plan;
        let gateway = Gateway::start(plan.with_engine(Engine::named(engine).unwrap())).unwrap().0;
        check(engine, &place.nodes, gateway);
    }
}

/// The next frame; `None` if none comes for a long time.
fn hear(node: &CanSocket) -> Option<Frame> {
    frames::hear(node, PATIENCE)
}

#[test]
#[ignore = "runs in a guest"]
fn thirty_two_routes_between_sixteen_buses() {
    with_each_engine(|engine, nodes, gateway| {
        let mut heard = vec![Vec::new(); BUSES];
        for round in 0..ROUNDS {
            for number in 0..AT_ONCE {
                nodes.iter().enumerate().for_each(|(from, node)| send(node, &frame(from, round * AT_ONCE + number)));
            }
            for (node, heard) in nodes.iter().zip(&mut heard) {
                heard.extend((0..2 * AT_ONCE).filter_map(|_frame| hear(node)));
            }
        }
        for (bus, heard) in heard.iter().enumerate() {
            let from = |source| heard.iter().filter(move |frame| usize::from(frame.data[0]) == source);
            let all = (0..BUSES).map(|source| from(source).count()).sum::<usize>();
            let (before, fifth_before) = ((bus + BUSES - 1) % BUSES, (bus + BUSES - 5) % BUSES);
            let numbers = 0..ROUNDS * AT_ONCE;
            let as_sent = numbers.clone().map(|number| frame(before, number));
            assert!(from(before).copied().eq(as_sent), "{engine}, bus {bus}: {heard:?}");
            let changed = numbers.map(|number| {
                let mut frame = frame(fifth_before, number);
                frame.data[7] = 0x55;
                frame
            });
            assert!(from(fifth_before).copied().eq(changed), "{engine}, bus {bus}: {heard:?}");
            assert_eq!(all, 2 * ROUNDS * AT_ONCE, "{engine}, bus {bus}: nothing else, and nothing twice");
        }
        let ended = gateway.stop().unwrap();
        let expected = u64::try_from(ROUNDS * AT_ONCE).unwrap();
        assert!(ended.counters.iter().all(|route| (route.handled, route.dropped) == (expected, 0)), "{ended:?}");
    });
}

#[test]
#[ignore = "runs in a guest"]
fn rings_wrap_around() {
    /// A receive ring has 512 slots, one for sending 128.
    const FRAMES: usize = 1300;
    const TOGETHER: usize = 50;
    with_each_engine(|engine, nodes, gateway| {
        for first in (0..FRAMES).step_by(TOGETHER) {
            let numbers = first..first + TOGETHER;
            numbers.clone().for_each(|number| send(&nodes[0], &frame(0, number)));
            let heard: Vec<_> = numbers.clone().filter_map(|_frame| hear(&nodes[next(0)])).collect();
            assert!(heard.iter().copied().eq(numbers.clone().map(|number| frame(0, number))), "{engine}: {heard:?}");
            assert_eq!(numbers.filter_map(|_frame| hear(&nodes[fifth(0)])).count(), TOGETHER, "{engine}");
        }
        drop(gateway);
    });
}

/// Counts what the whole process allocates, so nothing else may run in it meanwhile.
#[test]
#[ignore = "runs in a guest"]
fn a_frame_allocates_nothing() {
    const FRAMES: usize = 500;
    with_each_engine(|engine, nodes, gateway| {
        let mut bytes = [0; CANFD_MTU];
        let len = frame(0, 0).to_kernel(&mut bytes);
        let pass = |frames| {
            for _frame in 0..frames {
                nodes[0].write(&bytes[..len]).unwrap();
                nodes[next(0)].read(&mut [0; CANFD_MTU]).unwrap();
                nodes[fifth(0)].read(&mut [0; CANFD_MTU]).unwrap();
            }
        };
        // Every thread has begun, and what is made for the first frame is there.
        for (from, node) in nodes.iter().enumerate() {
            send(node, &frame(from, 0));
            assert!(hear(&nodes[next(from)]).is_some() && hear(&nodes[fifth(from)]).is_some(), "{engine}");
        }
        pass(FRAMES);
        let before = crate::ALLOCATOR.stats();
        pass(FRAMES);
        let after = crate::ALLOCATOR.stats();
        let count = |stats: stats_alloc::Stats| (stats.allocations, stats.reallocations, stats.deallocations);
        assert_eq!(count(after), count(before), "{engine}");
        drop(gateway);
    });
}

#[test]
#[ignore = "runs in a guest"]
fn sixteen_buses_and_2048_rules_take_less_than_16_mib() {
    const RULES: usize = 2048;
    const MOST_KIB: u64 = 16 << 10;
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let nodes = &place.nodes;
    let mut gateway: String = (0..BUSES).map(|bus| format!("[bus.b{bus}]\ninterface = \"t-many{bus}\"\n")).collect();
    for rule in 0..RULES {
        let (from, to) = (rule % BUSES, next(rule % BUSES));
        let id = 0x1000_0000 + rule;
        gateway +=
            &format!("[[route]]\nname = \"r{rule}\"\nfrom = \"b{from}\"\nto = \"b{to}\"\nmatch = \"{id:08X}\"\n");
        gateway += "echo = true\nframes = \"classic\"\nset = { data = \"0102000000000000\" }\n";
    }
    let run_dir = tempfile::tempdir().unwrap();
    for engine in ["mmap-adaptive", "read-write"] {
        let run = Run { gateway: &gateway, engine, run_dir: run_dir.path().to_owned(), uid: None };
        let candor = run.start();
        for (at, node) in nodes.iter().enumerate() {
            send(node, &classic(0x9000_0000 + u32::try_from(at).unwrap(), &[0; 8]));
            assert_eq!(hear(&nodes[next(at)]).unwrap().data[..2], [1, 2], "{engine}, bus {at}");
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", candor.pid())).unwrap();
        let kib = |key: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        println!("{engine}: {} KiB resident, {} KiB at most", kib("VmRSS:"), kib("VmHWM:"));
        assert!(kib("VmRSS:") < MOST_KIB, "{engine}: {status}");
        assert!(candor.end(Signal::Terminate).status.success());
    }
}
