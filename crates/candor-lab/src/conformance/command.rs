//! The command that starts a gateway. It keeps running, or returns when the gateway is set up.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use candor_io::process;

use crate::processes;

/// Limit for a command to stop, and for the teardown.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    words: Vec<OsString>,
}

/// A started command, leader of its process group.
#[derive(Debug)]
pub struct Started {
    child: Child,
    ended: Option<ExitStatus>,
    /// True if the group was empty after the command had ended. Its number may be reused then.
    group_is_empty: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("There is no command to run")]
    Empty,
    #[error("Cannot start {program}")]
    Start { program: String, source: io::Error },
    #[error("{program} ended with {status}; its output is above")]
    Failed { program: String, status: ExitStatus },
    #[error("{program} does not end; it was killed after {} s", PATIENCE.as_secs())]
    DoesNotEnd { program: String },
    #[error("Processes started by {program} do not end; they were killed after {} s", PATIENCE.as_secs())]
    Orphans { program: String },
    #[error("Cannot monitor or stop {program}")]
    Process { program: String, source: io::Error },
}

impl Command {
    pub fn new(words: Vec<OsString>) -> Result<Self, CommandError> {
        if words.is_empty() { Err(CommandError::Empty) } else { Ok(Self { words }) }
    }

    pub fn program(&self) -> String {
        self.words[0].to_string_lossy().into_owned()
    }

    /// Starts it. Its output goes to standard error; it ends with this thread.
    pub fn start(&self) -> Result<Started, CommandError> {
        let mut command = std::process::Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null()).stdout(io::stderr());
        command.process_group(0);
        process::end_with_parent(&mut command);
        let child = command.spawn().map_err(|source| CommandError::Start { program: self.program(), source })?;
        Ok(Started { child, ended: None, group_is_empty: false })
    }

    /// Runs it to its end, for at most ten seconds.
    pub fn run(&self) -> Result<(), CommandError> {
        let mut started = self.start()?;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            match started.ended(self)? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(CommandError::Failed { program: self.program(), status }),
                None => std::thread::sleep(LOOK),
            }
        }
        Err(CommandError::DoesNotEnd { program: self.program() })
    }

    fn process_error(&self) -> impl FnOnce(io::Error) -> CommandError {
        let program = self.program();
        move |source| CommandError::Process { program, source }
    }
}

impl Started {
    pub fn ended(&mut self, command: &Command) -> Result<Option<ExitStatus>, CommandError> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().map_err(command.process_error())?;
            if self.ended.is_some() {
                self.group_is_empty = !group_lives(self.child.id()).map_err(command.process_error())?;
            }
        }
        Ok(self.ended)
    }

    /// True if processes that it started are left after it has ended.
    pub fn has_orphans(&mut self, command: &Command) -> Result<bool, CommandError> {
        if self.ended(command)?.is_some() && !self.group_is_empty {
            self.group_is_empty = !group_lives(self.child.id()).map_err(command.process_error())?;
        }
        Ok(self.ended.is_some() && !self.group_is_empty)
    }

    /// Sends SIGTERM to the group and returns the exit status. Kills what does not end in time, which is an error.
    pub fn stop(&mut self, command: &Command) -> Result<ExitStatus, CommandError> {
        if self.ended(command)?.is_none() || self.has_orphans(command)? {
            process::terminate_group(self.child.id()).map_err(command.process_error())?;
        }
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.ended(command)?
                && !self.has_orphans(command)?
            {
                return Ok(status);
            }
            std::thread::sleep(LOOK);
        }
        let program = command.program();
        let error = match self.ended {
            Some(_status) => CommandError::Orphans { program },
            None => CommandError::DoesNotEnd { program },
        };
        self.kill();
        Err(error)
    }

    fn kill(&mut self) {
        if self.ended.is_some() && self.group_is_empty {
            return;
        }
        let _ = process::kill_group(self.child.id());
        if self.ended.is_none() && self.child.kill().is_ok() {
            self.ended = self.child.wait().ok();
        }
        self.group_is_empty = true;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Zombies do not count: not every container's first process reaps them.
fn group_lives(leader: u32) -> io::Result<bool> {
    Ok(processes::all()?.iter().any(|one| one.group == leader && !one.is_dead()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        Command::new(["/bin/sh", "-c", script].map(Into::into).into()).unwrap()
    }

    #[test]
    fn stop_ends_the_whole_process_group() {
        let command = shell("sleep 60; true");
        let mut started = command.start().unwrap();
        assert_eq!(started.ended(&command).unwrap(), None);
        assert!(!started.stop(&command).unwrap().success());
        assert!(!group_lives(started.child.id()).unwrap());
    }

    #[test]
    fn processes_left_by_a_command_are_found_and_stopped() {
        let command = shell("sleep 60 &");
        let mut started = command.start().unwrap();
        while started.ended(&command).unwrap().is_none() {
            std::thread::sleep(LOOK);
        }
        assert!(started.has_orphans(&command).unwrap());
        assert!(started.stop(&command).unwrap().success());
        assert!(!started.has_orphans(&command).unwrap() && !group_lives(started.child.id()).unwrap());
    }

    #[test]
    fn drop_kills_the_process_group() {
        let command = shell("sleep 60 & wait");
        let started = command.start().unwrap();
        let group = started.child.id();
        drop(started);
        while group_lives(group).unwrap() {
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn errors_of_commands() {
        assert!(matches!(Command::new(Vec::new()), Err(CommandError::Empty)));
        assert!(matches!(shell("exit 3").run(), Err(CommandError::Failed { status, .. }) if status.code() == Some(3)));
        let missing = Command::new(vec!["/no such program".into()]).unwrap();
        assert!(matches!(missing.start(), Err(CommandError::Start { .. })));
        shell("true").run().unwrap();
    }
}
