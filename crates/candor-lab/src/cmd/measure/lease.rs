//! The lock of a shard in the directory of its results.
//!
//! Its holder touches it again and again. Another process that finds it untouched for a while takes the holder for dead, says so,
//! and takes the shard over. No clocks are compared, because those of two nodes differ, and locks of the kernel are used only where
//! the holder ran on the same host, because not every file system of a cluster carries them to other nodes.
//!
//! A holder that only seemed to be dead finds its lock gone and stops. Nothing depends on that: blocks are committed as a whole.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use candor_cli::render;
use candor_lab::experiment::Shard;
use serde::{Deserialize, Serialize};

/// How often a holder touches its lock, and how long an untouched lock is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    beat: Duration,
    patience: Duration,
}

impl Pace {
    /// Some file systems of clusters show a change only after half a minute.
    pub(super) const USUAL: Self = Self { beat: Duration::from_secs(10), patience: Duration::from_secs(60) };
}

/// The content of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    pub(super) node: String,
    /// As the kernel names it: several nodes of a batch system may be on one.
    pub(super) host: String,
    pub(super) pid: u32,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum LeaseError {
    #[error("{holder} measures shard {shard} in {}: try again later, or choose another directory with --out", folder.display())]
    Held { folder: PathBuf, shard: Shard, holder: String },
    #[error("Cannot use the lock {}", path.display())]
    File { path: PathBuf, source: io::Error },
}

#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    shard: Shard,
    /// Locked by the kernel until the process ends.
    _file: File,
    is_lost: Arc<AtomicBool>,
    stop: Option<Sender<()>>,
    touching: Option<JoinHandle<()>>,
}

/// A lock in the directory.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    shard: Shard,
    /// Counts the holders of one shard. Only one process can create the next lock.
    generation: u64,
}

impl Found {
    fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let found = |path: PathBuf| {
            let (shard, generation) = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split_once('.')?;
            Some(Self { shard: shard.replace("-of-", "/").parse().ok()?, generation: generation.parse().ok()?, path })
        };
        fs::read_dir(folder)?.filter_map(|entry| entry.map(|entry| found(entry.path())).transpose()).collect()
    }

    /// Shards of one division have no block in common.
    fn excludes(&self, shard: Shard) -> bool {
        self.shard.of() != shard.of() || self.shard == shard
    }

    fn holder(&self) -> Option<Holder> {
        serde_json::from_slice(&fs::read(&self.path).ok()?).ok()
    }

    fn touched(&self) -> Option<SystemTime> {
        // Opened, because a file system of a cluster may show an older time of a file that is not.
        File::open(&self.path).and_then(|file| file.metadata()).and_then(|metadata| metadata.modified()).ok()
    }

    /// `None` if only time can tell.
    fn is_held(&self, host: &str) -> Option<bool> {
        if self.holder()?.host != host {
            return None;
        }
        let file = File::options().write(true).open(&self.path).ok()?;
        match file.try_lock() {
            Ok(()) => Some(false),
            Err(fs::TryLockError::WouldBlock) => Some(true),
            Err(fs::TryLockError::Error(_)) => None,
        }
    }
}

const PREFIX: &str = "lock-";

fn path_of(folder: &Path, shard: Shard, generation: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{}.{generation}", shard.to_string().replace('/', "-of-")))
}

