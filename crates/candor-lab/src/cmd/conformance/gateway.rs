//! The gateway under test as a command: what it is doing, and how it ends.

use std::io;

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
    /// Its command runs, or is to.
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

    /// Ends the command, if it runs, and says what it was and how that went.
    ///
    /// A command that sets a gateway up may still be at it when the first frame crosses. If it has succeeded since, and
    /// frames cross all the same, it was one of those.
    pub(super) fn end(
        &mut self,
        still_crosses: impl FnOnce() -> io::Result<bool>,
    ) -> Result<(State, Option<Line>), Box<dyn std::error::Error>> {
        let Some(Running { command, started, kept_running }) = &mut self.running else {
            return Ok((State::Already, None));
        };
        let program = command.program();
        let (verdict, detail) = match started.ended(command)? {
            None => stop(command, started)?,
            Some(status) if *kept_running != Some(true) || status.success() && still_crosses()? => {
                return Ok((State::Returned { program }, None));
            }
            Some(status) => (Verdict::No, format!("{program} ended by itself: {status}")),
        };
        Ok((State::Runs { program }, Some(line(verdict, detail))))
    }

    /// Ends what a command that has ended has left behind in its process group, and says so.
    pub(super) fn clear_up(&mut self) -> Result<Option<Line>, CommandError> {
        let Some(Running { command, started, .. }) = &mut self.running else { return Ok(None) };
        if !started.has_orphans(command)? {
            return Ok(None);
        }
        let (verdict, detail) = stop(command, started)?;
        Ok(Some(line(verdict, detail)))
    }
}

fn stop(command: &Command, started: &mut Started) -> Result<(Verdict, String), CommandError> {
    let program = command.program();
    let had_ended = started.ended(command)?.is_some();
    match started.stop(command) {
        Ok(_status) if had_ended => Ok((Verdict::Ok, format!("what {program} has started has ended"))),
        Ok(status) => Ok((Verdict::Ok, format!("{program} has ended: {status}"))),
        Err(error @ (CommandError::DoesNotEnd { .. } | CommandError::Orphans { .. })) => {
            Ok((Verdict::No, error.to_string()))
        }
        Err(error) => Err(error),
    }
}

const fn line(verdict: Verdict, detail: String) -> Line {
    Line { name: "ends", property: "it runs until it is asked to end (SIGTERM)", verdict, detail }
}
