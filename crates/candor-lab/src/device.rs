//! The device under test: a gateway that is started as a process of its own, and asked to end.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use candor_core::engine::UserEngine;
use candor_core::plan::Echo;
use candor_io::process;

/// How long a gateway may take until it is ready, and until it has ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// What candor is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    arguments: Vec<OsString>,
    /// For people.
    shown: String,
}

impl Gateway {
    /// `candor run FILE`.
    #[must_use]
    pub fn of_file(file: &Path) -> Self {
        Self { arguments: vec!["run".into(), file.into()], shown: file.display().to_string() }
    }

    /// `candor lab floor ENGINE`: a loop without rules.
    #[must_use]
    pub fn floor(engine: UserEngine, from: &str, to: &str, echo: Echo) -> Self {
        let mut arguments: Vec<OsString> =
            ["lab", "floor", engine.name(), "--from", from, "--to", to].map(Into::into).to_vec();
        if echo == Echo::On {
            arguments.push("--echo".into());
        }
        Self { arguments, shown: format!("{engine} without rules") }
    }
}

/// A running gateway.
#[derive(Debug)]
pub struct Device {
    child: Child,
    lines: Receiver<String>,
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
    pub fn start(candor: &Path, gateway: &Gateway) -> Result<Self, DeviceError> {
        let mut child = Command::new(candor)
            .args(&gateway.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| DeviceError::Start { program: candor.to_owned(), source })?;
        let lines = lines_of(&mut child);
        let mut device = Self { child, lines };
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
        if status.success() { Ok(said) } else { Err(DeviceError::EndedBadly(status)) }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // Already ended after `stop`; otherwise the measurement failed and the gateway must not stay.
        let ended = matches!(self.child.try_wait(), Ok(Some(_status)));
        if !ended && self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// Standard output line by line, read by a thread so that waiting for a line can time out.
fn lines_of(child: &mut Child) -> Receiver<String> {
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
