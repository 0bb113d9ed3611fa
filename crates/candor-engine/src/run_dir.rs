//! The list of what candor runs on this machine: one file for each process, locked while the process lives.
//!
//! `/run/candor/NETNS-PID-NUMBER.json` (another folder by `CANDOR_RUN_DIR`) holds the boot, the network namespace, the
//! process, its engine and the exact bytes of its jobs. A file whose lock is free was left by a process that died.
//! Only its owner can open folder and files, so that nobody else can hold the locks.

mod entry;
mod hold;

pub(crate) use entry::Entry;

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::plan::Engine;
use candor_io::lock::{self, FileLock};
use candor_netlink::cangw::{CangwJob, JobFlags};
use serde::{Deserialize, Serialize};

use crate::error::{GatewayError, RunDirError};
use crate::notice::Notice;
use entry::{Content, Found};

const DEFAULT_PATH: &str = "/run/candor";
const PRIVATE_FOLDER: u32 = 0o700;
const OTHERS: u32 = 0o077;

/// A process and its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance {
    pub(crate) pid: u32,
    pub(crate) engine: Engine,
    pub(crate) jobs: Vec<CangwJob>,
}

/// The run directory, held against other starting candors as long as this value lives.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    here: Place,
    alive: Vec<Instance>,
    dead: Vec<Instance>,
    /// Files of the dead, their locks held so that nobody else adopts the same jobs.
    dead_files: Vec<(PathBuf, FileLock)>,
    _exclusive: File,
}

/// Where jobs are: they end with the boot and live in one network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Place {
    boot_id: String,
    netns: u64,
}

impl RunDir {
    /// Opens the directory and reads what is in it. Waits a little while another candor starts.
    pub(crate) fn open(tell: &mut dyn FnMut(Notice)) -> Result<Self, GatewayError> {
        let path = configured_path().unwrap_or_else(|| DEFAULT_PATH.into());
        Self::open_at(path, tell)
    }

    /// Opens the first directory that this user may use; `None`, after telling, if there is none.
    pub(crate) fn open_where_possible(tell: &mut dyn FnMut(Notice)) -> Result<Option<Self>, GatewayError> {
        let paths = match configured_path() {
            Some(path) => vec![path],
            None => [Some(PathBuf::from(DEFAULT_PATH)), path_of_user()].into_iter().flatten().collect(),
        };
        let mut first = None;
        for path in paths {
            match Self::open_at(path, tell) {
                Err(GatewayError::RunDir(error)) if is_denied(&error) => {
                    first.get_or_insert(error.path);
                }
                result => return result.map(Some),
            }
        }
        if let Some(path) = first {
            tell(Notice::NotAnnounced { path });
        }
        Ok(None)
    }

    fn open_at(path: PathBuf, tell: &mut dyn FnMut(Notice)) -> Result<Self, GatewayError> {
        let here = Place::of_this_process()?;
        make_private(&path)?;
        let exclusive = hold::hold(&path.join("lock"), tell)?;
        let (alive, dead, dead_files) = (Vec::new(), Vec::new(), Vec::new());
        let mut run_dir = Self { path, here, alive, dead, dead_files, _exclusive: exclusive };
        run_dir.read(tell)?;
        Ok(run_dir)
    }

    /// Processes that died in this network namespace and left jobs in the kernel.
    pub(crate) fn dead(&self) -> &[Instance] {
        &self.dead
    }

    /// Says that another process runs one of these jobs, with whichever engine: each frame would be forwarded twice,
    /// and on buses that are routed both ways without end.
    pub(crate) fn refuse_twins(&self, wanted: &[CangwJob], name: impl Fn(usize) -> String) -> Result<(), GatewayError> {
        for other in &self.alive {
            if let Some(position) = wanted.iter().position(|job| other.jobs.contains(job)) {
                return Err(GatewayError::AlreadyRunning { route: name(position), pid: other.pid });
            }
        }
        Ok(())
    }

    /// The first of these jobs that another process answers with one the other way round, so that a frame that both take
    /// never ends: frames that a program sends begin their hops anew, and only its own socket does not hear them.
    pub(crate) fn first_circle(&self, engine: Engine, wanted: &[CangwJob]) -> Option<(usize, u32)> {
        let in_user_space = |other: &&Instance| [engine, other.engine].contains(&Engine::ReadWrite);
        self.alive.iter().filter(in_user_space).find_map(|other| {
            let answered = |job: &CangwJob| other.jobs.iter().any(|theirs| may_circle(job, theirs));
            Some((wanted.iter().position(answered)?, other.pid))
        })
    }

