//! The programs as processes.

use std::io::{BufRead, BufReader, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use candor_cli::schema::{command_of, stem, validate};

use crate::prelude::*;

/// Longer than anything takes, also in a guest that counts instructions.
const PATIENCE: Duration = Duration::from_secs(60);

/// Every gateway is confined, so that all tests find system calls that it needs and may not make.
const CONFINED: &str = "--seccomp";

#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) gateway: &'a str,
    pub(crate) engine: &'a str,
    pub(crate) run_dir: PathBuf,
    /// The user, if not root.
    pub(crate) uid: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Output {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status, and words: of status 2 on standard error, otherwise on either output.
    #[track_caller]
    pub(crate) fn assert(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, status, "{self:?}");
        for word in words {
            let is_printed = status != 2 && self.out.contains(word);
            assert!(is_printed || self.err.contains(word), "no {word:?} in {self:?}");
        }
    }
}

pub(crate) fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    from(command, output)
}

/// Requires that the output of `candor COMMAND --json`, or `candor-lab`, has its published schema.
#[track_caller]
fn from(command: &Command, output: std::process::Output) -> Output {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let output =
        Output { status: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
    if output.status != 2
        && let Some(schema) = schema(command)
    {
        for printed in serde_json::Deserializer::from_str(&output.out).into_iter::<Value>() {
            assert_eq!(validate(&schema, &printed.unwrap()), Ok(()), "{command:?}: {output:?}");
        }
    }
    output
}

fn schema(command: &Command) -> Option<Value> {
    macro_rules! published {
        ($($name:literal)*) => {
            [$(($name, include_str!(concat!("../../../../docs/schema/", $name, ".schema.json")))),*]
        };
    }
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_str().unwrap_or_default()).collect();
    let called = Path::new(command.get_program());
    let known = [(program(), "candor"), (lab(), "candor-lab")];
    let (_, program) = known.into_iter().find(|(path, _)| path == called)?;
    let name = stem(&command_of(program, &arguments)?);
    let published = published![
        "apply" "check" "doctor" "down" "dump" "egress-apply" "egress-clear" "egress-plan" "egress-show" "egress-verify"
        "egress-watch" "engines" "explain" "lab-bursts" "lab-can-send" "lab-conformance" "lab-hops" "lab-measure"
        "lab-precision" "lab-replay" "lab-soak" "lab-stream" "lab-system-calls" "lab-wire" "lab-wire-inject" "mode" "plan" "record" "reload" "run"
        "show" "status" "top" "watch"
    ];
    let (_, schema) =
        published.into_iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no schema of {name}"));
    Some(serde_json::from_str(schema).unwrap())
}

/// The output of a command with this standard input.
pub(crate) fn output_of(command: &mut Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    from(command, output)
}

/// A process that a failed test does not leave behind.
#[derive(Debug)]
pub(crate) struct Guarded(Child);

impl Guarded {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }
}

impl Deref for Guarded {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // One that has ended and was waited for is not killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ends a process with SIGTERM, which must succeed.
#[track_caller]
pub(crate) fn terminate(mut child: Guarded) {
    signal::send(child.id(), Signal::Terminate).unwrap();
    assert!(child.wait().unwrap().success());
}

pub(crate) fn lab_output(arguments: &[&str]) -> Output {
    output(Command::new(lab()).args(arguments))
}

/// A running command that prints events, such as `candor run --json`.
#[derive(Debug)]
pub(crate) struct Candor {
    child: Guarded,
    events: Receiver<Value>,
    /// The last is `ready`.
    pub(crate) before_ready: Vec<Value>,
    errors: Option<JoinHandle<String>>,
}

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

    /// The same with the gateway in a file, which can be reloaded.
    pub(crate) fn start_from(&self, file: &Path) -> Candor {
        write(file, self.gateway);
        self.spawn(file).ready()
    }

    /// Starts it and waits until it has ended by itself.
    pub(crate) fn fails(&self) -> Ended {
        self.spawn(Path::new("-")).wait()
    }

    // The gateway comes through standard input, because another user cannot read a directory of root.
    fn spawn(&self, file: &Path) -> Candor {
        let mut command = Command::new(program());
        command.arg("run").arg(file).args(["--json", CONFINED, "--engine", self.engine]);
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        Candor::spawn(command.env("CANDOR_RUN_DIR", &self.run_dir), self.gateway)
    }
}

