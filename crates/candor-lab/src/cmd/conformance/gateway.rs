//! The tested gateway as a command: its state and its end.

use std::io;

use candor_lab::conformance::{Command, CommandError, Line, Started, Verdict};

/// A gateway that was started by a command, or before.
pub(super) struct Gateway {
    running: Option<Running>,
}

struct Running {
    command: Command,
    started: Started,
    /// True if it was still running when the first frame crossed; `None` before that.
    kept_running: Option<bool>,
}

pub(super) enum State {
    /// Started before the test.
    Already,
    /// The command returned when the gateway was set up.
    Returned { program: String },
    /// The command runs, or should run.
    Runs { program: String },
}

impl Gateway {
    pub(super) fn start(command: Option<Command>) -> Result<Self, CommandError> {
        let start = |command: Command| Ok(Running { started: command.start()?, command, kept_running: None });
        Ok(Self { running: command.map(start).transpose()? })
    }

    /// Checks, before the first frame, that the command has not failed.
    pub(super) fn is_starting(&mut self) -> Result<(), CommandError> {
        let Some(Running { command, started, .. }) = &mut self.running else { return Ok(()) };
        match started.ended(command)? {
            Some(status) if !status.success() => Err(CommandError::Failed { program: command.program(), status }),
            _ => Ok(()),
        }
    }

    /// Records whether the command runs, when the first frame has crossed.
    pub(super) fn has_started(&mut self) -> Result<(), CommandError> {
        let Some(Running { command, started, kept_running }) = &mut self.running else { return Ok(()) };
        if kept_running.is_none() {
            *kept_running = Some(started.ended(command)?.is_none());
        }
        Ok(())
    }

    /// Ends the command, if it runs, and returns its state and the result.
    ///
    /// A command that sets a gateway up may still run when the first frame crosses. If it has succeeded since, and frames
    /// still cross, it was one of those.
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

    /// Ends processes that a finished command has left in its process group, and reports them.
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
        Ok(_status) if had_ended => Ok((Verdict::Ok, format!("the processes of {program} have ended"))),
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
