//! Exit codes, decided in one place.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked, and the answer is yes.
    Fine,
    /// The answer is no: an invalid file, a missed budget.
    No,
    /// It could not run.
    CouldNotRun,
    /// The status of a command that ran in a guest.
    Guest(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Fine => Self::SUCCESS,
            Exit::No => Self::from(1),
            Exit::CouldNotRun => Self::from(2),
            Exit::Guest(status) => Self::from(status),
        }
    }
}
