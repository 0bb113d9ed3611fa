//! Runs a gateway and a load for a tester in another process, on this machine or another.
//!
//! ```text
//!  tester ──stdin──▶ Assignment, "end" ──▶ supervisor ──▶ device under test, load
//!         ◀─stdout── Reply                  │
//!         end of input, or silence ─────────┴──▶ both are stopped
//! ```
//!
//! If the tester ends for any reason (Ctrl-C, a signal, a cable), so does the supervisor's input. The supervisor then stops
//! gateway and load as after a measurement: can-gw jobs are removed, and the `stop` command of the plan is run.

mod line;

pub(crate) use line::{Line, wait as wait_for_end};
pub use line::{Supervised, SupervisorError};

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use candor_core::causes;
use candor_io::clock;
use serde::{Deserialize, Serialize};

use crate::cells::Device;
use crate::device::{self, lines_of};
use crate::experiment::load::Load;
use crate::load::{Activity, Running};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Name of the cell, for the gateway file.
    pub name: String,
    pub device: Device,
    pub load: String,
    /// Seconds without a line, even an empty one, after which the tester counts as gone: a pulled cable does not end
    /// the input. `None`: no limit.
    pub silence_s: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    Ready(Machine),
    Ended(Ended),
    /// They do not run, or did not stop properly; with the reason.
    Failed(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub kernel_release: String,
    pub kernel_command_line: String,
    pub architecture: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Output of the gateway after it was ready.
    pub said: Vec<String>,
    /// Activity of the machine meanwhile, by name.
    pub activity_per_second: BTreeMap<String, u64>,
}

const END: &str = "end";

/// Runs one assignment, the first line of `input`. Returns when it has ended; its failure is reported on `output`.
pub fn run(lab: &Path, input: impl Read + Send + 'static, mut output: impl Write) -> io::Result<()> {
    let lines = lines_of(Some(input));
    let assignment = lines.recv().map_err(|_ended| io::Error::other("no assignment on standard input"))?;
    let assignment: Assignment = serde_json::from_str(&assignment)?;
    let mut send = |reply: &Reply| -> io::Result<()> {
        writeln!(output, "{}", serde_json::to_string(reply)?)?;
        output.flush()
    };
    let folder = tempfile::Builder::new().prefix("candor-supervise-").tempdir()?;
    let running = match start(lab, &assignment, folder.path()) {
        Ok(running) => running,
        Err(why) => return send(&Reply::Failed(why)),
    };
    let before = (Activity::now(), clock::monotonic()?);
    // If the tester is gone, its end of the input is seen next.
    let is_told = send(&Reply::Ready(Machine::this())).is_ok();
    let is_asked = is_told && wait(&lines, assignment.silence_s.map(Duration::from_secs));
    let time = Duration::from_nanos(u64::try_from(clock::monotonic()?.0 - before.1.0).unwrap_or_default());
    let activity_per_second = Activity::now().per_second_since(&before.0, time);
    let reply = match end(running) {
        Ok(said) => Reply::Ended(Ended { said, activity_per_second }),
        Err(why) => Reply::Failed(why),
    };
    if is_asked { send(&reply) } else { Ok(()) }
}

type Both = (Option<device::Device>, Option<Running>);

fn start(lab: &Path, assignment: &Assignment, folder: &Path) -> Result<Both, String> {
    let load: Load = assignment.load.parse().map_err(|error| format!("{error}"))?;
    let gateway = assignment.device.gateway(folder, &assignment.name)?;
    let running = gateway.map(|gateway| device::Device::start(lab, &gateway)).transpose();
    let running = running.map_err(|error| causes::in_full(&error))?;
    // After the gateway: thousands of rules take long to install on a loaded machine.
    let loaded = Running::start(lab, load).map_err(|error| causes::in_full(&error))?;
    Ok((running, loaded))
}

fn end((gateway, loaded): Both) -> Result<Vec<String>, String> {
    drop(loaded);
    let said = gateway.map(device::Device::stop).transpose();
    said.map(Option::unwrap_or_default).map_err(|error| causes::in_full(&error))
}

/// Waits for the end; returns whether it was requested.
fn wait(lines: &Receiver<String>, silence: Option<Duration>) -> bool {
    loop {
        let line = match silence {
            Some(silence) => lines.recv_timeout(silence),
            None => lines.recv().map_err(|_ended| RecvTimeoutError::Disconnected),
        };
        match line {
            Ok(line) if line == END => return true,
            Ok(_alive) => {}
            Err(_gone) => return false,
        }
    }
}

/// Removes a directory when the input ends or has been silent for this time.
pub fn hold(folder: &Path, input: impl Read + Send + 'static, silence: Duration) -> io::Result<()> {
    let lines = lines_of(Some(input));
    while lines.recv_timeout(silence).is_ok() {}
    fs::remove_dir_all(folder)
}

impl Machine {
    fn this() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            kernel_release: text("/proc/sys/kernel/osrelease"),
            kernel_command_line: text("/proc/cmdline"),
            architecture: std::env::consts::ARCH.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
