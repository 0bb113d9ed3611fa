//! What a running gateway may still do, read back from the kernel thread by thread.

use candor_engine::machine::Machine;
use candor_io::signal::Signal;

use crate::candor::{Candor, Run};
use crate::require::{Bus, Feature, require};

const IPC_LOCK: u64 = 1 << 14;
const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;
const SYS_NICE: u64 = 1 << 23;
const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\n";

/// A set of capabilities of every thread, which has to be the same for all.
fn capabilities(candor: &Candor, set: &str) -> u64 {
    let machine = Machine::here();
    let threads = machine.process(candor.pid()).threads();
    assert!(!threads.is_empty());
    let of = |tid| {
        let status = std::fs::read_to_string(format!("/proc/{}/task/{tid}/status", candor.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':')).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    let sets: Vec<_> = threads.iter().map(|thread| of(thread.tid)).collect();
    assert!(sets.iter().all(|set| *set == sets[0]), "{set}: {sets:x?} of {threads:?}");
    sets[0]
}

#[test]
fn a_gateway_keeps_what_its_file_needs_and_cannot_get_more() {
    let Some(_machine) = require(&[Feature::Cangw, Feature::Root, Feature::Vcan]) else { return };
    let _buses = (Bus::new("left"), Bus::new("right"));
    for (engine, keys, expected) in [
        ("read-write", "", 0),
        ("kernel", "", NET_ADMIN),
        ("auto", "", NET_ADMIN | NET_RAW),
        ("mmap-write", "sched = \"fifo:9\"\nlock-memory = true", NET_ADMIN | NET_RAW | SYS_NICE | IPC_LOCK),
    ] {
        let text = format!("[realtime]\n{keys}\n{BUSES}");
        let run_dir = tempfile::tempdir().unwrap();
        let candor = Run { gateway: &text, engine, run_dir: run_dir.path().to_owned(), uid: None }.start();
        for set in ["CapEff", "CapPrm"] {
            assert_eq!(capabilities(&candor, set), expected, "{engine}: {set}");
        }
        assert_eq!((capabilities(&candor, "CapInh"), capabilities(&candor, "CapAmb")), (0, 0), "{engine}");
        // What this kernel calls a capability is known to candor by name, so nothing else may be left.
        assert_eq!(capabilities(&candor, "CapBnd"), expected, "{engine}");
        assert_eq!(Machine::here().process(candor.pid()).status("NoNewPrivs").unwrap(), "1", "{engine}");
        let ended = candor.end(Signal::Terminate);
        assert!(ended.status.success(), "{engine}: {ended:?}");
    }
}
