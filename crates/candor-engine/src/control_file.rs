//! Where a running candor can be asked to read its file again, and answers.
//!
//! A file of the run directory, `NETNS-PID.reload`, says which gateway file the process runs, how many times it has begun to
//! read it again, how many times it has finished, and what came of the last time. Who asks looks at the number, sends
//! `SIGHUP`, and waits until a reading has finished that began after that; so nobody takes the answer to an earlier question
//! for his own, however many ask at once. Beside it, `NETNS-PID.metrics` is the socket at which `candor top` finds the process.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_io::signal::{self, Signal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run_dir::{RunDir, RunDirError, process_exists};

const PRIVATE_FILE: u32 = 0o600;
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The control_file of this process, which goes away with the value.
#[derive(Debug)]
pub struct ControlFile {
    path: PathBuf,
    state: ControlState,
}

/// What lies on a control_file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct ControlState {
    /// The gateway file by its full path; `None` if it cannot be read again.
    file: Option<String>,
    begun: u64,
    done: u64,
    answer: Value,
}

/// A candor that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The process.
    pub pid: u32,
    /// Its gateway file by its full path; `None` if that cannot be read again.
    pub file: Option<String>,
    /// Where it serves its metrics, in a socket that only its user can open.
    pub metrics: PathBuf,
    control_file: PathBuf,
}

/// A question without an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The process ended.
    #[error("candor process {pid} ended before it answered; what it said is where its output goes")]
    Ended {
        /// Which.
        pid: u32,
    },
    /// The process belongs to somebody else.
    #[error("candor process {pid} is somebody else's; run it as root: sudo candor reload")]
    NotPermitted {
        /// Which.
        pid: u32,
        /// Why.
        source: io::Error,
    },
    /// It does not answer.
    #[error("candor process {pid} has not answered for {} s; it may wait for a route with when-full = \"block\"", .waited.as_secs())]
    Silent {
        /// Which.
        pid: u32,
        /// How long.
        waited: Duration,
    },
}

impl ControlFile {
    /// Opens the control_file of this process; `None` where this user has no place for it.
    #[must_use]
    pub fn open(file: Option<String>) -> Option<Self> {
        let run_dir = RunDir::open_where_possible(&mut |_told_at_the_start| {}).ok()??;
        let control_file = Self {
            path: run_dir.control_file(std::process::id()),
            state: ControlState { file, ..ControlState::default() },
        };
        control_file.write().ok()?;
        Some(control_file)
    }

    /// Where this process may serve its metrics: in a socket that only its user can open.
    #[must_use]
    pub fn metrics(&self) -> PathBuf {
        metrics_socket(&self.path)
    }

    /// The file is about to be read.
    pub fn begin(&mut self) {
        self.state.begun += 1;
        // Whoever waits for an answer notices that none comes.
        let _ = self.write();
    }

    /// What has come of the last beginning.
    pub fn answer(&mut self, answer: Value) {
        self.state.done = self.state.begun;
        self.state.answer = answer;
        let _ = self.write();
    }

    fn write(&self) -> io::Result<()> {
        let aside = self.path.with_extension("reload-new");
        let text = serde_json::to_vec(&self.state)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(&aside)?;
        file.write_all(&text)?;
        fs::rename(&aside, &self.path)
    }
}

impl Drop for ControlFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Running {
    /// All candors of this network namespace that run, as far as this user may know.
    ///
    /// # Errors
    /// [`RunDirError`] if the run directory cannot be read.
    pub fn list() -> Result<Vec<Self>, RunDirError> {
        let opened = RunDir::open_existing(&mut |_told_by_status| {})?;
        let running: Vec<_> = opened.open.iter().flat_map(of_dir).collect();
        match opened.denied.into_iter().next() {
            Some(error) if running.is_empty() => Err(RunDirError::OwnersUnknown(error)),
            _ => Ok(running),
        }
    }

    /// Has it read its file again, and waits for what comes of it.
    ///
    /// # Errors
    /// [`ReloadError`].
    pub fn reload(&self, patience: Duration) -> Result<Value, ReloadError> {
        let pid = self.pid;
        let Some(before) = read(&self.control_file) else { return Err(ReloadError::Ended { pid }) };
        signal::send(pid, Signal::Hangup).map_err(|source| ReloadError::NotPermitted { pid, source })?;
        let asked = Instant::now();
        loop {
            match read(&self.control_file) {
                Some(state) if state.done > before.begun => return Ok(state.answer),
                Some(_) if process_exists(pid) => {}
                _ => return Err(ReloadError::Ended { pid }),
            }
            let waited = asked.elapsed();
            if waited >= patience {
                return Err(ReloadError::Silent { pid, waited });
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}

fn metrics_socket(control_file: &Path) -> PathBuf {
    control_file.with_extension("metrics")
}

fn of_dir(run_dir: &RunDir) -> impl Iterator<Item = Running> {
    run_dir.alive().iter().filter_map(|instance| {
        let pid = instance.pid()?;
        let control_file = run_dir.control_file(pid);
        let file = read(&control_file).and_then(|state| state.file);
        Some(Running { pid, file, metrics: metrics_socket(&control_file), control_file })
    })
}

/// `None` if there is none, or none that this version understands.
fn read(path: &Path) -> Option<ControlState> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_reading_answers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-1.reload");
        let mut control_file = ControlFile { path: path.clone(), state: ControlState::default() };
        control_file.write().unwrap();
        // One reading is under way when somebody asks.
        control_file.begin();
        let asked = read(&path).unwrap().begun;
        control_file.answer("old".into());
        assert!(read(&path).unwrap().done <= asked);
        control_file.begin();
        control_file.answer("new".into());
        let state = read(&path).unwrap();
        assert!(state.done > asked && state.answer == "new");
        drop(control_file);
        assert!(!path.exists());
    }
}
