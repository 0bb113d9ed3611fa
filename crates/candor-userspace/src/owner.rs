//! Owners of jobs and routes.

use std::fmt;

use candor_config::plan::Engine;

/// The candor that installed a job or runs a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `candor apply`, which has ended; its jobs stay.
    Applied {
        /// Absolute path of the gateway file.
        file: String,
    },
    /// A running, or dead, `candor run`.
    Process { pid: u32, engine: Engine },
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied { file } => write!(f, "the applied file {file}"),
            Self::Process { pid, .. } => write!(f, "candor process {pid}"),
        }
    }
}
