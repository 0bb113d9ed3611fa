//! Files that say "somebody alive holds this".

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// An exclusive lock on an open file; the kernel gives it up when the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock (`flock`) if nobody has it; gives the file back otherwise.
    ///
    /// # Errors
    /// Whatever `flock()` reports except that the lock is taken.
    pub fn try_exclusive(file: File) -> io::Result<Result<Self, File>> {
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether this name means the locked file, and not another one or nothing.
    ///
    /// # Errors
    /// Whatever `stat()` reports except that there is no such file.
    pub fn is_at(&self, path: &Path) -> io::Result<bool> {
        let identity = |data: Metadata| (data.dev(), data.ino());
        match std::fs::symlink_metadata(path) {
            Ok(named) => Ok(identity(named) == identity(self.file.metadata()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The locked file.
    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }
}

/// The inode number of a file such as `/proc/self/ns/net`, by which a namespace is known.
///
/// # Errors
/// Whatever `stat()` reports.
pub fn inode(path: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.ino())
}
