//! `candor run` as a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use candor_io::signal::{self, Signal};
use serde_json::Value;

use crate::require::Bus;

/// Longer than anything takes, also in a guest whose every instruction is counted.
const PATIENCE: Duration = Duration::from_secs(60);

/// How to start it.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) gateway: &'a str,
    pub(crate) engine: &'a str,
    pub(crate) run_dir: PathBuf,
    /// Run as this user instead of root.
    pub(crate) uid: Option<u32>,
}

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command to its end.
pub(crate) fn said(mut command: Command) -> Said {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { status: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Two buses and a folder for the lists of jobs.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) left: Bus,
    pub(crate) right: Bus,
    pub(crate) run_dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { left: Bus::new("left"), right: Bus::new("right"), run_dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn run<'a>(&self, gateway: &'a str, engine: &'a str, uid: Option<u32>) -> Run<'a> {
        Run { gateway, engine, run_dir: self.run_dir.path().to_owned(), uid }
    }
}

/// Every gateway is confined, so that all tests find calls that it needs and may not make.
const CONFINED: &str = "--seccomp";

/// A `candor run --json` whose output is read as it comes.
#[derive(Debug)]
pub(crate) struct Candor {
    child: Child,
    events: Receiver<Value>,
    /// What came before `ready`.
    pub(crate) before_ready: Vec<Value>,
    errors: Option<JoinHandle<String>>,
}

/// What was left to read.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) events: Vec<Value>,
    pub(crate) errors: String,
}

impl Run<'_> {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(&self) -> Candor {
        self.spawn(Path::new("-")).ready()
    }

    /// Starts it with its gateway in a file, so that it can be read again, and waits until it is ready.
    pub(crate) fn start_from(&self, file: &Path) -> Candor {
        write(file, self.gateway);
        self.spawn(file).ready()
    }

    /// Starts it and waits until it has ended, which it must do by itself.
    pub(crate) fn fails(&self) -> Ended {
        self.spawn(Path::new("-")).wait()
    }

    fn spawn(&self, file: &Path) -> Candor {
        let mut command = Command::new(program());
        command
            .arg("run")
            .arg(file)
            .args(["--json", CONFINED, "--engine", self.engine])
            .env("CANDOR_RUN_DIR", &self.run_dir);
        // Where it comes through standard input: another user could not read it from a folder of root's.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.gateway.as_bytes()).unwrap();
        let (sender, events) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let event = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let errors = Some(std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        }));
        Candor { child, events, before_ready: Vec::new(), errors }
    }
}

impl Candor {
    fn ready(mut self) -> Self {
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(event) if event["event"] == "ready" => return self,
                Ok(event) => self.before_ready.push(event),
                Err(_) => panic!("candor did not become ready: {:?}", self.wait()),
            }
        }
    }

    /// Waits for the next event of one of these kinds.
    pub(crate) fn event(&self, kinds: &[&str]) -> Value {
        loop {
            let event = self.events.recv_timeout(PATIENCE).unwrap();
            if kinds.iter().any(|kind| event["event"] == *kind) {
                return event;
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end(self, signal: Signal) -> Ended {
        signal::send(self.child.id(), signal).unwrap();
        self.wait()
    }

    /// Waits for the next notice.
    pub(crate) fn notice(&self) -> String {
        loop {
            let event = self.events.recv_timeout(PATIENCE).unwrap();
            if event["event"] == "notice" {
                return event["text"].as_str().unwrap().to_owned();
            }
        }
    }

    /// The next notice, if one has come.
    pub(crate) fn notice_now(&self) -> Option<String> {
        let mut events = std::iter::from_fn(|| self.events.try_recv().ok());
        let notice = events.find(|event| event["event"] == "notice")?;
        Some(notice["text"].as_str().unwrap().to_owned())
    }

    /// The death that no program can prepare for.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end.
    pub(crate) fn wait(mut self) -> Ended {
        let mut events = Vec::new();
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(event) => events.push(event),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("candor did not end; it said {events:?}");
                }
            }
        }
        let status = self.child.wait().unwrap();
        Ended { status, events, errors: self.errors.take().unwrap().join().unwrap() }
    }
}

impl Drop for Candor {
    fn drop(&mut self) {
        // Only after a failed assertion; a candor that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Checks that every frame is accounted for on every route and bus of user space, and gives the last counters.
    #[track_caller]
    pub(crate) fn accounts(&self) -> &Value {
        assert!(self.status.success(), "{self:?}");
        let counters = self.event("final-counters");
        let number = |value: &Value| value.as_u64().unwrap();
        for route in counters["routes"].as_array().unwrap().iter().filter(|route| route["matched"].is_u64()) {
            assert_eq!(number(&route["matched"]), number(&route["handled"]) + number(&route["dropped"]), "{counters}");
        }
        for bus in counters["buses"].as_array().unwrap() {
            assert_eq!(number(&bus["received"]), number(&bus["taken"]) + number(&bus["unwanted"]), "{counters}");
        }
        let wrong = notices(&self.events).into_iter().find(|text| text.contains("frame counters do not add up"));
        assert_eq!(wrong, None);
        counters
    }

    /// The one event of this kind.
    pub(crate) fn event(&self, kind: &str) -> &Value {
        self.events.iter().find(|event| event["event"] == kind).unwrap_or_else(|| panic!("no {kind} in {self:?}"))
    }
}

/// Puts a file into the place of another in one step, as an editor does.
pub(crate) fn write(file: &Path, text: &str) {
    let aside = file.with_extension("new");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(aside, file).unwrap();
}

/// The texts of the notices among these events.
pub(crate) fn notices(events: &[Value]) -> Vec<&str> {
    events.iter().filter(|event| event["event"] == "notice").filter_map(|event| event["text"].as_str()).collect()
}

/// The laboratory's binary.
pub(crate) fn lab() -> PathBuf {
    if std::env::var_os("CANDOR_TESTBED").is_some() {
        "candor-lab".into()
    } else {
        program().with_file_name("candor-lab")
    }
}

/// The binary under test.
pub(crate) fn program() -> PathBuf {
    match std::env::var_os("CANDOR_BIN") {
        Some(path) => path.into(),
        None if std::env::var_os("CANDOR_TESTBED").is_some() => "candor".into(),
        None => env!("CARGO_BIN_EXE_candor").into(),
    }
}
