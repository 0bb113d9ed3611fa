//! The gateway under test as a command: what it is doing, and how it ends.

use candor_lab::conformance::{Command, CommandError, Line, Started, Verdict};

/// A gateway that somebody else, or a command, has started.
pub(super) struct Gateway {
    running: Option<Running>,
}

struct Running {
    command: Command,
    started: Started,
    /// Whether it was still running when the first frame had crossed; `None` before that.
    kept_running: Option<bool>,
}

/// How the gateway came to be there.
pub(super) enum State {
    /// It was there.
    Already,
    /// Its command has returned when the gateway was set up.
    Returned {
        /// The program.
        program: String,
    },
    /// Its command runs.
    Runs {
        /// The program.
        program: String,
    },
}

impl Gateway {
    /// Starts the command, if there is one.
    pub(super) fn start(command: Option<Command>) -> Result<Self, CommandError> {
        let start = |command: Command| Ok(Running { started: command.start()?, command, kept_running: None });
        Ok(Self { running: command.map(start).transpose()? })
    }

    /// Called while the first frame is awaited: a command that has failed will not bring it.
    pub(super) fn is_starting(&mut self) -> Result<(), CommandError> {
        let Some(Running { command, started, .. }) = &mut self.running else { return Ok(()) };
        match started.ended(command)? {
            Some(status) if !status.success() => Err(CommandError::Failed { program: command.program(), status }),
            _ => Ok(()),
        }
    }

    /// Called when the first frame has crossed.
    pub(super) fn has_started(&mut self) -> Result<(), CommandError> {
        let Some(Running { command, started, kept_running }) = &mut self.running else { return Ok(()) };
        if kept_running.is_none() {
            *kept_running = Some(started.ended(command)?.is_none());
        }
        Ok(())
    }

    pub(super) fn state(&self) -> State {
        match &self.running {
            None => State::Already,
            Some(Running { command, kept_running: Some(false), .. }) => State::Returned { program: command.program() },
            Some(Running { command, .. }) => State::Runs { program: command.program() },
        }
    }

    /// Ends the command, if it runs, and says how that went.
    pub(super) fn end(self) -> Result<Option<Line>, CommandError> {
        let Some(Running { command, mut started, kept_running }) = self.running else { return Ok(None) };
        let by_itself = started.ended(&command)?;
        let (verdict, detail) = match (by_itself, kept_running) {
            (Some(_status), Some(false) | None) => return Ok(None),
            (Some(status), Some(true)) => (Verdict::No, format!("{} ended by itself: {status}", command.program())),
            (None, _) => match started.stop(&command) {
                Ok(status) => (Verdict::Ok, format!("{} has ended: {status}", command.program())),
                Err(error @ CommandError::DoesNotEnd { .. }) => (Verdict::No, error.to_string()),
                Err(error) => return Err(error),
            },
        };
        Ok(Some(Line { name: "ends", property: "it runs until it is asked to end (SIGTERM)", verdict, detail }))
    }
}
