//! The device under test: a gateway that is started as a process of its own, and asked to end.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_config::plan::Echo;
use candor_io::process;

/// How long a gateway may take until it is ready, and until it has ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a program has that does not tell when it is ready.
const SETTLE: Duration = Duration::from_millis(500);

const SIGTERM: i32 = 15;

/// Which program runs a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Program {
    /// `candor`.
    Gateway,
    /// `candor-lab`.
    Lab,
    /// Any other program, by name or path.
    Named(String),
}

/// The program `candor` that belongs to this `candor-lab`: the one in the same folder, else the first in `PATH`.
#[must_use]
pub fn gateway_program(lab: &Path) -> PathBuf {
    let sibling = lab.with_file_name("candor");
    if sibling.is_file() { sibling } else { "candor".into() }
}

/// What candor is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    program: Program,
    arguments: Vec<OsString>,
    /// What is run in the end: program and arguments, or nothing.
    stop: Vec<String>,
    /// For people.
    shown: String,
}

impl Gateway {
    /// `candor run FILE`.
    #[must_use]
    pub fn of_file(file: &Path) -> Self {
        let arguments = vec!["run".into(), file.into()];
        Self { program: Program::Gateway, arguments, stop: Vec::new(), shown: file.display().to_string() }
    }

    /// Any program that forwards frames until it is asked to end, or that sets the kernel up and ends. `stop` is run in the
    /// end.
    #[must_use]
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

    /// The same, whose file has a name that says nothing, and another one in each run.
    #[must_use]
    pub fn called(self, shown: &str) -> Self {
        Self { shown: shown.to_owned(), ..self }
    }

    /// `candor-lab baseline ENGINE`: a loop without rules.
    #[must_use]
    pub fn baseline(engine: UserEngine, from: &str, to: &str, echo: Echo) -> Self {
        let mut arguments: Vec<OsString> =
            ["baseline", engine.name(), "--from", from, "--to", to].map(Into::into).to_vec();
        if echo == Echo::On {
            arguments.push("--echo".into());
        }
        Self { program: Program::Lab, arguments, stop: Vec::new(), shown: format!("{engine} without rules") }
    }
}

/// A running gateway.
#[derive(Debug)]
pub struct Device {
    child: Child,
    lines: Receiver<String>,
    /// It has set the kernel up, and ended.
    has_ended: bool,
    stop: Vec<String>,
}

/// A gateway that could not be started or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The program cannot be started.
    #[error("Cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It ended before it was ready; its own message is on standard error.
    #[error("The gateway {gateway} ended before it was ready ({status})")]
    Ended {
        /// The gateway.
        gateway: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It never said that it was ready.
    #[error("The gateway {gateway} was not ready after {} s", PATIENCE.as_secs())]
    NotReady {
        /// The gateway.
        gateway: String,
    },
    /// It could not be ended or waited for.
    #[error("Cannot end the gateway")]
    Stop(#[source] io::Error),
    /// It ended, but not well.
    #[error("The gateway ended with {0}")]
    EndedBadly(ExitStatus),
}

impl Device {
    /// Starts a gateway and waits until it forwards frames.
    ///
    /// # Errors
    /// [`DeviceError`]; a gateway that did not become ready is gone when this returns.
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
        let lines = lines_of(&mut child);
        let mut device = Self { child, lines, has_ended: false, stop: gateway.stop.clone() };
        if matches!(gateway.program, Program::Named(_)) {
            return device.settle(gateway);
        }
        loop {
            match device.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with("ready") => return Ok(device),
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

    /// A program that does not tell when it is ready: it is when it has had time, or has ended with 0.
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

    /// Its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the gateway as a user would, and gives back what it said at the end.
    ///
    /// # Errors
    /// [`DeviceError`] if it does not end, or with another status than 0.
    pub fn stop(mut self) -> Result<Vec<String>, DeviceError> {
        let said = if self.has_ended { Vec::new() } else { self.end()? };
        if let Some((program, arguments)) = std::mem::take(&mut self.stop).split_first() {
            let start = |source| DeviceError::Start { program: program.into(), source };
            let status = Command::new(program).args(arguments).stdin(Stdio::null()).status().map_err(start)?;
            if !status.success() {
                return Err(DeviceError::EndedBadly(status));
            }
        }
        Ok(said)
    }

    fn end(&mut self) -> Result<Vec<String>, DeviceError> {
        process::terminate(self.child.id()).map_err(DeviceError::Stop)?;
        let mut said = Vec::new();
        // The channel ends when the gateway's standard output does, which is when the gateway ends.
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(DeviceError::Stop(io::Error::from(io::ErrorKind::TimedOut)));
                }
            }
        }
        let status = self.child.wait().map_err(DeviceError::Stop)?;
        // A foreign program may know nothing of SIGTERM, and be ended by it.
        if status.success() || status.signal() == Some(SIGTERM) {
            Ok(said)
        } else {
            Err(DeviceError::EndedBadly(status))
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let has_ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_status)));
        // Already ended after `stop`; otherwise the measurement failed and the gateway must not stay. It is asked first: a gateway
        // that is killed leaves its jobs in the kernel, where they forward the frames of whatever is measured next.
        if has_ended(&mut self.child) || (self.end().is_ok() && has_ended(&mut self.child)) {
            return;
        }
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// What a process prints.
pub(crate) type Lines = Receiver<String>;

/// Standard output line by line, read by a thread so that waiting for a line can time out.
pub(crate) fn lines_of(child: &mut Child) -> Lines {
    let (sender, lines) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    lines
}
