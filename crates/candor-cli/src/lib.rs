//! Exit codes, output and gateway files, shared by the programs `candor` and `candor-lab`.
#![forbid(unsafe_code)]

pub mod assumed;
mod bounded;
pub mod gateway_file;
pub mod generate;
pub mod key_file;
pub mod link;
pub mod render;
#[cfg(feature = "schema")]
pub mod schema;
pub mod signed;
pub mod socket;
pub mod table;

use std::process::ExitCode;

/// An exit status, or an error that [`finish`] prints with its causes.
pub type Outcome = Result<Exit, Box<dyn std::error::Error>>;

/// Prints the error of a command, if there is one, after the name of the program. A closed pipe is not an error.
pub fn finish(program: &str, outcome: Outcome) -> ExitCode {
    outcome
        .unwrap_or_else(|error| {
            if render::is_broken_pipe(&*error) {
                return Exit::Fine;
            }
            render::error_chain(program, &*error);
            Exit::CouldNotRun
        })
        .into()
}

/// Exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Status 0: success, and the answer is yes.
    Fine,
    /// Status 1: the answer is no, such as an invalid file or an exceeded budget.
    No,
    /// Status 2: the command could not run.
    CouldNotRun,
    /// Status 75, `EX_TEMPFAIL` of sysexits.h: not now, but the same command may succeed later. Batch systems repeat such tasks.
    TryAgain,
    /// Status of a command in a guest.
    Guest(u8),
}

impl Exit {
    const fn status(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::No => 1,
            Self::CouldNotRun => 2,
            Self::TryAgain => 75,
            Self::Guest(status) => status,
        }
    }

    /// Ends the process without waiting for its other threads.
    pub fn at_once(self) -> ! {
        std::process::exit(i32::from(self.status()))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}
