//! Exit codes.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Status 0: the command succeeded, and its answer is yes.
    Fine,
    /// Status 1: the answer is no, such as an invalid file or an exceeded budget.
    No,
    /// Status 2: the command could not run.
    CouldNotRun,
    /// Status of a command in a guest.
    Guest(u8),
}

impl Exit {
    const fn status(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::No => 1,
            Self::CouldNotRun => 2,
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
