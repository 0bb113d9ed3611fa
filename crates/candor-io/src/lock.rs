//! Files that say "somebody alive holds this".

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
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

/// Opens a regular file and nothing else: no link that somebody put there instead, no pipe that would be waited for.
///
/// # Errors
/// `ELOOP` for a symbolic link, `InvalidInput` for what else is no regular file, or whatever `open()` reports.
pub fn open_regular(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.clone().custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// The inode number of a file such as `/proc/self/ns/net`, by which a namespace is known.
///
/// # Errors
/// Whatever `stat()` reports.
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
