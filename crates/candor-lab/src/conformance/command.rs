//! The command that starts a gateway: it keeps running, or it returns when the gateway is set up.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use candor_io::process;

use crate::processes;

/// How long a command that is asked to end, or one that takes a gateway down, may take.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    words: Vec<OsString>,
}

/// A command that was started, as the leader of a process group: what it starts in turn is found there.
#[derive(Debug)]
pub struct Started {
    child: Child,
    ended: Option<ExitStatus>,
    /// Whether nothing was left of the group when the command had ended. Its number may be somebody else's then.
    is_alone: bool,
}

/// A command that did not do what it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no program.
    #[error("There is no command to run")]
    Empty,
    /// It cannot be started.
    #[error("Cannot start {program}")]
    Start {
        /// Which program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It ended with another status than 0.
    #[error("{program} ended with {status}; what it said stands above")]
    Failed {
        /// Which program.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It does not end.
    #[error("{program} does not end; it was killed after {} s", PATIENCE.as_secs())]
    DoesNotEnd {
        /// Which program.
        program: String,
    },
    /// It has ended, and something that it started does not.
    #[error("What {program} has started does not end; it was killed after {} s", PATIENCE.as_secs())]
    LeavesOthers {
        /// Which program.
        program: String,
    },
    /// It cannot be watched or ended.
    #[error("Cannot watch or end {program}")]
    Process {
        /// Which program.
        program: String,
        /// Why.
        source: io::Error,
    },
}

impl Command {
    /// A command of these words.
    ///
    /// # Errors
    /// [`CommandError::Empty`] if there are none.
    pub fn new(words: Vec<OsString>) -> Result<Self, CommandError> {
        if words.is_empty() { Err(CommandError::Empty) } else { Ok(Self { words }) }
    }

    /// The program's name.
    #[must_use]
    pub fn program(&self) -> String {
        self.words[0].to_string_lossy().into_owned()
    }

    /// Starts it. What it says goes to standard error; it ends with this thread, whatever happens to that.
    ///
    /// # Errors
    /// [`CommandError::Start`].
    pub fn start(&self) -> Result<Started, CommandError> {
        let mut command = std::process::Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null()).stdout(io::stderr());
        command.process_group(0);
        process::end_with_parent(&mut command);
        let child = command.spawn().map_err(|source| CommandError::Start { program: self.program(), source })?;
        Ok(Started { child, ended: None, is_alone: false })
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// [`CommandError`] if it fails or takes more than ten seconds.
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
    /// How it ended, if it has.
    ///
    /// # Errors
    /// [`CommandError::Process`] if the kernel does not say.
    pub fn ended(&mut self, command: &Command) -> Result<Option<ExitStatus>, CommandError> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().map_err(command.process_error())?;
            if self.ended.is_some() {
                self.is_alone = !group_lives(self.child.id()).map_err(command.process_error())?;
            }
        }
        Ok(self.ended)
    }

    /// Whether something that the command has started is still there after it has ended.
    ///
    /// # Errors
    /// As [`ended`](Self::ended).
    pub fn left_others(&mut self, command: &Command) -> Result<bool, CommandError> {
        if self.ended(command)?.is_some() && !self.is_alone {
            self.is_alone = !group_lives(self.child.id()).map_err(command.process_error())?;
        }
        Ok(self.ended.is_some() && !self.is_alone)
    }

    /// Ends it and what it has started as a user would, by SIGTERM, and says how it ended.
    ///
    /// # Errors
    /// [`CommandError::DoesNotEnd`] or [`CommandError::LeavesOthers`] if something had to be killed.
    pub fn stop(&mut self, command: &Command) -> Result<ExitStatus, CommandError> {
        if self.ended(command)?.is_none() || self.left_others(command)? {
            process::terminate_group(self.child.id()).map_err(command.process_error())?;
        }
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.ended(command)?
                && !self.left_others(command)?
            {
                return Ok(status);
            }
            std::thread::sleep(LOOK);
        }
        let program = command.program();
        let error = match self.ended {
            Some(_status) => CommandError::LeavesOthers { program },
            None => CommandError::DoesNotEnd { program },
        };
        self.kill();
        Err(error)
    }

    /// Whoever ends it this way has no use for what goes wrong.
    fn kill(&mut self) {
        if self.ended.is_some() && self.is_alone {
            return;
        }
        let _ = process::kill_group(self.child.id());
        if self.ended.is_none() && self.child.kill().is_ok() {
            self.ended = self.child.wait().ok();
        }
        self.is_alone = true;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether any process of the group runs. One that has ended is in it until somebody asks how, which not every first
/// process of a container does.
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
    fn what_a_command_starts_ends_with_it() {
        let command = shell("sleep 60; true");
        let mut started = command.start().unwrap();
        assert_eq!(started.ended(&command).unwrap(), None);
        assert!(!started.stop(&command).unwrap().success());
        assert!(!group_lives(started.child.id()).unwrap());
    }

    #[test]
    fn what_a_command_leaves_behind_is_found_and_ended() {
        let command = shell("sleep 60 &");
        let mut started = command.start().unwrap();
        while started.ended(&command).unwrap().is_none() {
            std::thread::sleep(LOOK);
        }
        assert!(started.left_others(&command).unwrap());
        assert!(started.stop(&command).unwrap().success());
        assert!(!started.left_others(&command).unwrap() && !group_lives(started.child.id()).unwrap());
    }

    #[test]
    fn a_command_that_is_dropped_leaves_nothing() {
        let command = shell("sleep 60 & wait");
        let started = command.start().unwrap();
        let group = started.child.id();
        drop(started);
        // A signal takes a moment.
        while group_lives(group).unwrap() {
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn commands_that_fail_say_how() {
        assert!(matches!(Command::new(Vec::new()), Err(CommandError::Empty)));
        assert!(matches!(shell("exit 3").run(), Err(CommandError::Failed { status, .. }) if status.code() == Some(3)));
        let missing = Command::new(vec!["/no such program".into()]).unwrap();
        assert!(matches!(missing.start(), Err(CommandError::Start { .. })));
        shell("true").run().unwrap();
    }
}
