//! Failures of the run directory, and reasons in it not to start.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::system_error::SystemError;

/// The run directory cannot be used, or forbids the operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDirError {
    /// `candor apply` has installed the same jobs; each frame would be forwarded twice.
    #[error("route {route:?} is already installed by candor apply {file}; remove it first: candor down {file}")]
    AlreadyApplied {
        route: String,
        /// The file that was applied.
        file: String,
    },
    /// Another candor runs the same routes; each frame would be forwarded twice.
    #[error("route {route:?} is already run by another candor (process {pid}); stop that one first: kill {pid}")]
    AlreadyRunning { route: String, pid: u32 },
    /// `SIGINT` or `SIGTERM` arrived while the lock was waited for.
    #[error("interrupted by a signal before the start; nothing was installed")]
    Interrupted,
    /// A file or the directory itself cannot be used.
    #[error(
        "cannot use {path}, where candor records what it runs and what to remove after a crash (CANDOR_RUN_DIR sets another \
         directory)",
        path = .0.path.display()
    )]
    File(#[source] FileError),
    /// An ownership record is broken or of another version, so that `--adopt` and `--prune` could take the jobs of another candor.
    #[error(
        "cannot read {path}, so the jobs it lists look unowned and --adopt or --prune would take them from a candor of another \
         version; remove them with that version (candor down), or, if it no longer runs: sudo rm {path}",
        path = .path.display()
    )]
    NotUnderstood { path: PathBuf },
    /// This user may not read the ownership records.
    #[error(
        "cannot read {path}, so candor cannot tell which can-gw jobs are its own; run it as root: sudo candor …",
        path = .0.path.display()
    )]
    OwnersUnknown(#[source] FileError),
    /// Another process holds the lock for too long.
    #[error(
        "another process has held {path} for {} s; find it with: sudo fuser -v {path}", .waited.as_secs(),
        path = .path.display()
    )]
    Locked {
        path: PathBuf,
        /// For how long it was waited for.
        waited: Duration,
    },
    /// A system call that should not fail.
    #[error(transparent)]
    System(#[from] SystemError),
}

impl RunDirError {
    /// A full disk, most likely.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::File(_))
    }
}

/// A file of the run directory that an operation failed on.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed")]
pub struct FileError {
    pub path: PathBuf,
    /// A gerund for the message, such as "Locking it".
    pub operation: &'static str,
    /// The errno, or why the file is not trusted.
    pub source: io::Error,
}

impl From<FileError> for RunDirError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

pub(super) fn failed(path: &Path, operation: &'static str) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError { path: path.to_owned(), operation, source }
}
