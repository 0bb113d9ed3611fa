//! What a running gateway may still do, read back from the kernel thread by thread.

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use candor_io::machine::Machine;
use candor_io::process;
use candor_io::signal::Signal;

use crate::candor::{Candor, Run, program};
use crate::frames::{classic, hear, listener_on, send, sender_on};
use crate::require::{Bus, Feature, jobs_between, require};

const IPC_LOCK: u64 = 1 << 14;
const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;
const SYS_NICE: u64 = 1 << 23;
const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\necho = true\n";
const PATIENCE: Duration = Duration::from_secs(20);

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
#[ignore = "runs in a guest"]
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
        let process = |key| Machine::here().process(candor.pid()).status(key).unwrap();
        assert_eq!((process("NoNewPrivs").as_str(), process("Seccomp").as_str()), ("1", "2"), "{engine}");
        let ended = candor.end(Signal::Terminate);
        assert!(ended.status.success(), "{engine}: {ended:?}");
    }
}

/// A gateway in the run directory that everybody has, as `candor run` with these arguments.
struct Ours {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Ours {
    fn start(engine: &str, user: Option<&str>) -> Self {
        let mut command = Command::new(program());
        command.args(["run", "-", "--json", "--seccomp", "--engine", engine]).env_remove("CANDOR_RUN_DIR");
        command.args(user.into_iter().flat_map(|user| ["--user", user]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(BUSES.as_bytes()).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until it is ready, and gives its process.
    fn ready(&mut self) -> u32 {
        let is_ready = |line: String| line.contains("\"ready\"");
        assert!(self.lines.by_ref().map(Result::unwrap).any(is_ready), "{:?}", self.ended());
        self.child.id()
    }

    /// How it ended, and what it said on standard error.
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
fn another_user_runs_a_gateway_that_root_started() {
    let Some(_machine) = require(&[Feature::Cangw, Feature::Root, Feature::Vcan]) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let sender = sender_on(left.index);
    let listener = listener_on(right.index);
    // Who listed something there earlier has ended.
    let _ = std::fs::remove_dir_all("/run/candor");
    for (engine, expected) in [("kernel", NET_ADMIN), ("mmap-write", NET_ADMIN | NET_RAW), ("read-write", 0)] {
        let mut candor = Ours::start(engine, Some("1234:2345"));
        let pid = candor.ready();
        let machine = Machine::here();
        let status = |key| machine.process(pid).status(key).unwrap();
        let words = |key| status(key).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((words("Uid"), words("Gid")), (vec!["1234".to_owned(); 4], vec!["2345".to_owned(); 4]), "{engine}");
        assert_eq!(words("Groups"), ["2345"], "{engine}");
        for set in ["CapEff", "CapPrm"] {
            assert_eq!(u64::from_str_radix(&status(set), 16).unwrap(), expected, "{engine}: {set}");
        }
        assert_eq!(std::fs::metadata("/run/candor").unwrap().uid(), 1234, "{engine}");
        send(&sender, &classic(0x123, &[1]));
        assert!(hear(&listener, PATIENCE).is_some(), "{engine}: a frame is missing");
        // Root knows of it.
        let seen = Command::new(program()).args(["status", "--json"]).env_remove("CANDOR_RUN_DIR").output().unwrap();
        let text = String::from_utf8(seen.stdout).unwrap();
        assert!(text.contains("\"over\"") || engine != "kernel", "{engine}: {text}");
        // A second user would not.
        let mut other = Ours::start(engine, Some("4321:4321"));
        let (code, errors) = other.ended();
        assert!(code == Some(2) && errors.contains("gateways of another user"), "{engine}: {code:?} {errors}");
        candor.end();
        assert_eq!(jobs_between(&[&left, &right]), [], "{engine}");
    }
    // Nobody's gateway runs there any more, so root's own takes the folder back, without the right to open files of others.
    for engine in ["kernel", "read-write"] {
        let mut candor = Ours::start("read-write", Some("1234:2345"));
        candor.ready();
        let mut own = Ours::start(engine, None);
        let (code, errors) = own.ended();
        assert!(code == Some(2) && errors.contains("the same --user"), "{engine}: {code:?} {errors}");
        candor.end();
        assert_eq!(std::fs::metadata("/run/candor").unwrap().uid(), 1234, "{engine}");
        let mut own = Ours::start(engine, None);
        own.ready();
        assert_eq!(std::fs::metadata("/run/candor").unwrap().uid(), 0, "{engine}");
        own.end();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn only_root_becomes_another_user() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let _buses = (Bus::new("left"), Bus::new("right"));
    let mut command = Command::new(program());
    command.args(["run", "-", "--user", "1234:1234", "--engine", "read-write"]).uid(999).gid(999);
    command.stdin(Stdio::piped()).stderr(Stdio::piped()).env("CANDOR_RUN_DIR", "/tmp/999");
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(BUSES.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(
        ended.status.code() == Some(2) && errors.contains("only root can run a gateway as another user"),
        "{errors}"
    );
}
