use std::num::NonZeroU32;

use candor_netlink::link::CanLink;

use super::super::check::{Topic, Verdict};
use super::super::test_machines::{machine, needs, needs_of};
use super::*;
use crate::cmd::test_links;

/// A controller without problems.
fn controller(name: &str) -> Link {
    Link {
        mtu: 72,
        tx_queue_len: 100,
        can: Some(CanLink {
            bitrate: BitRate::from_bits_per_second(500_000),
            data_bitrate: BitRate::from_bits_per_second(2_000_000),
            state: Some(CanState::ErrorActive),
            restart_ms: NonZeroU32::new(100),
        }),
        ..test_links::controller(name)
    }
}

fn network(link: Link, root: &str) -> Network {
    Network { roots: vec![(link.index.number(), root.into())], links: vec![link] }
}

fn found(files: &[(&str, &str)], network: &Network, needs: &Needs, at: usize) -> Vec<Check> {
    let (_root, machine) = machine(files);
    let threads = interrupt_threads(&machine);
    of_file(&machine, network, &threads, needs, &needs.interfaces.as_ref().unwrap()[at])
}

/// One check of the source (`can0`).
fn source(files: &[(&str, &str)], link: Link, needs: &Needs, topic: Topic) -> Check {
    let checks = found(files, &network(link, "pfifo_fast"), needs, 0);
    checks.into_iter().find(|check| check.topic == topic).unwrap()
}

/// One check of the destination (`can1`).
fn one(link: Link, root: &str, topic: Topic) -> Check {
    let needs = needs_of("read-write", "", "frames = \"fd\"");
    let checks = found(&[], &network(link, root), &needs, 1);
    checks.into_iter().find(|check| check.topic == topic).unwrap()
}

fn with_can(name: &str, change: impl FnOnce(&mut CanLink)) -> Link {
    let mut link = controller(name);
    change(link.can.as_mut().unwrap());
    link
}

#[test]
fn a_controller_without_problems_is_ok() {
    let checks = found(&[], &network(controller("can0"), "pfifo_fast"), &needs("read-write", ""), 0);
    assert!(checks.iter().all(|check| check.verdict == Verdict::Ok), "{checks:#?}");
    let topics: Vec<_> = checks.iter().map(|check| check.topic.name).collect();
    assert_eq!(topics, ["interface", "state", "bit rate", "restart", "fd", "driver"], "only a destination has a queue");
    let to = found(&[], &network(controller("can1"), "pfifo_fast"), &needs("read-write", ""), 1);
    assert!(to.iter().any(|check| check.topic == check::QUEUE) && to.iter().all(|check| check.verdict == Verdict::Ok));
}

#[test]
fn an_unknown_interface_is_missing() {
    let needs = needs("read-write", "");
    let only = |network: &Network| match found(&[], network, &needs, 0).as_slice() {
        [check] => check.clone(),
        checks => panic!("{checks:?}"),
    };
    let none = only(&Network::default());
    assert_eq!((none.verdict, none.found.as_str()), (Verdict::Missing, "not found; this machine has no CAN interface"));
    assert!(only(&network(controller("can7"), "noop")).found.contains("found: can7"));
    let ethernet = only(&network(Link { can: None, ..controller("can0") }, "noop"));
    assert!(ethernet.verdict == Verdict::Missing && ethernet.found.contains("not a CAN interface"));
}

#[test]
fn each_problem_of_a_controller_has_its_remedy() {
    let state = |state| with_can("can1", |can| can.state = Some(state));
    let without_rate = with_can("can1", |can| can.bitrate = None);
    let without_restart = with_can("can1", |can| can.restart_ms = None);
    let down = Link { up: false, ..controller("can1") };
    for (link, root, topic, verdict, words) in [
        (down, "noop", check::INTERFACE, Verdict::Missing, "sudo ip link set can1 up"),
        (state(CanState::BusOff), "pfifo_fast", check::STATE, Verdict::Missing, "type can restart"),
        (state(CanState::ErrorPassive), "pfifo_fast", check::STATE, Verdict::Weak, "termination"),
        (state(CanState::ErrorWarning), "pfifo_fast", check::STATE, Verdict::Weak, "termination"),
        (without_rate, "pfifo_fast", check::BIT_RATE, Verdict::Missing, "bitrate 500000"),
        (without_restart, "pfifo_fast", check::RESTART, Verdict::Weak, "restart-ms 100"),
        (Link { mtu: 16, ..controller("can1") }, "pfifo_fast", check::FD, Verdict::Missing, "fd on"),
        (Link { tx_queue_len: 10, ..controller("can1") }, "pfifo_fast", check::QUEUE, Verdict::Weak, "txqueuelen 100"),
        (controller("can1"), "fq_codel", check::QDISC, Verdict::Weak, "root pfifo_fast"),
        (controller("can1"), "etf", check::QDISC, Verdict::Missing, "root pfifo_fast"),
        (controller("can1"), "netem", check::QDISC, Verdict::Weak, "root pfifo_fast"),
    ] {
        let check = one(link, root, topic);
        assert_eq!(check.verdict, verdict, "{check:?}");
        assert!(check.remedy.as_ref().is_some_and(|remedy| remedy.contains(words)), "{check:?}");
    }
    assert_eq!(one(Link { tx_queue_len: 10, ..controller("can1") }, "noqueue", check::QUEUE).verdict, Verdict::Ok);
    assert_eq!(one(controller("can1"), "prio", check::QDISC).verdict, Verdict::Ok);
}

