//! Location and permissions of the run directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use candor_io::process;

use super::error::{FileError, failed};

pub(super) const DEFAULT_PATH: &str = "/run/candor";
pub(super) const PRIVATE_FOLDER: u32 = 0o700;
pub(super) const OTHERS: u32 = 0o077;
const WRITABLE_BY_ALL: u32 = 0o002;
pub(super) const ROOT: u32 = 0;
/// Locked by a starting candor.
pub(super) const LOCK: &str = "lock";

/// `CANDOR_RUN_DIR`.
pub(super) fn configured() -> Option<PathBuf> {
    std::env::var_os("CANDOR_RUN_DIR").map(PathBuf::from)
}

/// The system-wide directory, unless `CANDOR_RUN_DIR` is set.
pub(super) fn of_the_system() -> PathBuf {
    configured().unwrap_or_else(|| DEFAULT_PATH.into())
}

/// Candidates for this user, best first.
pub(super) fn possible() -> Vec<PathBuf> {
    match configured() {
        Some(path) => vec![path],
        None => [Some(PathBuf::from(DEFAULT_PATH)), of_user()].into_iter().flatten().collect(),
    }
}

fn of_user() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()).map(|p| p.join("candor"))
}

/// True if another user may be able to use the directory.
pub(super) fn is_denied(error: &FileError) -> bool {
    matches!(error.source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Creates the directory if needed. An existing one keeps its mode, but must not be writable by other users.
pub(super) fn make_private(path: &Path) -> Result<(), FileError> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path).map_err(failed(path, "Creating it"))?;
    let data = fs::metadata(path).map_err(failed(path, "Reading its metadata"))?;
    let rights = data.permissions();
    // Only root creates directories in /run, so root gave that one to its owner.
    let is_given = path == Path::new(DEFAULT_PATH) && process::effective_user() == ROOT;
    if !is_given && ![ROOT, process::effective_user()].contains(&data.uid()) {
        let reason = format!("it belongs to another user, {}; set another CANDOR_RUN_DIR", data.uid());
        return Err(failed(path, "Checking its owner")(io::Error::new(ErrorKind::PermissionDenied, reason)));
    }
    if path != Path::new(DEFAULT_PATH) && rights.mode() & WRITABLE_BY_ALL != 0 {
        let reason = "it is writable by all users; use another directory, or type: chmod o-w";
        return Err(failed(path, "Checking its mode")(io::Error::other(format!("{reason} {}", path.display()))));
    }
    if path == Path::new(DEFAULT_PATH) && rights.mode() & OTHERS != 0 {
        // Fails for a directory of another user, which cannot be used anyway.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE_FOLDER));
    }
    Ok(())
}
