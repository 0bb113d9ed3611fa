//! An ownership record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use candor_io::lock::FileLock;

use super::content::Content;
use super::error::{FileError, failed};
use super::{Instance, Scope, remove};

const PRIVATE_FILE: u32 = 0o600;

/// The record of this process, locked while the value lives.
#[derive(Debug)]
pub struct Entry {
    path: PathBuf,
    lock: FileLock,
}

#[derive(Debug)]
pub(super) enum Found {
    Here(Instance),
    /// Of an earlier boot or of a network namespace that no longer exists, like its jobs.
    Past,
    OtherNamespace,
}

impl Entry {
    /// Writes a temporary file, locks it, and renames it: it is never visible incomplete or unlocked.
    ///
    /// The process id is not unique: two pid namespaces, or a dead process and a later one, can share it. The writer
    /// holds the directory lock, so a free name stays free.
    pub(super) fn write(dir: &Path, scope: &Scope, instance: &Instance) -> Result<Self, FileError> {
        let pid = instance.pid().unwrap_or_default();
        let (path, aside) = free_name(dir, &format!("{}-{pid}", scope.netns));
        let lock = write_aside(&aside, &Content::new(scope, instance))?;
        fs::rename(&aside, &path).map_err(failed(&path, "Renaming it"))?;
        Ok(Self { path, lock })
    }

    /// Removes the record: this process has no jobs any more.
    pub fn forget(&self) {
        // A remaining record is harmless: its jobs will not be found.
        let _ = remove(&self.path, &self.lock);
    }
}

/// Writes the record of an applied file, atomically replacing the previous one.
pub(super) fn write_applied(
    dir: &Path,
    before: Option<&Path>,
    scope: &Scope,
    instance: &Instance,
) -> Result<PathBuf, FileError> {
    let (free, aside) = free_name(dir, &format!("{}-applied", scope.netns));
    let path = before.map_or(free, Path::to_owned);
    drop(write_aside(&aside, &Content::new(scope, instance))?);
    fs::rename(&aside, &path).map_err(failed(&path, "Renaming it"))?;
    Ok(path)
}

/// An unused name, and a temporary one.
fn free_name(dir: &Path, stem: &str) -> (PathBuf, PathBuf) {
    (0_u32..)
        .map(|number| dir.join(format!("{stem}-{number}")))
        .map(|name| (name.with_extension("json"), name.with_extension("new")))
        .find(|(path, aside)| !path.exists() && !aside.exists())
        .expect("a directory does not hold 2³² files")
}

fn write_aside(aside: &Path, content: &Content) -> Result<FileLock, FileError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(aside);
    let file = file.map_err(failed(aside, "Creating it"))?;
    let taken = || failed(aside, "Locking it")(ErrorKind::WouldBlock.into());
    let lock = FileLock::try_exclusive(file).map_err(failed(aside, "Locking it"))?.map_err(|_file| taken())?;
    let text = serde_json::to_vec(content).map_err(io::Error::from).map_err(failed(aside, "Writing it"))?;
    lock.file().write_all(&text).map_err(failed(aside, "Writing it"))?;
    Ok(lock)
}

/// Reads a record. The scope is parsed first: records of other scopes need not be understood.
pub(super) fn read(file: &File, here: &Scope) -> io::Result<Found> {
    let text = io::read_to_string(file)?;
    let scope: Scope = serde_json::from_str(&text)?;
    if scope.boot_id != here.boot_id || scope.was_before(here) {
        return Ok(Found::Past);
    }
    if scope.netns != here.netns {
        return Ok(Found::OtherNamespace);
    }
    Content::read(&text).map(Found::Here)
}
