//! The process between candor and a guest. It ends the guest at a deadline or when candor is gone, and leaves no
//! process of the guest.

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
use candor_io::schedule;

use crate::processes;

#[derive(Clone, Debug)]
pub struct Settings<'a> {
    pub deadline: Duration,
    /// The guest's program and arguments. Descriptors from 3 on are inherited.
    pub command: &'a [OsString],
    /// A directory to remove when candor is gone or has closed the connection.
    pub remove: Option<&'a Path>,
    /// The guest stays on one processor.
    pub one_processor: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// candor closed the guard's standard input, or died.
    Abandoned,
    Deadline,
    Itself(ExitStatus),
}

/// Exit status of the guard if the deadline passed.
pub const DEADLINE_STATUS: u8 = 124;

impl Ending {
    /// Exit status of the guard: 128 + signal if one killed the guest.
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

/// The signal that killed the guest, by the exit status of its guard.
pub fn killed_by(status: i32) -> Option<i32> {
    let signal = status - i32::from(KILLED_STATUS);
    (1..=64).contains(&signal).then_some(signal)
}

const KILLED_STATUS: u8 = 128;

/// One of those that this process may use; another one for each guard.
fn stay_on_one_processor() -> io::Result<()> {
    let processors = schedule::cpus()?;
    let at = usize::try_from(std::process::id()).unwrap_or_default() % processors.len().max(1);
    schedule::set_cpus(processors.get(at..=at).unwrap_or(&processors))
}

/// Runs the guest, until none of its processes is left and candor has closed standard input. If that is a socket, its
/// other direction is shut down when the guest has ended.
pub fn run(settings: &Settings<'_>) -> io::Result<Ending> {
    process::start_session()?;
    process::adopt_orphans()?;
    if settings.one_processor {
        stay_on_one_processor()?;
    }
    let (program, arguments) = settings.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    // User-mode Linux kills its whole process group on a panic.
    command.process_group(0);
    process::end_with_parent(&mut command);
    let mut guest = command.spawn()?;

    let (notify, ended) = mpsc::channel();
    let notify_end = notify.clone();
    thread::spawn(move || {
        // Nothing is ever sent. A failed read means the same as the end.
        while matches!(io::stdin().read(&mut [0]), Ok(1..)) {}
        // The receiver is gone if the guest ended first.
        let _ = notify.send(Ending::Abandoned);
    });
    thread::spawn(move || {
        if let Ok(status) = guest.wait() {
            let _ = notify_end.send(Ending::Itself(status));
        }
    });
    let ending = match ended.recv_timeout(settings.deadline) {
        Ok(ending) => ending,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ending::Deadline,
    };
    end_descendants()?;
    if ending != Ending::Abandoned {
        notify_candor()?;
        while !matches!(ended.recv(), Ok(Ending::Abandoned) | Err(_)) {}
    }
    if let Some(folder) = settings.remove {
        // candor may be removing it at the same time.
        let _ = fs::remove_dir_all(folder);
    }
    Ok(ending)
}

fn notify_candor() -> io::Result<()> {
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let _ = line.shutdown(Shutdown::Write);
    Ok(())
}

/// Kills all descendants and reaps them: the machine's first process may not.
fn end_descendants() -> io::Result<()> {
    const ENOUGH: Duration = Duration::from_secs(10);
    let begin = Instant::now();
    loop {
        let descendants = descendants(std::process::id())?;
        for &pid in &descendants {
            process::kill(pid)?;
        }
        // A process with threads looks dead before its last thread is; only reaping is certain.
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
    fn exit_status_of_the_guard_encodes_signals() {
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
    fn finds_own_children() {
        let mut child = Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let found = descendants(std::process::id()).unwrap().contains(&child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
        assert!(!descendants(std::process::id()).unwrap().contains(&child.id()));
    }
}