impl Candor {
    pub(crate) fn spawn(command: &mut Command, input: &str) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Guarded::spawn(command);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let (sender, events) = mpsc::channel();
        let schema = schema(command);
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let event = serde_json::from_str(&line.unwrap()).unwrap();
                let is_valid = schema.as_ref().map_or(Ok(()), |schema| validate(schema, &event));
                assert_eq!(is_valid, Ok(()), "{event}");
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let stderr = child.stderr.take().unwrap();
        let errors = Some(std::thread::spawn(move || std::io::read_to_string(stderr).unwrap()));
        Self { child, events, before_ready: Vec::new(), errors }
    }

    pub(crate) fn ready(mut self) -> Self {
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(event) => {
                    let is_ready = event["event"] == "ready";
                    self.before_ready.push(event);
                    if is_ready {
                        return self;
                    }
                }
                Err(_) => panic!("candor did not become ready: {:?}", self.wait()),
            }
        }
    }

    pub(crate) fn event(&self, kinds: &[&str]) -> Value {
        loop {
            let event = self.events.recv_timeout(PATIENCE).unwrap();
            if kinds.iter().any(|kind| event["event"] == *kind) {
                return event;
            }
        }
    }

    /// Makes it read its file again, and returns the event with the result.
    pub(crate) fn reload(&self) -> Value {
        signal::send(self.pid(), Signal::Hangup).unwrap();
        self.event(&["reloaded", "not-reloaded", "invalid"])
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn end(self, signal: Signal) -> Ended {
        signal::send(self.child.id(), signal).unwrap();
        self.wait()
    }

    /// Ends it with SIGTERM, which must succeed.
    #[track_caller]
    pub(crate) fn stop(self) -> Ended {
        let ended = self.end(Signal::Terminate);
        assert!(ended.status.success(), "{ended:?}");
        ended
    }

    pub(crate) fn notice(&self) -> String {
        self.event(&["notice"])["text"].as_str().unwrap().to_owned()
    }

    pub(crate) fn notice_with(&self, words: &str) -> String {
        loop {
            let notice = self.notice();
            if notice.contains(words) {
                return notice;
            }
        }
    }

    /// The next notice if there is one now.
    pub(crate) fn notice_now(&self) -> Option<String> {
        let mut events = std::iter::from_fn(|| self.events.try_recv().ok());
        let notice = events.find(|event| event["event"] == "notice")?;
        Some(notice["text"].as_str().unwrap().to_owned())
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn wait(mut self) -> Ended {
        let mut events = Vec::new();
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(event) => events.push(event),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("candor did not end; its events: {events:?}");
                }
            }
        }
        let status = self.child.wait().unwrap();
        Ended { status, events, errors: self.errors.take().unwrap().join().unwrap() }
    }
}

impl Ended {
    /// Checks that the frames of every user-space route and bus add up, and returns the last counters.
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

    pub(crate) fn event(&self, kind: &str) -> &Value {
        self.events.iter().find(|event| event["event"] == kind).unwrap_or_else(|| panic!("no {kind} in {self:?}"))
    }

    pub(crate) fn routes(&self) -> &[Value] {
        self.event("final-counters")["routes"].as_array().unwrap()
    }

    /// Handled, dropped and deleted frames of a route.
    pub(crate) fn counted(&self, name: &str) -> [u64; 3] {
        let route = self.routes().iter().find(|route| route["route"] == name).unwrap();
        ["handled", "dropped", "deleted"].map(|key| route[key].as_u64().unwrap())
    }

    /// It ended with status 2 and these words on standard error.
    #[track_caller]
    pub(crate) fn assert_refused(&self, words: &[&str]) {
        assert_eq!(self.status.code(), Some(2), "{self:?}");
        for word in words {
            assert!(self.errors.contains(word), "no {word:?} in {:?}", self.errors);
        }
    }
}

/// Replaces a file in one step, as an editor does.
pub(crate) fn write(file: &Path, text: &str) {
    let aside = file.with_extension("new");
    fs::write(&aside, text).unwrap();
    fs::rename(aside, file).unwrap();
}

pub(crate) fn notices(events: &[Value]) -> Vec<&str> {
    events.iter().filter(|event| event["event"] == "notice").filter_map(|event| event["text"].as_str()).collect()
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn lab() -> PathBuf {
    if std::env::var_os("CANDOR_TESTBED").is_some() {
        "candor-lab".into()
    } else {
        program().with_file_name("candor-lab")
    }
}

pub(crate) fn program() -> PathBuf {
    match std::env::var_os("CANDOR_BIN") {
        Some(path) => path.into(),
        None if std::env::var_os("CANDOR_TESTBED").is_some() => "candor".into(),
        None => env!("CARGO_BIN_EXE_candor").into(),
    }
}

/// The clock of this guest counts instructions: figures can be compared exactly.
pub(crate) fn counts_instructions() -> bool {
    std::env::var("CANDOR_TESTBED").is_ok_and(|testbed| testbed == "icount")
}