    /// Says what this process is about to run.
    pub(crate) fn announce(&self, engine: Engine, jobs: &[CangwJob]) -> Result<Entry, GatewayError> {
        Ok(Entry::write(&self.path, &Content::new(&self.here, std::process::id(), engine, jobs))?)
    }

    /// Removes the files of the dead, after their jobs have been dealt with.
    pub(crate) fn forget_dead(&mut self) -> Result<(), GatewayError> {
        for (path, lock) in self.dead_files.drain(..) {
            remove(&path, &lock)?;
        }
        Ok(())
    }

    fn read(&mut self, tell: &mut dyn FnMut(Notice)) -> Result<(), GatewayError> {
        let path = self.path.clone();
        for file in fs::read_dir(&path).map_err(failed(&path, "Reading it"))? {
            let path = file.map_err(failed(&path, "Reading it"))?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => self.read_entry(&path, tell)?,
                Some("new") => remove_if_abandoned(&path)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_entry(&mut self, path: &Path, tell: &mut dyn FnMut(Notice)) -> Result<(), GatewayError> {
        let file = match File::open(path) {
            // Its process ended just now and took it along.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            result => result.map_err(failed(path, "Opening it"))?,
        };
        let lock = FileLock::try_exclusive(file).map_err(failed(path, "Locking it"))?;
        let found = match &lock {
            Ok(lock) => entry::read(lock.file(), &self.here),
            Err(file) => entry::read(file, &self.here),
        };
        match (found, lock) {
            (Ok(Found::Here(instance)), Err(_held)) => self.alive.push(instance),
            (Ok(Found::Here(instance)), Ok(lock)) if instance.engine == Engine::Kernel => {
                self.dead.push(instance);
                self.dead_files.push((path.to_owned(), lock));
            }
            // What a process did itself ended with it, and jobs end with their boot.
            (Ok(Found::Here(_) | Found::OtherBoot), Ok(lock)) => remove(path, &lock)?,
            // The jobs of another namespace cannot be reached from here.
            (Ok(Found::OtherBoot | Found::OtherNamespace), _) => {}
            (Err(error), _) => tell(Notice::OddList { path: path.to_owned(), reason: error.to_string() }),
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

fn may_circle(one: &CangwJob, other: &CangwJob) -> bool {
    let there_and_back = (one.source, one.destination) == (other.destination, other.source);
    let seen = |job: &CangwJob| job.flags.contains(JobFlags::ECHO);
    there_and_back
        && seen(one)
        && seen(other)
        && one.flags.format() == other.flags.format()
        && may_overlap(one.filter, other.filter)
}

/// Whether some identifier passes both; too careful about inverted filters.
fn may_overlap(one: Filter, other: Filter) -> bool {
    (one.id | other.id) & CAN_INV_FILTER != 0 || (one.id ^ other.id) & one.mask & other.mask == 0
}

fn configured_path() -> Option<PathBuf> {
    std::env::var_os("CANDOR_RUN_DIR").map(PathBuf::from)
}

fn path_of_user() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()).map(|p| p.join("candor"))
}

/// Whether it is for this user that a directory cannot be used.
fn is_denied(error: &RunDirError) -> bool {
    matches!(error.source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Makes the directory if it is missing. One that somebody chose keeps the rights that it has.
fn make_private(path: &Path) -> Result<(), RunDirError> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path).map_err(failed(path, "Making it"))?;
    let rights = fs::metadata(path).map_err(failed(path, "Looking at it"))?.permissions();
    if path == Path::new(DEFAULT_PATH) && rights.mode() & OTHERS != 0 {
        // Somebody else's folder cannot be used anyway.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE_FOLDER));
    }
    Ok(())
}

/// A file that a process wrote and did not live to name.
fn remove_if_abandoned(path: &Path) -> Result<(), RunDirError> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    match FileLock::try_exclusive(file).map_err(failed(path, "Locking it"))? {
        Ok(lock) => remove(path, &lock),
        Err(_held) => Ok(()),
    }
}

/// Removes the file that is locked, unless the name means another one by now or nothing.
fn remove(path: &Path, lock: &FileLock) -> Result<(), RunDirError> {
    if !lock.is_at(path).map_err(failed(path, "Looking at it"))? {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.map_err(failed(path, "Removing it")),
    }
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> RunDirError {
    move |source| RunDirError { path: path.to_owned(), doing, source }
}

#[cfg(test)]
mod tests;
