//! `[realtime]`.

use std::time::Duration;

use super::*;
use candor_core::realtime::{Cpu, Realtime, RtPriority, Sched};

fn file(engine: &str, keys: &str) -> String {
    format!("engine = \"{engine}\"\n[realtime]\n{keys}\n{}", with_route(""))
}

fn codes(engine: &str, keys: &str) -> Vec<&'static str> {
    super::codes(&file(engine, keys))
}

#[test]
fn plan_has_all_settings() {
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
    assert!(crate::testing::loaded(&with_route("")).realtime().is_empty());
}

#[test]
fn rejects_invalid_settings() {
    check_cases(include_str!("realtime.txt"), |keys| file("read-write", keys), findings);
    assert_eq!(codes("read-write", "cpus = [0, 1023]\ncpu-dma-latency = \"1s\""), [""; 0]);
}

#[test]
fn warns_of_settings_without_threads() {
    for key in ["sched = \"other\"", "cpus = [0]", "lock-memory = true"] {
        assert_eq!(codes("kernel", key), [code::REALTIME_IS_IDLE], "{key}");
        assert_eq!(codes("auto", key), [code::REALTIME_IS_IDLE], "{key}");
        assert_eq!(codes("mmap-write", key), [""; 0], "{key}");
    }
    // A CPU that stays awake helps can-gw too.
    assert_eq!(codes("kernel", "cpu-dma-latency = \"0us\""), [""; 0]);
    assert_eq!(codes("kernel", "lock-memory = false"), [""; 0]);
    let split = file("auto", "sched = \"fifo:1\"") + "max-age = \"1s\"\n";
    assert_eq!(load(split.as_bytes()).unwrap().warnings, []);
}

#[test]
fn warns_of_spinning_threads_on_one_cpu() {
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
