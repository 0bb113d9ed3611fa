//! The lock of the run directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use candor_io::lock;
use candor_io::signal::{self, Signal};

use super::error::{RunDirError, failed};
use super::folder::OTHERS;
use crate::notice::Notice;
use crate::system_error::SystemError;

/// A start takes milliseconds, so a longer wait is reported.
const NOTICE_AFTER: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const PRIVATE_FILE: u32 = 0o600;

/// Takes the lock; gives up after 10 s, or when an ending signal is pending.
pub(super) fn hold(path: &Path, notify: &mut dyn FnMut(Notice)) -> Result<File, RunDirError> {
    hold_within(path, PATIENCE, notify)
}

fn hold_within(path: &Path, patience: Duration, notify: &mut dyn FnMut(Notice)) -> Result<File, RunDirError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(PRIVATE_FILE);
    let file = lock::open_regular(&options, path).map_err(failed(path, "Creating it"))?;
    let rights = file.metadata().map_err(failed(path, "Reading its metadata"))?.permissions();
    if rights.mode() & OTHERS != 0 {
        file.set_permissions(fs::Permissions::from_mode(PRIVATE_FILE)).map_err(failed(path, "Changing its mode"))?;
    }
    let start = Instant::now();
    let mut is_notified = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(failed(path, "Locking it")(error).into()),
        }
        let waited = start.elapsed();
        if waited >= patience {
            return Err(RunDirError::Locked { path: path.to_owned(), waited });
        }
        if waited >= NOTICE_AFTER && !is_notified {
            is_notified = true;
            notify(Notice::WaitsForStart { path: path.to_owned() });
        }
        // Not SIGHUP, which may request a reload.
        let ended = signal::any_waits(&[Signal::Interrupt, Signal::Terminate])
            .map_err(SystemError::while_doing("Checking for signals"))?;
        if ended {
            return Err(RunDirError::Interrupted);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_waited_for_and_told_and_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = hold(&path, &mut |_notice| {}).unwrap();
        assert_eq!(held.metadata().unwrap().permissions().mode() & OTHERS, 0);
        let mut notices = Vec::new();
        let error = hold_within(&path, Duration::from_millis(700), &mut |notice| notices.push(notice)).unwrap_err();
        assert!(matches!(error, RunDirError::Locked { .. }), "{error}");
        assert_eq!(notices, [Notice::WaitsForStart { path: path.clone() }]);
        drop(held);
        hold(&path, &mut |_notice| panic!("nobody holds it")).unwrap();
    }
}
