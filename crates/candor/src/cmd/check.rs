//! `candor check`.

use crate::cli::CheckArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &CheckArgs) -> Outcome {
    Err("not built yet".into())
}
