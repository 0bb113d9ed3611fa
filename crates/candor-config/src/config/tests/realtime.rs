//! `[realtime]`.

use std::time::Duration;

use super::*;
use candor_core::realtime::{Cpu, Realtime, RtPriority, Sched};

const ROUTE: &str = "[bus.a]\ninterface = \"a\"\n[bus.b]\ninterface = \"b\"\n\
                     [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n";

fn file(engine: &str, keys: &str) -> String {
    format!("engine = \"{engine}\"\n[realtime]\n{keys}\n{ROUTE}")
}

fn codes(engine: &str, keys: &str) -> Vec<&'static str> {
    let findings = match load(file(engine, keys).as_bytes()) {
        Ok(loaded) => loaded.warnings,
        Err(findings) => findings,
    };
    findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn everything_that_is_asked_for_is_in_the_plan() {
    let keys = "sched = \"rr:7\"\ncpus = [3, 0]\nlock-memory = true\ncpu-dma-latency = \"0us\"";
    let loaded = load(file("read-write", keys).as_bytes()).unwrap();
    assert_eq!(loaded.warnings, []);
    let expected = Realtime {
        sched: Some(Sched::RoundRobin(RtPriority::new(7).unwrap())),
        cpus: vec![Cpu(0), Cpu(3)],
        lock_memory: true,
        cpu_dma_latency: Some(Duration::ZERO),
    };
    assert_eq!(*loaded.plan.realtime(), expected);
    let plain = load(ROUTE.as_bytes()).unwrap();
    assert!(plain.plan.realtime().is_empty());
}

#[test]
fn what_no_kernel_takes_is_refused() {
    for (key, code) in [
        ("sched = \"fifo\"", code::SCHED),
        ("sched = \"fifo:100\"", code::SCHED),
        ("sched = \"other:1\"", code::SCHED),
        ("sched = \"batch\"", code::SCHED),
        ("cpus = []", code::CPUS),
        ("cpus = [1024]", code::CPUS),
        ("cpus = [-1]", code::CPUS),
        ("cpus = [1, 1]", code::CPUS),
        ("cpus = 1", code::WRONG_TYPE),
        ("cpus = [\"1\"]", code::WRONG_TYPE),
        ("cpu-dma-latency = \"0\"", code::DURATION),
        ("cpu-dma-latency = \"1500ns\"", code::DURATION),
        ("cpu-dma-latency = \"2s\"", code::DURATION),
        ("lock-memory = 1", code::WRONG_TYPE),
        ("nice = 1", code::UNKNOWN_KEY),
    ] {
        assert_eq!(codes("read-write", key), [code], "{key}");
    }
    assert_eq!(codes("read-write", "cpus = [0, 1023]\ncpu-dma-latency = \"1s\""), [""; 0]);
}

#[test]
fn threads_that_there_are_not_get_nothing() {
    for key in ["sched = \"other\"", "cpus = [0]", "lock-memory = true"] {
        assert_eq!(codes("kernel", key), [code::REALTIME_IS_IDLE], "{key}");
        assert_eq!(codes("auto", key), [code::REALTIME_IS_IDLE], "{key}");
        assert_eq!(codes("mmap-write", key), [""; 0], "{key}");
    }
    // A processor that stays awake serves can-gw as well.
    assert_eq!(codes("kernel", "cpu-dma-latency = \"0us\""), [""; 0]);
    assert_eq!(codes("kernel", "lock-memory = false"), [""; 0]);
    let split = file("auto", "sched = \"fifo:1\"") + "max-age = \"1s\"\n";
    assert_eq!(load(split.as_bytes()).unwrap().warnings, []);
}

#[test]
fn spinning_threads_need_a_processor_each() {
    let spins = |engine: &str, keys: &str| {
        let both = file(engine, keys) + "match = \"123\"\nboth-ways = true\n";
        load(both.as_bytes()).unwrap().warnings.iter().any(|finding| finding.code == code::SPINNERS_SHARE)
    };
    assert!(spins("readnb-write", "sched = \"fifo:1\"\ncpus = [1]"));
    assert!(spins("mmapbusy-mmap", "sched = \"rr:1\"\ncpus = [1]"));
    assert!(!spins("mmapbusy-mmap", "sched = \"fifo:1\"\ncpus = [1, 2]"));
    assert!(!spins("mmapbusy-mmap", "sched = \"other\"\ncpus = [1]"));
    assert!(!spins("mmap-mmap", "sched = \"fifo:1\"\ncpus = [1]"));
}
