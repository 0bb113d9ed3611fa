//! A guest and its guard.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use candor_io::process;

use super::command_line::{CommandLine, Files, UML_MEMORY_BYTES};
use super::{GuestSpec, LabError, file};
use crate::guard::{DEADLINE_STATUS, killed_by};

/// Dropping it ends the guest and waits until none of its processes is left.
#[derive(Debug)]
pub(super) struct Running {
    guard: Child,
    /// The guard shuts down its end when the guest is gone, and waits for the end of this one.
    line: UnixStream,
    /// Directory of the guest's memory, if it is a file.
    memory: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Ending {
    pub(super) at_deadline: bool,
    pub(super) reason: String,
}

impl Running {
    pub(super) fn start(
        spec: &GuestSpec,
        line: &CommandLine,
        files: &Files,
        terminal: Option<UnixStream>,
    ) -> Result<Self, LabError> {
        fs::write(&files.channel, "").map_err(file(&files.channel))?;
        let append = |path| File::options().create(true).append(true).open(path).map_err(file(path));
        let console = append(&files.console)?;
        let mut given: Vec<OwnedFd> = vec![append(&files.channel)?.into()];
        given.extend(terminal.map(OwnedFd::from));
        let mut guard = Command::new(&spec.lab);
        guard.arg("guard").arg("--seconds").arg(spec.timeout.as_secs().max(1).to_string());
        guard.arg("--remove").arg(&files.folder).args(line.one_processor.then_some("--one-processor"));
        guard.arg("--").args(&line.words);
        if let Some(folder) = &line.folder {
            guard.current_dir(folder);
        }
        guard.env_clear().envs(line.environment.iter().cloned());
        let (ours, theirs) = UnixStream::pair().map_err(file(&spec.lab))?;
        ours.set_nonblocking(true).map_err(file(&spec.lab))?;
        guard.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(console);
        process::give(&mut guard, given);
        // Ctrl-C must not end it before it removes the directory, not even while it starts.
        guard.process_group(0);
        let guard = guard.spawn().map_err(file(&spec.lab))?;
        Ok(Self { guard, line: ours, memory: line.memory.clone() })
    }

    pub(super) fn has_ended(&mut self) -> io::Result<bool> {
        match self.line.read(&mut [0]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            // A killed guard has closed its end too.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(true),
            read => read.map(|count| count == 0),
        }
    }

    /// Ends the guest if it still runs. Its directory is gone afterwards.
    pub(super) fn end(mut self) -> Ending {
        self.finish().map_or_else(
            |error| Ending { at_deadline: false, reason: error.to_string() },
            |status| Ending {
                at_deadline: status.code() == Some(i32::from(DEADLINE_STATUS)),
                reason: reason(status, self.memory.as_deref(), is_short),
            },
        )
    }

    fn finish(&mut self) -> io::Result<ExitStatus> {
        // Already closed if the guard was killed.
        let _ = self.line.shutdown(Shutdown::Both);
        self.guard.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The guard has its own deadline.
        let _ = self.finish();
    }
}

fn is_short(memory: &Path) -> bool {
    process::room(memory).is_ok_and(|room| room.free_bytes < UML_MEMORY_BYTES)
}

/// The reason why a guest ended early, from the status of its guard. User-mode Linux handles SIGBUS on missing memory with
/// SIGABRT, if it can.
fn reason(guard: ExitStatus, memory: Option<&Path>, is_short: fn(&Path) -> bool) -> String {
    const SIGABRT: i32 = 6;
    const SIGBUS: i32 = 7;
    const SIGKILL: i32 = 9;
    match (guard.code(), guard.code().and_then(killed_by), memory) {
        (Some(0), ..) => "it powered off or restarted".to_owned(),
        (_, Some(signal @ (SIGABRT | SIGBUS)), Some(memory)) if signal == SIGBUS || is_short(memory) => {
            format!("killed by {}: not enough memory in {}", signal_name(signal), memory.display())
        }
        (_, Some(SIGKILL), _) => "killed by SIGKILL: this machine may have run out of memory".to_owned(),
        (_, Some(signal), _) => format!("killed by {}", signal_name(signal)),
        (None, ..) => format!("its guard was killed by {}", signal_name(guard.signal().unwrap_or_default())),
        _ => "the program that runs it ended with an error".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    const NAMES: [(i32, &str); 11] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (15, "SIGTERM"),
    ];
    let name = NAMES.iter().find(|(number, _)| *number == signal);
    name.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

const LINES: usize = 20;
const TAIL_BYTES: u64 = 16 * 1024;

/// The last lines of a console, without control characters.
pub(super) fn last_lines(path: &Path) -> Vec<String> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).is_ok() {
        let _ = file.read_to_end(&mut bytes);
    }
    readable(&String::from_utf8_lossy(&bytes))
}

fn readable(text: &str) -> Vec<String> {
    let clean = |line: &str| line.chars().filter(|character| !character.is_control()).collect::<String>();
    let mut lines: Vec<String> = text.lines().map(clean).filter(|line| !line.trim().is_empty()).collect();
    lines.drain(..lines.len().saturating_sub(LINES));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_that_killed_a_guest_is_named() {
        let guard = |code: i32| ExitStatus::from_raw(code << 8);
        let shm = Some(Path::new("/dev/shm"));
        let with_room = |status, memory| reason(status, memory, |_| false);
        assert_eq!(with_room(guard(128 + 7), shm), "killed by SIGBUS: not enough memory in /dev/shm");
        assert_eq!(with_room(guard(128 + 7), None), "killed by SIGBUS");
        assert_eq!(with_room(guard(128 + 6), shm), "killed by SIGABRT");
        assert_eq!(reason(guard(128 + 6), shm, |_| true), "killed by SIGABRT: not enough memory in /dev/shm");
        assert_eq!(with_room(guard(128 + 11), shm), "killed by SIGSEGV");
        assert_eq!(with_room(guard(128 + 40), shm), "killed by signal 40");
        assert!(with_room(guard(128 + 9), shm).contains("out of memory"));
        assert_eq!(with_room(ExitStatus::from_raw(15), shm), "its guard was killed by SIGTERM");
        assert!(with_room(guard(0), shm).contains("powered off"));
        assert!(with_room(guard(1), shm).contains("with an error"));
    }

    #[test]
    fn keeps_last_lines_without_control_characters() {
        let text: String = (0..100).map(|number| format!("line {number}\x1b[0m\r\n\r\n")).collect();
        let lines = readable(&text);
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines.last().map(String::as_str), Some("line 99[0m"));
    }
}
