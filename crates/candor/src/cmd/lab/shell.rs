//! `candor lab shell`.

use crate::cli::LabShellArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &LabShellArgs) -> Outcome {
    Err("not built yet".into())
}
