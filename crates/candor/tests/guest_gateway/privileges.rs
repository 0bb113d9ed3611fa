//! The privileges of a running gateway, read from the kernel for each thread.

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::ChildStdout;

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
struct Gateway {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Gateway {
    fn start(engine: &str, user: Option<&str>) -> Self {
        let mut command = Command::new(program());
        command.args(["run", "-", "--json", "--seccomp", "--engine", engine]).env_remove("CANDOR_RUN_DIR");
        command.args(user.into_iter().flat_map(|user| ["--user", user]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(gateway().as_bytes()).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until it is ready, and returns its process ID.
    fn ready(&mut self) -> u32 {
        let is_ready = |line: String| line.contains("\"ready\"");
        assert!(self.lines.by_ref().map(Result::unwrap).any(is_ready), "{:?}", self.ended());
        self.child.id()
    }

    /// Exit status and standard error.
    fn ended(&mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), errors)
    }

    fn end(mut self) {
        process::terminate(self.child.id()).unwrap();
        let (code, errors) = self.ended();
        assert_eq!(code, Some(0), "{errors}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn root_starts_a_gateway_as_another_user() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let (sender, listener) = (scene.sender("left"), scene.listener("right"));
    // Earlier gateways have ended.
    let _ = fs::remove_dir_all("/run/candor");
    for (engine, expected) in [("kernel", NET_ADMIN), ("mmap-write", NET_ADMIN | NET_RAW), ("read-write", 0)] {
        let mut candor = Gateway::start(engine, Some("1234:2345"));
        let pid = candor.ready();
        let machine = Machine::here();
        let status = |key| machine.process(pid).status(key).unwrap();
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
        let mut other = Gateway::start(engine, Some("4321:4321"));
        let (code, errors) = other.ended();
        assert!(code == Some(2) && errors.contains("gateways of another user"), "{engine}: {code:?} {errors}");
        candor.end();
        assert_eq!(scene.jobs(), [], "{engine}");
    }
    // Without a gateway of the other user, root takes the folder back, without the right to open files of others.
    for engine in ["kernel", "read-write"] {
        let mut candor = Gateway::start("read-write", Some("1234:2345"));
        candor.ready();
        let mut own = Gateway::start(engine, None);
        let (code, errors) = own.ended();
        assert!(code == Some(2) && errors.contains("the same --user"), "{engine}: {code:?} {errors}");
        candor.end();
        assert_eq!(fs::metadata("/run/candor").unwrap().uid(), 1234, "{engine}");
        let mut own = Gateway::start(engine, None);
        own.ready();
        assert_eq!(fs::metadata("/run/candor").unwrap().uid(), 0, "{engine}");
        own.end();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn only_root_can_run_as_another_user() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let mut command = scene.command(&["run", "-", "--user", "1234:1234", "--engine", "read-write"]);
    command.uid(999).gid(999).stdin(Stdio::piped()).stderr(Stdio::piped()).env("CANDOR_RUN_DIR", "/tmp/999");
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(gateway().as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{errors}");
    assert!(errors.contains("only root can run a gateway as another user"), "{errors}");
}
