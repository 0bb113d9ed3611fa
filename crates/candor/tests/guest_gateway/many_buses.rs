//! Sixteen buses in one process: all directions at once, rings that wrap around, and memory.

use candor_config::engine::Engine;
use candor_engine::Gateway;

use crate::kernel::WithVcanEcho;
use crate::prelude::*;

const BUSES: usize = 16;
/// Frames over each bus in one direction; not more at once than the queue of a socket holds.
const ROUNDS: usize = 4;
const AT_ONCE: usize = 16;

/// Every receiver and every sender at least once.
const ENGINES: [&str; 7] =
    ["read-write", "readnb-mmap", "readbusy-mmsg", "mmap-adaptive", "mmapbusy-mmap", "mmsg-write", "uring-uring"];

fn bus_tables() -> String {
    (0..BUSES).map(|bus| buses(&[&format!("many{bus}")])).collect()
}

fn many_route(name: &str, [from, to]: [usize; 2], keys: &str) -> String {
    route(name, &format!("many{from}"), &format!("many{to}"), &format!("echo = true\n{keys}"))
}

/// From each bus to the next one unchanged, and to the fifth with a byte changed: 32 routes.
fn file() -> String {
    let change = "and = { data = \"FFFFFFFFFFFFFF00\" }\nor = { data = \"0000000000000055\" }";
    let routes = (0..BUSES).flat_map(|from| [(from, next(from), ""), (from, fifth(from), change)]);
    let routes = routes.map(|(from, to, keys)| many_route(&format!("b{from}-b{to}"), [from, to], keys));
    bus_tables() + &routes.collect::<String>()
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

fn nodes() -> (Vec<Bus>, Vec<CanSocket>) {
    let buses: Vec<Bus> = (0..BUSES).map(|bus| Bus::new(&format!("many{bus}"))).collect();
    let nodes = buses.iter().map(|bus| listener_on(bus.index)).collect();
    (buses, nodes)
}

fn with_each_engine(mut check: impl FnMut(&str, &[CanSocket], Gateway)) {
    let Some(_machine) = require(VCAN) else { return };
    let Some(_with) = WithVcanEcho::new() else { return };
    for engine in ENGINES {
        let (_buses, nodes) = nodes();
        let plan = config::load(file().as_bytes()).unwrap().plan;
        let gateway = Gateway::start(plan.with_engine(Engine::named(engine).unwrap())).unwrap().0;
        check(engine, &nodes, gateway);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn forwards_32_routes_between_16_buses() {
    with_each_engine(|engine, nodes, gateway| {
        let mut heard = vec![Vec::new(); BUSES];
        for round in 0..ROUNDS {
            for number in 0..AT_ONCE {
                nodes.iter().enumerate().for_each(|(from, node)| send(node, &frame(from, round * AT_ONCE + number)));
            }
            for (node, heard) in nodes.iter().zip(&mut heard) {
                heard.extend((0..2 * AT_ONCE).filter_map(|_| hear(node, PATIENCE)));
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
            assert_eq!(all, 2 * ROUNDS * AT_ONCE, "{engine}, bus {bus}: other or doubled frames");
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
            let heard: Vec<_> = numbers.clone().filter_map(|_| hear(&nodes[next(0)], PATIENCE)).collect();
            assert!(heard.iter().copied().eq(numbers.clone().map(|number| frame(0, number))), "{engine}: {heard:?}");
            let changed = numbers.filter_map(|_| hear(&nodes[fifth(0)], PATIENCE));
            assert_eq!(changed.count(), TOGETHER, "{engine}");
        }
        drop(gateway);
    });
}

/// Counts the allocations of the whole process, so no other test may run.
#[test]
#[ignore = "runs in a guest"]
fn a_frame_allocates_nothing() {
    const FRAMES: usize = 500;
    with_each_engine(|engine, nodes, gateway| {
        let bytes = bytes_of(&frame(0, 0));
        let pass = |frames| {
            for _frame in 0..frames {
                nodes[0].write(&bytes).unwrap();
                nodes[next(0)].read(&mut [0; CANFD_MTU]).unwrap();
                nodes[fifth(0)].read(&mut [0; CANFD_MTU]).unwrap();
            }
        };
        // Every thread runs, and has allocated for its first frame.
        for (from, node) in nodes.iter().enumerate() {
            send(node, &frame(from, 0));
            next_frame(&nodes[next(from)]);
            next_frame(&nodes[fifth(from)]);
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
    let Some(scene) = Scenario::new(VCAN, []) else { return };
    let (_buses, nodes) = nodes();
    let keys = "frames = \"classic\"\nset = { data = \"0102000000000000\" }";
    let rules = (0..RULES).map(|rule| {
        let ends = [rule % BUSES, next(rule % BUSES)];
        many_route(&format!("r{rule}"), ends, &format!("match = \"{:08X}\"\n{keys}", 0x1000_0000 + rule))
    });
    let gateway = bus_tables() + &rules.collect::<String>();
    for engine in ["mmap-adaptive", "read-write"] {
        let candor = scene.start(&gateway, engine);
        for (at, node) in nodes.iter().enumerate() {
            send(node, &classic(0x9000_0000 + u32::try_from(at).unwrap(), &[0; 8]));
            assert_eq!(next_frame(&nodes[next(at)]).data[..2], [1, 2], "{engine}, bus {at}");
        }
        let status = fs::read_to_string(format!("/proc/{}/status", candor.pid())).unwrap();
        let kib = |key: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        println!("{engine}: {} KiB resident, {} KiB at most", kib("VmRSS:"), kib("VmHWM:"));
        assert!(kib("VmRSS:") < MOST_KIB, "{engine}: {status}");
        candor.stop();
    }
}
