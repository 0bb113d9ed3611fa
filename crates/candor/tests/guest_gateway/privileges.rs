//! The privileges of a running gateway, read from the kernel for each thread.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;

use candor_io::machine::Machine;

use crate::prelude::*;

const IPC_LOCK: u64 = 1 << 14;
const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;
const SYS_NICE: u64 = 1 << 23;

fn gateway() -> String {
    LEFT_RIGHT.to_owned() + &route("over", "left", "right", "echo = true")
}

/// A capability set, which must be the same in all threads.
fn capabilities(candor: &Candor, set: &str) -> u64 {
    let machine = Machine::here();
    let threads = machine.process(candor.pid()).threads();
    assert!(!threads.is_empty());
    let of = |tid| {
        let status = fs::read_to_string(format!("/proc/{}/task/{tid}/status", candor.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':')).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    let sets: Vec<_> = threads.iter().map(|thread| of(thread.tid)).collect();
    assert!(sets.iter().all(|set| *set == sets[0]), "{set}: {sets:x?} of {threads:?}");
    sets[0]
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_keeps_only_the_capabilities_it_needs() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    for (engine, keys, expected) in [
        ("read-write", "", 0),
        ("kernel", "", NET_ADMIN),
        ("auto", "", NET_ADMIN | NET_RAW),
        ("mmap-write", "sched = \"fifo:9\"\nlock-memory = true", NET_ADMIN | NET_RAW | SYS_NICE | IPC_LOCK),
    ] {
        let candor = scene.start(&format!("[realtime]\n{keys}\n{}", gateway()), engine);
        // candor knows every capability of this kernel by name, so the bounding set has no others.
        for (set, expected) in
            [("CapEff", expected), ("CapPrm", expected), ("CapInh", 0), ("CapAmb", 0), ("CapBnd", expected)]
        {
            assert_eq!(capabilities(&candor, set), expected, "{engine}: {set}");
        }
        let process = |key| Machine::here().process(candor.pid()).status(key).unwrap();
        assert_eq!((process("NoNewPrivs").as_str(), process("Seccomp").as_str()), ("1", "2"), "{engine}");
        candor.stop();
    }
}

/// A `candor run` with the default run directory.
fn start(engine: &str, user: Option<&str>) -> Candor {
    let mut command = Command::new(program());
    command.args(["run", "-", "--json", "--seccomp", "--engine", engine]).env_remove("CANDOR_RUN_DIR");
    Candor::spawn(command.args(user.into_iter().flat_map(|user| ["--user", user])), &gateway())
}

#[test]
#[ignore = "runs in a guest"]
fn root_starts_a_gateway_as_another_user() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let (sender, listener) = (scene.sender("left"), scene.listener("right"));
    // Earlier gateways have ended.
    let _ = fs::remove_dir_all("/run/candor");
    for (engine, expected) in [("kernel", NET_ADMIN), ("mmap-write", NET_ADMIN | NET_RAW), ("read-write", 0)] {
        let candor = start(engine, Some("1234:2345")).ready();
        let machine = Machine::here();
        let status = |key| machine.process(candor.pid()).status(key).unwrap();
        let words = |key| status(key).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((words("Uid"), words("Gid")), (vec!["1234".to_owned(); 4], vec!["2345".to_owned(); 4]), "{engine}");
        assert_eq!(words("Groups"), ["2345"], "{engine}");
        for set in ["CapEff", "CapPrm"] {
            assert_eq!(u64::from_str_radix(&status(set), 16).unwrap(), expected, "{engine}: {set}");
        }
        assert_eq!(fs::metadata("/run/candor").unwrap().uid(), 1234, "{engine}");
        send(&sender, &classic(0x123, &[1]));
        next_frame(&listener);
        // Root sees its jobs.
        let seen = Command::new(program()).args(["status", "--json"]).env_remove("CANDOR_RUN_DIR").output().unwrap();
        let text = String::from_utf8(seen.stdout).unwrap();
        assert!(text.contains("\"over\"") || engine != "kernel", "{engine}: {text}");
        // A second user must not start one.
        start(engine, Some("4321:4321")).wait().assert_refused(&["gateways of another user"]);
        candor.stop();
        assert_eq!(scene.jobs(), [], "{engine}");
    }
    // Without a gateway of the other user, root takes the directory back, without the right to open files of others.
    for engine in ["kernel", "read-write"] {
        let candor = start("read-write", Some("1234:2345")).ready();
        start(engine, None).wait().assert_refused(&["the same --user"]);
        candor.stop();
        assert_eq!(fs::metadata("/run/candor").unwrap().uid(), 1234, "{engine}");
        let own = start(engine, None).ready();
        assert_eq!(fs::metadata("/run/candor").unwrap().uid(), 0, "{engine}");
        own.stop();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn only_root_can_run_as_another_user() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let mut command = scene.command(&["run", "-", "--user", "1234:1234", "--engine", "read-write"]);
    command.uid(999).gid(999).env("CANDOR_RUN_DIR", "/tmp/999");
    let ended = Candor::spawn(&mut command, &gateway()).wait();
    ended.assert_refused(&["only root can run a gateway as another user"]);
}
