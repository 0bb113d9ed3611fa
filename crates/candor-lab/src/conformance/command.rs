//! The command that starts a gateway: it keeps running, or it returns when the gateway is set up.

use std::ffi::OsString;
use std::io;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use candor_io::process;

/// How long a command that is asked to end, or one that takes a gateway down, may take.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    words: Vec<OsString>,
}

/// A command that was started.
#[derive(Debug)]
pub struct Started {
    child: Child,
    ended: Option<ExitStatus>,
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
        process::end_with_parent(&mut command);
        let child = command.spawn().map_err(|source| CommandError::Start { program: self.program(), source })?;
        Ok(Started { child, ended: None })
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// [`CommandError`] if it fails or takes more than ten seconds.
    pub fn run(&self) -> Result<(), CommandError> {
        let mut started = self.start()?;
        match started.wait(self)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(CommandError::Failed { program: self.program(), status }),
            None => Err(CommandError::DoesNotEnd { program: self.program() }),
        }
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
        }
        Ok(self.ended)
    }

    /// Ends it as a user would, by SIGTERM, and says how it ended.
    ///
    /// # Errors
    /// [`CommandError::DoesNotEnd`] if it had to be killed.
    pub fn stop(mut self, command: &Command) -> Result<ExitStatus, CommandError> {
        process::terminate(self.child.id()).map_err(command.process_error())?;
        self.wait(command)?.ok_or_else(|| CommandError::DoesNotEnd { program: command.program() })
    }

    /// Waits for the end; `None` if it takes too long.
    fn wait(&mut self, command: &Command) -> Result<Option<ExitStatus>, CommandError> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.ended(command)? {
                return Ok(Some(status));
            }
            std::thread::sleep(LOOK);
        }
        Ok(None)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.ended.is_none() && self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}
