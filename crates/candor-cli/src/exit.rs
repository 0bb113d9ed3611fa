//! Exit codes, decided in one place.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked, and the answer is yes.
    Fine,
    /// The answer is no: an invalid file, a missed budget.
    No,
    /// It could not run.
    CouldNotRun,
    /// The status of a command that ran in a guest.
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

    /// Ends the process now, whatever its other threads do.
    pub fn at_once(self) -> ! {
        std::process::exit(i32::from(self.status()))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}
