//! A guest that runs under its guard.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};

use candor_io::process;

use super::command_line::{CommandLine, Files};
use super::{GuestSpec, LabError, file, touch};
use crate::guard::DEADLINE_STATUS;

/// Dropped, it ends the guest and waits until nothing of it is left.
#[derive(Debug)]
pub(super) struct Running {
    guard: Child,
}

/// What the guard says about the end.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) at_deadline: bool,
    /// For a person, if the guest did not end as it should.
    pub(super) reason: String,
}

impl Running {
    pub(super) fn start(
        spec: &GuestSpec,
        line: &CommandLine,
        files: &Files,
        terminal: Option<UnixStream>,
    ) -> Result<Self, LabError> {
        touch(&files.channel)?;
        let append = |path| File::options().create(true).append(true).open(path).map_err(file(path));
        let console = append(&files.console)?;
        let mut given: Vec<OwnedFd> = vec![append(&files.channel)?.into()];
        given.extend(terminal.map(OwnedFd::from));
        let mut guard = Command::new(&spec.candor);
        guard.arg("guard").arg("--seconds").arg(spec.timeout.as_secs().max(1).to_string());
        guard.arg("--remove").arg(&files.folder).arg("--").args(&line.words);
        guard.env_clear().envs(line.environment.iter().cloned());
        // Standard input is the line that tells the guard when this process is gone.
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(console);
        process::give(&mut guard, given);
        let guard = guard.spawn().map_err(file(&spec.candor))?;
        Ok(Self { guard })
    }

    pub(super) fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.guard.try_wait()?.is_some())
    }

    /// Ends the guest if it still runs.
    pub(super) fn end(mut self) -> Ending {
        self.finish().map_or_else(
            |error| Ending { at_deadline: false, reason: error.to_string() },
            |status| Ending {
                at_deadline: status.code() == Some(i32::from(DEADLINE_STATUS)),
                reason: match status.code() {
                    Some(0) => "it switched itself off or restarted".to_owned(),
                    _ => "the program that runs it ended with an error".to_owned(),
                },
            },
        )
    }

    fn finish(&mut self) -> io::Result<ExitStatus> {
        drop(self.guard.stdin.take());
        self.guard.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The guard has its own deadline if it does not answer.
        let _ = self.finish();
    }
}
