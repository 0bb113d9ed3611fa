//! `candor lab run`.

use crate::cli::LabRunArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &LabRunArgs) -> Outcome {
    Err("not built yet".into())
}