#[test]
fn a_bit_rate_that_differs_from_the_file_is_missing() {
    // The file says 500 kbit/s for can0.
    let link = with_can("can0", |can| can.bitrate = BitRate::from_bits_per_second(250_000));
    let rate = source(&[], link.clone(), &needs("read-write", ""), check::BIT_RATE);
    assert!(rate.verdict == Verdict::Missing && rate.found.contains("but the file has 500kbit/s"), "{rate:?}");
    let (_root, machine) = machine(&[]);
    let without_file = of_link(&machine, &network(link.clone(), "pfifo_fast"), &[], &Needs::unknown(), &link, None);
    assert!(without_file.iter().all(|check| check.verdict == Verdict::Ok), "{without_file:#?}");
}

#[test]
fn an_adapter_that_restarts_itself_needs_no_restart_ms() {
    let restart = |driver: &str| {
        let link = with_can("can0", |can| can.restart_ms = None);
        let files = [("/sys/class/net/can0/device/driver", driver)];
        source(&files, link, &needs("read-write", ""), check::RESTART)
    };
    assert_eq!(restart("->../bus/drivers/gs_usb").verdict, Verdict::Ok);
    let weak = restart("->../bus/drivers/flexcan");
    // The interface is set up again even if the kernel rejects restart-ms.
    assert!(weak.verdict == Verdict::Weak && weak.remedy.unwrap().ends_with("; sudo ip link set can0 up"));
}

#[test]
fn reports_the_wait_for_buffered_frames() {
    let driver = |name: &str, bus: &str| {
        let (driver, bus) = (format!("->../bus/drivers/{name}"), format!("->../bus/{bus}"));
        let files = [
            ("/sys/class/net/can0/device/driver", driver.as_str()),
            ("/sys/class/net/can0/device/subsystem", bus.as_str()),
        ];
        source(&files, controller("can0"), &needs("read-write", ""), check::DRIVER)
    };
    assert_eq!(
        driver("kvaser_pci", "pci").found,
        "kvaser_pci, buffers 1 frame, a high-priority frame may wait 0.27 ms"
    );
    assert_eq!(
        driver("gs_usb", "usb").found,
        "gs_usb, buffers 10 frames, a high-priority frame may wait 2.70 ms; USB adds up to 1 ms each way"
    );
    assert_eq!(driver("mcp251xfd", "spi").verdict, Verdict::Weak);
    assert!(driver("homemade", "pci").found.contains("unknown"));
}

#[test]
fn a_spinning_thread_must_not_starve_the_interrupt() {
    let zeros = "0 ".repeat(36);
    let stat = |priority, policy| format!("81 (irq/11-can0) S {zeros}{priority} {policy} 0\n");
    let (fifo, other) = (stat(50, 1), stat(0, 0));
    let with = |stat: &str, engine: &str, keys: &str| {
        let files = [
            ("/proc/interrupts", "           CPU0       CPU1\n 11:   12   0  IO-APIC  11-fasteoi   can1, can0\n"),
            ("/proc/irq/11/effective_affinity_list", "1"),
            ("/sys/class/net/can0/device/irq", "11"),
            ("/sys/devices/system/cpu/online", "0-1"),
            ("/proc/81/stat", stat),
        ];
        source(&files, controller("can0"), &needs(engine, keys), check::INTERRUPT)
    };
    let waits = with(&fifo, "mmap-write", "sched = \"fifo:80\"");
    assert_eq!((waits.verdict, waits.found.as_str()), (Verdict::Ok, "irq/11-can0 fifo:50 on 1"));
    let spins = with(&fifo, "mmapbusy-write", "sched = \"fifo:50\"");
    assert!(spins.verdict == Verdict::Weak && spins.remedy.unwrap().contains("chrt -f -p 51 81"));
    assert_eq!(with(&fifo, "mmapbusy-write", "sched = \"fifo:49\"").verdict, Verdict::Ok);
    assert_eq!(with(&fifo, "mmapbusy-write", "sched = \"fifo:80\"\ncpus = [0]").verdict, Verdict::Ok);
    assert_eq!(with(&other, "kernel", "").verdict, Verdict::Weak);
    let plain = with("81 (else) S", "kernel", "");
    assert_eq!((plain.verdict, plain.found.as_str()), (Verdict::Ok, "11 on 1, not in a thread"));
}

#[test]
fn a_napi_thread_needs_a_priority() {
    let zeros = "0 ".repeat(36);
    let with = |stat: &str, threaded: &str| {
        let files = [
            ("/sys/class/net/can0/device/irq", "0"),
            ("/sys/class/net/can0/threaded", threaded),
            ("/proc/90/stat", stat),
        ];
        source(&files, controller("can0"), &needs("kernel", ""), check::NAPI)
    };
    let (fifo, other) = (format!("90 (napi/can0-8193) S {zeros}50 1 0"), format!("90 (napi/can0-8193) S {zeros}0 0 0"));
    assert_eq!(with(&other, "1").verdict, Verdict::Weak);
    assert_eq!(with(&fifo, "1").verdict, Verdict::Ok);
    assert_eq!(with(&other, "0").verdict, Verdict::Ok);
    assert_eq!(with(&other.replace("can0", "can01"), "1").verdict, Verdict::Ok, "of another interface");
}
