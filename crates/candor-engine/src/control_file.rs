//! Control files: requests to a running candor to reload, and its answers.
//!
//! `NETNS-PID.reload` in the run directory holds the gateway file of the process, the numbers of started and finished
//! reloads, and the result of the last one. A requester reads the number, sends `SIGHUP`, and waits until a reload has
//! finished that started later; so it never takes the answer to an earlier request, however many there are.
//! `NETNS-PID.mode` is what `candor mode` asks for, beside a `SIGHUP`. `NETNS-PID.metrics` is the socket for `candor top`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use candor_config::signature::Signer;
use candor_io::clock;
use candor_io::signal::{self, Signal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use candor_userspace::run_dir::{Instance, RunDir, RunDirError, process_exists};

const PRIVATE_FILE: u32 = 0o600;
/// A request that is older was made for an earlier signal.
const FRESH: Duration = Duration::from_secs(10);
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
    /// Distinguishes this gateway from earlier ones, which may have had the same process id.
    #[serde(default)]
    started_ns: i64,
    begun: u64,
    done: u64,
    answer: Value,
}

/// What `candor mode` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeRequest {
    /// To enter this mode.
    Enter(String),
    /// To leave the current mode.
    Leave,
    /// To say which mode lasts.
    Show,
}

/// Content of a request file.
#[derive(Debug, Deserialize, Serialize)]
struct Requested {
    started_ns: i64,
    request: ModeRequest,
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
    /// The request could not be written.
    #[error("cannot write the request for candor process {pid}; run it as root: sudo candor mode")]
    NotWritten { pid: u32, source: io::Error },
    /// No answer within the timeout.
    #[error("candor process {pid} has not answered for {} s; a route with when-full = \"block\" may be waiting", .waited.as_secs())]
    Silent { pid: u32, waited: Duration },
}

impl ControlFile {
    /// Creates the control file of this process; `None` without a usable run directory.
    #[must_use]
    pub fn open(file: Option<String>, signer: Option<&Signer>) -> Option<Self> {
        let run_dir = RunDir::open_where_possible(&mut |_told_at_the_start| {}).ok()??;
        let started_ns = clock::realtime().map_or(0, |now| now.0);
        let signer = signer.map(Signer::to_record);
        let control_file = Self {
            path: run_dir.control_file(std::process::id()),
            state: ControlState { file, signer, started_ns, ..ControlState::default() },
        };
        // Of an earlier process with this id.
        let _ = fs::remove_file(mode_request(&control_file.path));
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

    /// Takes the request of `candor mode` that belongs to this signal, if there is one. One for an earlier gateway, or for an
    /// earlier signal, is removed.
    #[must_use]
    pub fn take_mode_request(&self) -> Option<ModeRequest> {
        let path = mode_request(&self.path);
        let written = fs::metadata(&path).and_then(|data| data.modified()).ok()?;
        let content = fs::read(&path);
        // What cannot be removed would be obeyed again.
        fs::remove_file(&path).ok()?;
        let Requested { started_ns, request } = serde_json::from_slice(&content.ok()?).ok()?;
        let is_fresh = SystemTime::now().duration_since(written).is_ok_and(|age| age <= FRESH);
        (started_ns == self.state.started_ns && is_fresh).then_some(request)
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
        let _ = fs::remove_file(mode_request(&self.path));
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
        let Some(before) = read(&self.control_file) else { return Err(ReloadError::Ended { pid: self.pid }) };
        self.hang_up(&before, patience)
    }

    /// Asks the process for its mode, or for another one, and waits for the answer.
    pub fn ask_for_mode(&self, request: &ModeRequest, patience: Duration) -> Result<Value, ReloadError> {
        let pid = self.pid;
        let Some(before) = read(&self.control_file) else { return Err(ReloadError::Ended { pid }) };
        let path = mode_request(&self.control_file);
        let requested = Requested { started_ns: before.started_ns, request: request.clone() };
        self.write_request(&path, &requested).map_err(|source| ReloadError::NotWritten { pid, source })?;
        let answer = self.hang_up(&before, patience);
        if answer.is_err() {
            let _ = fs::remove_file(&path);
        }
        answer
    }

    fn write_request(&self, path: &Path, requested: &Requested) -> io::Result<()> {
        let aside = path.with_extension("mode-new");
        let text = serde_json::to_vec(requested)?;
        // Of a killed `candor mode`. The directory may belong to another user, so no link is followed.
        let _ = fs::remove_file(&aside);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&aside)?;
        let of_gateway = fs::symlink_metadata(&self.control_file)?;
        if of_gateway.uid() != file.metadata()?.uid() {
            fchown(&file, Some(of_gateway.uid()), Some(of_gateway.gid()))?;
        }
        file.write_all(&text)?;
        fs::rename(&aside, path)
    }

    /// Sends `SIGHUP`, and waits until a reload that began later has ended.
    fn hang_up(&self, before: &ControlState, patience: Duration) -> Result<Value, ReloadError> {
        let pid = self.pid;
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

fn mode_request(control_file: &Path) -> PathBuf {
    control_file.with_extension("mode")
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

    #[test]
    fn only_a_fresh_request_to_this_gateway_is_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-1.reload");
        let state = ControlState { started_ns: 7, ..ControlState::default() };
        let control_file = ControlFile { path: path.clone(), state };
        control_file.write().unwrap();
        let running = Running { pid: 1, file: None, metrics: PathBuf::new(), control_file: path.clone() };
        let request = ModeRequest::Enter("service".to_owned());
        let ask = |started_ns| {
            let requested = Requested { started_ns, request: request.clone() };
            running.write_request(&mode_request(&path), &requested).unwrap();
        };
        assert_eq!(control_file.take_mode_request(), None);
        ask(7);
        assert_eq!(mode_request(&path).metadata().unwrap().mode() & 0o777, PRIVATE_FILE);
        assert_eq!(control_file.take_mode_request(), Some(request.clone()));
        assert_eq!(control_file.take_mode_request(), None, "once");
        // Of an earlier gateway.
        ask(6);
        assert_eq!(control_file.take_mode_request(), None);
        // Its signal never came.
        ask(7);
        let old = SystemTime::now() - FRESH - Duration::from_secs(1);
        fs::File::open(mode_request(&path)).unwrap().set_modified(old).unwrap();
        assert_eq!(control_file.take_mode_request(), None);
        assert!(!mode_request(&path).exists());
    }
}
