//! The process between candor and a guest, with an ordinary program as guest.
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn guard(folder: &Path, guest: &[&str]) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor-lab"));
    command.args(["guard", "--seconds", "60", "--remove"]).arg(folder).arg("--").args(guest);
    // As the laboratory starts it.
    command.process_group(0).stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
    (command.spawn().unwrap(), ours)
}

#[test]
fn folder_is_removed_when_candor_ends_after_the_guest() {
    for (guest, status) in [("exit 0", 0), ("exit 3", 1), ("kill -BUS $$", 128 + 7), ("kill 0", 128 + 15)] {
        let folder = tempfile::tempdir().unwrap().keep();
        let (mut guard, mut line) = guard(&folder, &["/bin/sh", "-c", guest]);
        assert_eq!(line.read(&mut [0]).unwrap(), 0, "only the end is signalled");
        assert!(guard.try_wait().unwrap().is_none() && folder.is_dir(), "{guest}: the guard waits for candor");
        drop(line);
        assert_eq!(guard.wait().unwrap().code(), Some(status), "{guest}");
        assert!(!folder.exists(), "{guest}");
    }
}

#[test]
fn folder_is_removed_when_candor_ends_before_the_guest() {
    let folder = tempfile::tempdir().unwrap().keep();
    let (mut guard, line) = guard(&folder, &["/bin/sleep", "60"]);
    drop(line);
    assert_eq!(guard.wait().unwrap().code(), Some(0));
    assert!(!folder.exists());
}
