//! Files that say "somebody alive holds this".

use std::fs::{File, TryLockError};
use std::io;
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
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata(path)?.ino())
}
