//! Control files: requests to a running candor to reload, and its answers.
//!
//! `NETNS-PID.reload` in the run directory holds the gateway file of the process, the numbers of started and finished
//! reloads, and the result of the last one. A requester reads the number, sends `SIGHUP`, and waits until a reload has
//! finished that started later; so it never takes the answer to an earlier request, however many there are.
//! `NETNS-PID.metrics` is the socket for `candor top`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_config::signature::Signer;
use candor_io::signal::{self, Signal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run_dir::{Instance, RunDir, RunDirError, process_exists};

const PRIVATE_FILE: u32 = 0o600;
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The control file of this process; dropping it removes the file.
#[derive(Debug)]
pub struct ControlFile {
    path: PathBuf,
    state: ControlState,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct ControlState {
    /// Absolute path of the gateway file; `None` for standard input.
    file: Option<String>,
    /// Who signed it, if it needed a signature.
    #[serde(default)]
    signer: Option<String>,
    begun: u64,
    done: u64,
    answer: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub pid: u32,
    /// Absolute path of its gateway file; `None` for standard input.
    pub file: Option<String>,
    /// Its metrics socket, accessible to its user only.
    pub metrics: PathBuf,
    control_file: PathBuf,
}

/// A reload request that was not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    #[error("candor process {pid} ended before it answered; see its output")]
    Ended { pid: u32 },
    /// The process belongs to another user.
    #[error("candor process {pid} belongs to another user; run it as root: sudo candor reload")]
    NotPermitted {
        pid: u32,
        /// The errno of `kill()`.
        source: io::Error,
    },
    /// No answer within the timeout.
    #[error("candor process {pid} has not answered for {} s; a route with when-full = \"block\" may be waiting", .waited.as_secs())]
    Silent { pid: u32, waited: Duration },
}

impl ControlFile {
    /// Creates the control file of this process; `None` without a usable run directory.
    #[must_use]
    pub fn open(file: Option<String>, signer: Option<&Signer>) -> Option<Self> {
        let run_dir = RunDir::open_where_possible(&mut |_told_at_the_start| {}).ok()??;
        let control_file = Self {
            path: run_dir.control_file(std::process::id()),
            state: ControlState { file, signer: signer.map(Signer::to_record), ..ControlState::default() },
        };
        control_file.write().ok()?;
        Some(control_file)
    }

    /// Path for the metrics socket, accessible to its user only.
    #[must_use]
    pub fn metrics(&self) -> PathBuf {
        metrics_socket(&self.path)
    }

    /// Who signed the file that now runs; written with the next answer.
    pub fn signed_by(&mut self, signer: Option<&Signer>) {
        self.state.signer = signer.map(Signer::to_record);
    }

    pub fn begin(&mut self) {
        self.state.begun += 1;
        // The requester times out.
        let _ = self.write();
    }

    /// Records the result of the reload.
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
    /// All running candors of this network namespace that this user may see.
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

    /// Makes the process reload its file, and waits for the result.
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

/// Who signed the file that a process runs.
pub(crate) fn signer(run_dir: &RunDir, instance: &Instance) -> Option<Signer> {
    Signer::of_record(&read(&run_dir.control_file(instance.pid()?))?.signer?)
}

/// `None` if it is missing or of another version.
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
        // A reload is in progress when the request arrives.
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