impl Lease {
    /// Takes the lock of a shard in this directory, after watching a lock that may be of a dead process.
    pub(super) fn take(folder: &Path, shard: Shard, own: &Holder, pace: Pace) -> Result<Self, LeaseError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| LeaseError::File { path, source }
        };
        loop {
            let mut found = Found::all(folder).map_err(failed(folder))?;
            found.retain(|lock| lock.excludes(shard));
            for lock in &found {
                let holder = lock.holder();
                let holder = holder.map_or_else(
                    || "An unknown process".to_owned(),
                    |Holder { node, host, pid }| {
                        format!(
                            "Process {pid} of {node}{}",
                            if node == host { String::new() } else { format!(" on {host}") }
                        )
                    },
                );
                match watch(lock, &own.host, pace) {
                    Watched::Held => {
                        return Err(LeaseError::Held { folder: folder.to_owned(), shard: lock.shard, holder });
                    }
                    Watched::Gone => {}
                    Watched::Stale(why) => {
                        render::err(&format!(
                            "candor-lab: the lock of shard {} is stale: {holder} {why}\n",
                            lock.shard
                        ));
                    }
                }
            }
            let last = found.iter().filter(|lock| lock.shard == shard).map(|lock| lock.generation).max();
            let path = path_of(folder, shard, last.map_or(1, |last| last + 1));
            let mut file = match File::options().write(true).create_new(true).open(&path) {
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened.map_err(failed(&path))?,
            };
            // A file system without locks is no mistake.
            let _locked = file.try_lock();
            file.write_all(serde_json::to_string(own).unwrap_or_default().as_bytes()).map_err(failed(&path))?;
            for lock in found {
                // Its holder may have ended meanwhile.
                let _gone = fs::remove_file(lock.path);
            }
            return Ok(Self::hold(path, shard, file, pace));
        }
    }

    fn hold(path: PathBuf, shard: Shard, file: File, pace: Pace) -> Self {
        let is_lost = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = mpsc::channel();
        let touching = {
            let (path, is_lost) = (path.clone(), Arc::clone(&is_lost));
            thread::spawn(move || {
                while stopped.recv_timeout(pace.beat) == Err(RecvTimeoutError::Timeout) {
                    let touched =
                        File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                    if touched.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                        is_lost.store(true, Ordering::Relaxed);
                        return;
                    }
                }
            })
        };
        Self { path, shard, _file: file, is_lost, stop: Some(stop), touching: Some(touching) }
    }

    /// Fails if another process has taken the shard over.
    pub(super) fn check(&self) -> Result<(), String> {
        if !self.is_lost.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(format!("another process has taken shard {} over, because this one seemed to be dead", self.shard))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(touching) = self.touching.take() {
            let _ended = touching.join();
        }
        // Gone if it is lost.
        let _removed = fs::remove_file(&self.path);
    }
}

enum Watched {
    Held,
    Gone,
    /// With the reason.
    Stale(String),
}

fn watch(lock: &Found, host: &str, pace: Pace) -> Watched {
    match lock.is_held(host) {
        Some(true) => return Watched::Held,
        Some(false) => return Watched::Stale("has ended".to_owned()),
        None => {}
    }
    let begin = Instant::now();
    let Some(before) = lock.touched() else { return Watched::Gone };
    while begin.elapsed() < pace.patience {
        thread::sleep(pace.beat.min(Duration::from_secs(1)));
        match lock.touched() {
            None => return Watched::Gone,
            Some(touched) if touched != before => return Watched::Held,
            Some(_) => {}
        }
    }
    Watched::Stale(format!("has given no sign of life for {} s", pace.patience.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Pace = Pace { beat: Duration::from_millis(5), patience: Duration::from_secs(1) };

    fn holder(host: &str) -> Holder {
        Holder { node: "n1".to_owned(), host: host.to_owned(), pid: 7 }
    }

    fn shard(text: &str) -> Shard {
        text.parse().unwrap()
    }

    fn take(folder: &Path, text: &str, host: &str) -> Result<Lease, LeaseError> {
        Lease::take(folder, shard(text), &holder(host), FAST)
    }

    #[test]
    fn a_shard_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path(), "2/4", "a").unwrap();
        // Of the same host, and of another, where only the sign of life can be seen.
        for host in ["a", "b"] {
            let error = take(folder.path(), "2/4", host).unwrap_err().to_string();
            assert!(error.contains("Process 7 of n1 on a measures shard 2/4"), "{error}");
        }
        assert!(matches!(take(folder.path(), "1/1", "a"), Err(LeaseError::Held { .. })), "all shards are in the whole");
        let other = take(folder.path(), "3/4", "a").unwrap();
        assert!(first.check().is_ok());
        drop((first, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn lock_of_an_ended_process_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path_of(folder.path(), shard("2/4"), 3), serde_json::to_string(&holder("a")).unwrap()).unwrap();
        let lease = take(folder.path(), "2/4", "a").unwrap();
        assert_eq!(lease.path, path_of(folder.path(), shard("2/4"), 4));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn silent_lock_of_another_host_is_taken_over_and_its_holder_notices() {
        let folder = tempfile::tempdir().unwrap();
        let slow = Pace { beat: Duration::from_secs(3), ..FAST };
        let silent = Lease::take(folder.path(), shard("2/4"), &holder("a"), slow).unwrap();
        let next = take(folder.path(), "2/4", "b").unwrap();
        while silent.check().is_ok() {
            thread::sleep(FAST.beat);
        }
        assert!(silent.check().unwrap_err().contains("has taken shard 2/4 over"));
        drop(silent);
        assert!(next.check().is_ok() && next.path.exists());
    }

    #[test]
    fn damaged_lock_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path_of(folder.path(), shard("1/2"), 1), "").unwrap();
        assert!(take(folder.path(), "1/2", "a").is_ok());
    }
}
