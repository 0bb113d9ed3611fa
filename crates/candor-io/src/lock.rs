//! File locks that end with their process.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// An exclusive lock on an open file, which the kernel releases when the process ends.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock (`flock`), or returns the file if it is locked.
    ///
    /// # Errors
    /// Errnos of `flock()` except that it is locked.
    pub fn try_exclusive(file: File) -> io::Result<Result<Self, File>> {
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// True if the path refers to the locked file.
    ///
    /// # Errors
    /// Errnos of `stat()` except `ENOENT`.
    pub fn is_at(&self, path: &Path) -> io::Result<bool> {
        let identity = |data: Metadata| (data.dev(), data.ino());
        match std::fs::symlink_metadata(path) {
            Ok(named) => Ok(identity(named) == identity(self.file.metadata()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    #[must_use]
    pub const fn file(&self) -> &File {
        &self.file
    }
}

/// Opens a regular file, but no symbolic link, which could be an attack, and no pipe, which would block.
///
/// # Errors
/// `ELOOP` for a symbolic link, `InvalidInput` for another file type, or errnos of `open()`.
pub fn open_regular(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.clone().custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Inode number of a file; that of `/proc/self/ns/net` identifies a namespace.
///
/// # Errors
/// Errnos of `stat()`.
pub fn inode(path: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = std::env::temp_dir().join(format!("candor-io-regular-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [file, link, socket] = ["file", "link", "socket"].map(|name| folder.join(name));
        std::fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        let open = |path: &Path| open_regular(OpenOptions::new().read(true), path);
        assert!(open(&file).is_ok());
        assert_eq!(open(&link).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert!(open(&socket).is_err());
        assert_eq!(open(&folder).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
