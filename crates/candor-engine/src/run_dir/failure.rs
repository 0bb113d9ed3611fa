//! What went wrong with a file or with the folder.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::GatewayError;

/// A file or folder of the run directory that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{doing} failed")]
pub struct RunDirError {
    /// Which one.
    pub path: PathBuf,
    /// What was done with it.
    pub doing: &'static str,
    /// Why it failed.
    #[source]
    pub source: io::Error,
}

impl From<RunDirError> for GatewayError {
    fn from(error: RunDirError) -> Self {
        Self::RunDir(error)
    }
}

pub(super) fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> RunDirError {
    move |source| RunDirError { path: path.to_owned(), doing, source }
}
