//! The process between candor and a guest: it ends the guest at a deadline, and when candor is gone for whatever
//! reason, and it leaves no process of the guest behind.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use candor_io::process::{self, Patience, Reaped};

use crate::processes;

/// What a guard does.
#[derive(Clone, Debug)]
pub struct Duty<'a> {
    /// After this time the guest is ended.
    pub deadline: Duration,
    /// The guest's program and arguments. Descriptors from 3 on are handed through.
    pub command: &'a [OsString],
    /// A folder to remove once candor is gone, or needs it no more.
    pub remove: Option<&'a Path>,
}

/// How the guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Candor closed the guard's standard input, or died.
    Abandoned,
    /// The deadline passed.
    Deadline,
    /// By itself.
    Itself(ExitStatus),
}

/// The exit status by which a guard says that the deadline passed.
pub const DEADLINE_STATUS: u8 = 124;

impl Ending {
    /// The exit status by which a guard says it: 128 and the number of the signal if one killed the guest.
    #[must_use]
    pub fn status(self) -> u8 {
        match self {
            Self::Abandoned => 0,
            Self::Deadline => DEADLINE_STATUS,
            Self::Itself(status) if status.success() => 0,
            Self::Itself(status) => match status.signal().map(u8::try_from) {
                Some(Ok(signal)) => KILLED_STATUS.saturating_add(signal),
                _ => 1,
            },
        }
    }
}

/// The signal that killed the guest, to judge by the exit status of its guard.
#[must_use]
pub fn killed_by(status: i32) -> Option<i32> {
    let signal = status - i32::from(KILLED_STATUS);
    (1..=64).contains(&signal).then_some(signal)
}

const KILLED_STATUS: u8 = 128;

/// Starts the guest and stays until nothing of it is left and candor closes the line, which is standard input: its end
/// is candor's. If the line is a socket, candor hears there that the guest has ended.
///
/// # Errors
/// If the guest cannot be started.
pub fn keep(duty: &Duty<'_>) -> io::Result<Ending> {
    process::start_session()?;
    process::adopt_orphans()?;
    let (program, arguments) = duty.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    // User-mode Linux that panics ends its whole process group, and this process has more to do.
    command.process_group(0);
    process::end_with_parent(&mut command);
    let mut guest = command.spawn()?;

    let (tell, hear) = mpsc::channel();
    let tell_end = tell.clone();
    thread::spawn(move || {
        // Nothing is ever sent on this line. A failed read means the same as its end.
        while matches!(io::stdin().read(&mut [0]), Ok(1..)) {}
        // The receiver is gone if the guest ended first.
        let _ = tell.send(Ending::Abandoned);
    });
    thread::spawn(move || {
        if let Ok(status) = guest.wait() {
            let _ = tell_end.send(Ending::Itself(status));
        }
    });
    let ending = match hear.recv_timeout(duty.deadline) {
        Ok(ending) => ending,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ending::Deadline,
    };
    end_descendants()?;
    if ending != Ending::Abandoned {
        tell_candor()?;
        while !matches!(hear.recv(), Ok(Ending::Abandoned) | Err(_)) {}
    }
    if let Some(folder) = duty.remove {
        // Candor may be removing it at this moment.
        let _ = fs::remove_dir_all(folder);
    }
    Ok(ending)
}

/// Closes this end of the line. Whoever gave something else than a socket waits for no news.
fn tell_candor() -> io::Result<()> {
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let _ = line.shutdown(Shutdown::Write);
    Ok(())
}

/// Kills until no process is left that descends from this one, and takes the status of each: the machine's first
/// process may be one that does not.
fn end_descendants() -> io::Result<()> {
    const ENOUGH: Duration = Duration::from_secs(10);
    let begin = Instant::now();
    loop {
        let descendants = descendants(std::process::id())?;
        for &pid in &descendants {
            process::kill(pid)?;
        }
        // A process with threads looks dead before its last thread is: only a status taken is an end.
        let left = loop {
            match process::reap(Patience::Peek)? {
                Reaped::Child(..) => {}
                left => break left,
            }
        };
        if left == Reaped::NoChildren {
            return Ok(());
        }
        if begin.elapsed() > ENOUGH {
            return Err(io::Error::other(format!("the processes {descendants:?} do not end")));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The living descendants of a process, from /proc.
fn descendants(root: u32) -> io::Result<BTreeSet<u32>> {
    let all = processes::all()?;
    let mut family = BTreeSet::from([root]);
    loop {
        let before = family.len();
        family.extend(all.iter().filter(|one| family.contains(&one.parent)).map(|one| one.pid).collect::<Vec<_>>());
        if family.len() == before {
            break;
        }
    }
    family.remove(&root);
    for dead in all.iter().filter(|one| one.is_dead()) {
        family.remove(&dead.pid);
    }
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_survive_the_way_to_candor() {
        for raw in [7, 9, 64] {
            assert_eq!(killed_by(Ending::Itself(ExitStatus::from_raw(raw)).status().into()), Some(raw));
        }
        let exited = |code: i32| Ending::Itself(ExitStatus::from_raw(code << 8)).status();
        assert_eq!((exited(0), exited(3), exited(137)), (0, 1, 1));
        for status in [0, 1, i32::from(DEADLINE_STATUS), 128, 193] {
            assert_eq!(killed_by(status), None, "{status}");
        }
    }

    #[test]
    fn own_children_are_found() {
        let mut child = Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let found = descendants(std::process::id()).unwrap().contains(&child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
        assert!(!descendants(std::process::id()).unwrap().contains(&child.id()));
    }
}
