//! The list of what candor has put into the kernel: one file for each process, locked while the process lives.
//!
//! `/run/candor/PID-BOOT.json` (another folder by `CANDOR_RUN_DIR`) holds the boot, the network namespace, the process and
//! the exact bytes of its jobs. A file whose lock is free was left by a process that died.

mod entry;

pub(super) use entry::Entry;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use candor_io::lock::{self, FileLock};
use candor_netlink::cangw::CangwJob;

use crate::error::{GatewayError, RunDirError};
use entry::Content;

const DEFAULT_PATH: &str = "/run/candor";

/// A process and its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instance {
    pub(super) pid: u32,
    pub(super) jobs: Vec<CangwJob>,
}

/// The run directory, held against other starting candors as long as this value lives.
#[derive(Debug)]
pub(super) struct RunDir {
    path: PathBuf,
    here: Place,
    alive: Vec<Instance>,
    dead: Vec<Instance>,
    /// Files of the dead, their locks held so that nobody else adopts the same jobs.
    dead_files: Vec<(PathBuf, FileLock)>,
    _exclusive: File,
}

/// Where jobs are: they end with the boot and live in one network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    boot_id: String,
    netns: u64,
}

impl RunDir {
    /// Opens the directory and reads what is in it. Waits while another candor starts.
    pub(super) fn open() -> Result<Self, GatewayError> {
        let path = std::env::var_os("CANDOR_RUN_DIR").map_or_else(|| DEFAULT_PATH.into(), PathBuf::from);
        let here = Place::of_this_process()?;
        fs::create_dir_all(&path).map_err(failed(&path, "Making it"))?;
        let lock_path = path.join("lock");
        let exclusive = File::create(&lock_path).map_err(failed(&lock_path, "Making it"))?;
        exclusive.lock().map_err(failed(&lock_path, "Locking it"))?;
        let mut run_dir =
            Self { path, here, alive: Vec::new(), dead: Vec::new(), dead_files: Vec::new(), _exclusive: exclusive };
        run_dir.read()?;
        Ok(run_dir)
    }

    /// Other running processes in this network namespace.
    pub(super) fn alive(&self) -> &[Instance] {
        &self.alive
    }

    /// Processes that died in this network namespace and left jobs.
    pub(super) fn dead(&self) -> &[Instance] {
        &self.dead
    }

    /// Says what this process is about to put into the kernel.
    pub(super) fn announce(&self, jobs: &[CangwJob]) -> Result<Entry, GatewayError> {
        Ok(Entry::write(&self.path, &Content::new(&self.here, std::process::id(), jobs))?)
    }

    /// Removes the files of the dead, after their jobs have been dealt with.
    pub(super) fn forget_dead(&mut self) -> Result<(), GatewayError> {
        for (path, _lock) in self.dead_files.drain(..) {
            fs::remove_file(&path).map_err(failed(&path, "Removing it"))?;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), GatewayError> {
        let path = self.path.clone();
        for file in fs::read_dir(&path).map_err(failed(&path, "Reading it"))? {
            let path = file.map_err(failed(&path, "Reading it"))?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => self.read_entry(&path)?,
                Some("new") => remove_if_abandoned(&path)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_entry(&mut self, path: &Path) -> Result<(), GatewayError> {
        let file = match File::open(path) {
            // Its process ended just now and took it along.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result.map_err(failed(path, "Opening it"))?,
        };
        let lock = FileLock::try_exclusive(file).map_err(failed(path, "Locking it"))?;
        let file = match &lock {
            Ok(lock) => lock.file(),
            Err(file) => file,
        };
        let content = Content::read(file).map_err(failed(path, "Reading it"))?;
        let instance = content.instance().map_err(failed(path, "Reading it"))?;
        match lock {
            Err(_) if content.place() == self.here => self.alive.push(instance),
            Ok(lock) if content.place() == self.here => {
                self.dead.push(instance);
                self.dead_files.push((path.to_owned(), lock));
            }
            // The jobs ended with their boot; those of another namespace cannot be reached from here.
            Ok(_) if content.place().boot_id != self.here.boot_id => {
                fs::remove_file(path).map_err(failed(path, "Removing it"))?;
            }
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }
}

impl Place {
    fn of_this_process() -> Result<Self, GatewayError> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_err(|source| GatewayError::System { what: "Reading the boot id from /proc", source })?;
        let netns = lock::inode(Path::new("/proc/self/ns/net"))
            .map_err(|source| GatewayError::System { what: "Reading the network namespace from /proc", source })?;
        Ok(Self { boot_id: boot_id.trim().into(), netns })
    }
}

/// A file that a process wrote and did not live to name.
fn remove_if_abandoned(path: &Path) -> Result<(), GatewayError> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    if FileLock::try_exclusive(file).map_err(failed(path, "Locking it"))?.is_ok() {
        fs::remove_file(path).map_err(failed(path, "Removing it"))?;
    }
    Ok(())
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> RunDirError {
    move |source| RunDirError { path: path.to_owned(), doing, source }
}

#[cfg(test)]
mod tests;
