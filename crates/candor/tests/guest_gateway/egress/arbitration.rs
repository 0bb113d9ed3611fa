//! Queues in the order of arbitration, compared with their oracle.

mod sockets;

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG};
use candor_core::random::SplitMix64;
use candor_egress::arbitration::{Arbitration, Limits};
use candor_egress::kernel::{Target, apply};
use candor_egress::netlink::QueueError;
use candor_egress::netlink::arbitration::oracle::{Arrival, Oracle};
use candor_egress::netlink::arbitration::{self, Installed, Layout, Statistics, key};

use super::line::{Line, PLUG};
use super::*;
use crate::serial::SERIAL;
use crate::{metrics, queues};

const SCHEDULES: u64 = 60;
/// The first byte of a frame is its number.
const MOST_FRAMES: usize = 250;
const SOCKETS: usize = 4;

fn layout() -> Option<Layout> {
    match arbitration::layout() {
        Ok(layout) => Some(layout),
        Err(QueueError::Unsupported(why)) => {
            skip(Feature::BpfQueues, &why);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn queue(handle: Handle, arbitration: &Arbitration) -> Qdisc {
    Qdisc { handle, parent: Handle::ROOT, stab: None, discipline: Discipline::Arbitration(arbitration.clone()) }
}

fn install(index: InterfaceIndex, queue: &Qdisc, layout: &Layout) -> Installed {
    let Discipline::Arbitration(arbitration) = &queue.discipline else { panic!("{queue:?}") };
    match arbitration::install(&mut Client::open().unwrap(), index, queue, arbitration, layout) {
        Err(TcError::Queue(QueueError::Program { program, source })) => {
            let end: Vec<_> = source.log.lines().rev().take(50).collect();
            panic!("{program} of {}: {source}\n{end:#?}", arbitration.name())
        }
        other => other.unwrap(),
    }
}

/// Few identifiers, so that many are equal, or share their first bits.
fn random_id(random: &mut SplitMix64) -> u32 {
    let base = [0, 1, 0x123, 0x124, 0x7FE, 0x7FF][random.below(6)];
    let extension = [0, 1, 0x2_0000, 0x3_FFFF][random.below(4)];
    let remote = if random.below(4) == 0 { CAN_RTR_FLAG } else { 0 };
    match random.below(3) {
        0 => base | remote,
        1 => base << 18 | extension | CAN_EFF_FLAG | remote,
        _ => u32::try_from(random.next_u64() & u64::from(CAN_EFF_MASK)).unwrap() | CAN_EFF_FLAG | remote,
    }
}

fn random_arbitration(random: &mut SplitMix64) -> Arbitration {
    let limits = Limits {
        frames: u32::try_from([1, 2, 3, 10, 63, 64, 65, 200][random.below(8)]).unwrap(),
        per_socket: [None, Some(1), Some(10), Some(50)][random.below(4)],
        // Longer than any test.
        max_age_ms: [None, Some(9999)][random.below(2)],
        replace_same_id: random.below(2) == 1,
    };
    Arbitration::new(limits).unwrap()
}

/// A frame as the driver of a serial adapter writes it.
fn text(id: u32, payload: &[u8]) -> String {
    let is_remote = id & CAN_RTR_FLAG != 0;
    let number = id & CAN_EFF_MASK;
    let head = match (id & CAN_EFF_FLAG != 0, is_remote) {
        (false, false) => format!("t{number:03X}"),
        (false, true) => format!("r{number:03X}"),
        (true, false) => format!("T{number:08X}"),
        (true, true) => format!("R{number:08X}"),
    };
    if is_remote { format!("{head}0") } else { format!("{head}{}{}", payload.len(), hex(payload)) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn frames_leave_in_the_order_of_arbitration() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    for seed in 0..SCHEDULES {
        let mut random = SplitMix64::new(seed);
        let arbitration = random_arbitration(&mut random);
        let (name, options) = (arbitration.name(), arbitration.options());
        line.plug();
        let installed = install(line.index, &queue(Handle::NONE, &arbitration), &layout);
        let sockets: Vec<_> = (0..SOCKETS).map(|_| sender_on(line.index)).collect();
        let mut expected = Statistics::default();
        // The second time, slots have been used and freed.
        for round in 0..2 {
            let mut oracle = Oracle::new(options);
            if round == 1 {
                line.plug();
                oracle.arrive(key(PLUG), Some(SOCKETS as u64), 0, text(PLUG, &[]));
            }
            for number in 0..random.below(MOST_FRAMES) {
                let (id, socket) = (random_id(&mut random), random.below(SOCKETS));
                let payload = [u8::try_from(number).unwrap(), round];
                let payload = if id & CAN_RTR_FLAG == 0 { &payload[..] } else { &[] };
                let sent = try_send(&sockets[socket], &classic(id, payload));
                let arrival = oracle.arrive(key(id), Some(socket as u64), 0, text(id, payload));
                let is_dropped = match arrival {
                    Arrival::Full => Some(&mut expected.full),
                    Arrival::Socket => Some(&mut expected.socket),
                    Arrival::Replaced(_) => {
                        expected.replaced += 1;
                        None
                    }
                    Arrival::Waits => None,
                };
                let errno = sent.err().and_then(|error| error.raw_os_error());
                assert_eq!(errno, is_dropped.is_some().then_some(errno::ENOBUFS), "{seed} {name} {number}");
                if let Some(count) = is_dropped {
                    *count += 1;
                }
            }
            expected.waiting = oracle.len() as u64;
            let found = installed.statistics().unwrap();
            expected.owner = found.owner;
            assert_eq!(found, expected, "{seed} {name}");
            let listed = line.kernel.observe().unwrap();
            assert_eq!(listed.tree.qdiscs[0].discipline, Discipline::Arbitration(arbitration.clone()));
            assert_eq!(listed.qdiscs[0].backlog_frames as usize, oracle.len());
            assert_eq!(u64::from(listed.qdiscs[0].drops), expected.full + expected.socket + expected.replaced);
            let order: Vec<_> = oracle.reset().into_iter().filter(|frame| *frame != text(PLUG, &[])).collect();
            assert_eq!(line.texts(order.len()), order, "{seed} {name}");
        }
        expected.waiting = 0;
        assert_eq!(installed.statistics().unwrap(), expected);
        assert_eq!(line.kernel.observe().unwrap().qdiscs[0].backlog_bytes, 0);
        queues::delete_root(line.index);
        assert_eq!(line.kernel.observe().unwrap().defaults[0].0.discipline.kind(), "pfifo_fast");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_that_waited_too_long_are_dropped() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    let limits = Limits { frames: 10, per_socket: Some(4), max_age_ms: Some(200), replace_same_id: false };
    line.plug();
    let installed = install(line.index, &queue(Handle::NONE, &Arbitration::new(limits).unwrap()), &layout);
    let sender = sender_on(line.index);
    (1..=3).for_each(|number| send(&sender, &classic(0x100, &[number])));
    std::thread::sleep(Duration::from_millis(400));
    // After those that are too old.
    send(&sender, &classic(0x101, &[4]));
    assert_eq!(try_send(&sender, &classic(0x101, &[5])).unwrap_err().raw_os_error(), Some(errno::ENOBUFS));
    assert_eq!(line.read(1), [4]);
    let found = installed.statistics().unwrap();
    let expected = Statistics { owner: found.owner, expired: 3, socket: 1, ..Statistics::default() };
    assert_eq!(found, expected);
    // Its socket has room again.
    (0..4).for_each(|number| send(&sender, &classic(0x101, &[number])));
    queues::delete_root(line.index);
}

/// As part of a tree: made, read back, replaced by one with other options, and deleted.
#[test]
#[ignore = "runs in a guest"]
fn a_tree_can_be_a_queue_in_the_order_of_arbitration() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    if layout().is_none() {
        return;
    }
    let plain = Limits { frames: 100, per_socket: None, max_age_ms: None, replace_same_id: false };
    let tree = |limits| of(vec![queue(Handle::new(1, 0), &Arbitration::new(limits).unwrap())], vec![], vec![]);
    let (first, second) = (tree(plain), tree(Limits { per_socket: Some(10), ..plain }));
    fixture.round(&first);
    let all = [&first, &second, &first].map(|wanted| {
        let kernel = Interface::open(NEAR).unwrap().unwrap();
        let applied = apply(&mut [Target { name: NEAR.to_owned(), kernel, wanted: wanted.clone() }]).unwrap();
        applied[0].steps.requests.len()
    });
    assert_eq!(all, [1, 2, 2]);
    let kernel = Interface::open(NEAR).unwrap().unwrap();
    let again = apply(&mut [Target { name: NEAR.to_owned(), kernel, wanted: first }]).unwrap();
    assert_eq!(again[0].steps.requests, []);
    // It sends what it gets.
    let far = listener_on(fixture.pair.far);
    send(&fixture.sender(), &classic(0x123, &[1]));
    assert_eq!(next_frame(&far), classic(0x123, &[1]));
    fixture.clear();
}

const GATEWAY: &str = "[bus.a]\ninterface = \"t-left\"\n[bus.b]\ninterface = \"t-right\"\n\
                       [egress.a]\nqueue = \"arbitration\"\nper-socket = 20\n";

#[test]
#[ignore = "runs in a guest"]
fn commands_apply_verify_and_show_a_queue() {
    let Some(scenario) = Scenario::new(VCAN, ["left", "right"]) else { return };
    if layout().is_none() {
        return;
    }
    let file = scenario.file("candor.toml", GATEWAY);
    scenario.candor(&["egress", "verify", &file]).assert(1, &[]);
    scenario.candor(&["egress", "apply", &file]).assert(0, &[]);
    // The process that made it has ended.
    scenario.candor(&["egress", "verify", &file]).assert(0, &[]);
    scenario.candor(&["egress", "show", &file]).assert(0, &["arb100s20 (order of arbitration, 20 frames per socket)"]);
    let far = scenario.listener("left");
    send(&scenario.sender("left"), &classic(0x123, &[1]));
    assert_eq!(next_frame(&far), classic(0x123, &[1]));
    // Another process reads its statistics.
    let shown = scenario.json(&["egress", "show", &file]);
    let counted = &shown["interfaces"][0]["tree"][0]["counted"];
    assert_eq!((&counted["frames"], &counted["full_frames"]), (&json!(1), &json!(0)), "{shown}");
    queues::delete_root(scenario.index("left"));
    scenario.candor(&["egress", "verify", &file]).assert(1, &[]);
}

fn kind() -> Option<String> {
    interface("t-left").found().unwrap().qdiscs.first().map(|qdisc| qdisc.discipline.kind().to_owned())
}

/// On all kernels without queues in BPF.
#[test]
#[ignore = "runs in a guest"]
fn bands_take_the_place_of_a_queue_that_the_kernel_does_not_have() {
    let Some(scenario) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let has_queues = arbitration::layout().is_ok();
    let plain = GATEWAY.to_owned() + &route("over", "b", "a", "match = \"7FF\"");
    let file = scenario.file("candor.toml", &plain);
    let checked = scenario.candor(&["check", &file]);
    assert_eq!((checked.status, checked.err.contains("W0514")), (0, !has_queues), "{checked:?}");
    if has_queues {
        return;
    }
    let warning = "frames are sent first in, first out, without `per-socket`";
    scenario.candor(&["egress", "apply", &file]).assert(0, &[warning]);
    assert_eq!(kind().as_deref(), Some("pfifo"));
    scenario.candor(&["egress", "verify", &file]).assert(0, &[warning]);
    scenario.candor(&["doctor", &file]).assert(0, &["weak     ebpf queues"]);
    scenario.candor(&["egress", "clear", &file]).assert(0, &[]);

    let run = scenario.run(&plain, "read-write").start_from(Path::new(&file));
    assert_eq!(kind().as_deref(), Some("pfifo"));
    let bands = "[[egress.a.band]]\nname = \"x\"\nmatch = \"1\"\n[[egress.a.band]]\nname = \"y\"\n";
    scenario.file("candor.toml", &plain.replace("[[route]]", &format!("{bands}[[route]]")));
    signal::send(run.pid(), Signal::Hangup).unwrap();
    run.event(&["reloaded"]);
    assert_eq!(kind().as_deref(), Some("prio"));
    run.stop();
    assert_eq!(kind(), None);
}

/// A queue is made again where an interface comes back, with the privileges and system calls that are left.
#[test]
#[ignore = "runs in a guest"]
fn run_keeps_a_queue_until_its_end() {
    let Some(mut scenario) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    if layout().is_none() {
        return;
    }
    let file = scenario.file("candor.toml", &(GATEWAY.to_owned() + &route("over", "b", "a", "echo = true")));
    let run = scenario.events(&["run", &file, "--engine", "kernel", "--json", "--seccomp"]);
    run.event(&["ready"]);
    assert_eq!(kind().as_deref(), Some("arb100s20"));
    let counter =
        "candor_bus_arbitration_dropped_frames_total{bus=\"a\",interface=\"t-left\",reason=\"per-socket\"} 0\n";
    let metrics = || metrics::of_run_dir(scenario.run_dir.path());
    assert!(metrics().contains(counter), "{}", metrics());
    scenario.unplug("left");
    scenario.plug_in("left");
    wait_until("the queue is there again", || kind().as_deref() == Some("arb100s20"));
    let metrics = metrics::of_run_dir(scenario.run_dir.path());
    assert!(metrics.contains(counter), "{metrics}");
    let far = scenario.listener("left");
    let right = scenario.sender("right");
    wait_until("the job is there again", || {
        send(&right, &classic(0x321, &[2]));
        hear(&far, Duration::from_millis(100)) == Some(classic(0x321, &[2]))
    });
    assert!(run.end(Signal::Interrupt).status.success());
    assert_eq!(kind(), None);
}
