//! The device under test: a gateway started as a process, and stopped by SIGTERM.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_config::plan::Echo;
use candor_io::process;

/// Limit to become ready, and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Start-up time for programs that do not report when they are ready.
const SETTLE: Duration = Duration::from_millis(500);

/// With which `candor run --json` reports that it forwards.
const READY_EVENT: &str = "\"event\":\"ready\"";

const SIGTERM: i32 = 15;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Program {
    Gateway,
    Lab,
    /// By name or path.
    Named(String),
}

/// The engine in records of `candor-lab bare-metal`.
pub const BARE_METAL: &str = "bare-metal";

/// Programs that every guest and every board has.
pub const OWN_PROGRAMS: [&str; 2] = ["candor", "candor-lab"];

/// The `candor` next to this `candor-lab`, else the first in `PATH`.
pub fn gateway_program(lab: &Path) -> PathBuf {
    let sibling = lab.with_file_name("candor");
    if sibling.is_file() { sibling } else { "candor".into() }
}

/// Commands that start and stop a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    program: Program,
    arguments: Vec<OsString>,
    /// Command to run at the end; may be empty.
    stop: Vec<String>,
    shown: String,
}

impl Gateway {
    pub fn of_file(file: &Path) -> Self {
        let arguments = vec!["run".into(), file.into()];
        Self { program: Program::Gateway, arguments, stop: Vec::new(), shown: file.display().to_string() }
    }

    /// With this engine in place of the one in the file.
    #[must_use]
    pub fn with_engine(mut self, engine: &str) -> Self {
        self.arguments.push(format!("--engine={engine}").into());
        self
    }

    /// Any program that forwards frames until it is stopped, or that sets up the kernel and exits. `stop` is run at the
    /// end.
    pub fn of_command(start: &[String], stop: &[String]) -> Self {
        let (program, arguments) = match start.split_first() {
            Some((first, rest)) => (Program::Named(first.clone()), rest),
            None => (Program::Gateway, &[][..]),
        };
        Self {
            program,
            arguments: arguments.iter().map(Into::into).collect(),
            stop: stop.to_vec(),
            shown: start.join(" "),
        }
    }

    /// Makes `candor run` print events as JSON, one a line: the last has the counters of each route.
    #[must_use]
    pub fn with_json(mut self) -> Self {
        self.arguments.push("--json".into());
        self
    }

    /// Sets the name in messages, for files with generated names.
    pub fn called(self, shown: &str) -> Self {
        Self { shown: shown.to_owned(), ..self }
    }

    /// `candor-lab bare-metal FILE`.
    pub fn bare_metal(file: &Path) -> Self {
        let arguments = vec![BARE_METAL.into(), file.into()];
        Self { program: Program::Lab, arguments, stop: Vec::new(), shown: BARE_METAL.to_owned() }
    }

    /// `candor-lab baseline ENGINE`.
    pub fn baseline(engine: UserEngine, from: &str, to: &str, echo: Echo) -> Self {
        let mut arguments: Vec<OsString> =
            ["baseline", engine.name(), "--from", from, "--to", to].map(Into::into).to_vec();
        if echo == Echo::On {
            arguments.push("--echo".into());
        }
        Self { program: Program::Lab, arguments, stop: Vec::new(), shown: format!("{engine} without rules") }
    }
}

#[derive(Debug)]
pub struct Device {
    child: Child,
    lines: Receiver<String>,
    /// It has set up the kernel and exited.
    has_ended: bool,
    stop: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("Cannot start {}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("The gateway {gateway} ended before it was ready ({status})")]
    Ended { gateway: String, status: ExitStatus },
    #[error("The gateway {gateway} was not ready after {} s", PATIENCE.as_secs())]
    NotReady { gateway: String },
    #[error("Cannot end the gateway")]
    Stop(#[source] io::Error),
    #[error("The gateway ended with {0}")]
    Failed(ExitStatus),
}

impl Device {
    /// Starts a gateway and waits until it forwards frames. On failure, its process is gone.
    pub fn start(lab: &Path, gateway: &Gateway) -> Result<Self, DeviceError> {
        let program = match &gateway.program {
            Program::Gateway => gateway_program(lab),
            Program::Lab => lab.to_owned(),
            Program::Named(name) => name.into(),
        };
        let program = program.as_path();
        let mut child = Command::new(program)
            .args(&gateway.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| DeviceError::Start { program: program.to_owned(), source })?;
        let lines = lines_of(child.stdout.take());
        let mut device = Self { child, lines, has_ended: false, stop: gateway.stop.clone() };
        if matches!(gateway.program, Program::Named(_)) {
            return device.settle(gateway);
        }
        loop {
            match device.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with("ready") || line.contains(READY_EVENT) => return Ok(device),
                Ok(_other) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(DeviceError::NotReady { gateway: gateway.shown.clone() });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = device.child.wait().map_err(DeviceError::Stop)?;
                    return Err(DeviceError::Ended { gateway: gateway.shown.clone(), status });
                }
            }
        }
    }

    /// Programs that do not report readiness count as ready after a while, or when they exit with 0.
    fn settle(mut self, gateway: &Gateway) -> Result<Self, DeviceError> {
        thread::sleep(SETTLE);
        match self.child.try_wait().map_err(DeviceError::Stop)? {
            None => Ok(self),
            Some(status) if status.success() => {
                self.has_ended = true;
                Ok(self)
            }
            Some(status) => Err(DeviceError::Ended { gateway: gateway.shown.clone(), status }),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Stops the gateway with SIGTERM, and returns what it printed at the end. An exit status other than 0 is an error.
    pub fn stop(mut self) -> Result<Vec<String>, DeviceError> {
        let printed = if self.has_ended { Vec::new() } else { self.end()? };
        if let Some((program, arguments)) = std::mem::take(&mut self.stop).split_first() {
            let start = |source| DeviceError::Start { program: program.into(), source };
            let status = Command::new(program).args(arguments).stdin(Stdio::null()).status().map_err(start)?;
            if !status.success() {
                return Err(DeviceError::Failed(status));
            }
        }
        Ok(printed)
    }

    fn end(&mut self) -> Result<Vec<String>, DeviceError> {
        process::terminate(self.child.id()).map_err(DeviceError::Stop)?;
        let mut printed = Vec::new();
        // The channel ends with the gateway's standard output.
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => printed.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(DeviceError::Stop(io::Error::from(io::ErrorKind::TimedOut)));
                }
            }
        }
        let status = self.child.wait().map_err(DeviceError::Stop)?;
        // Other programs may not handle SIGTERM.
        if status.success() || status.signal() == Some(SIGTERM) {
            Ok(printed)
        } else {
            Err(DeviceError::Failed(status))
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let has_ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_status)));
        // A gateway of a failed measurement must not stay. It is stopped with SIGTERM first: killed, it would leave its
        // jobs in the kernel, where they forward frames of the next measurement.
        if has_ended(&mut self.child) || (self.end().is_ok() && has_ended(&mut self.child)) {
            return;
        }
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

pub(crate) type Lines = Receiver<String>;

/// Lines of an output, read by a thread so that waiting can time out.
pub fn lines_of(output: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
        lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}
