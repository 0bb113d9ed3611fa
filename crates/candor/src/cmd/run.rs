//! `candor run`.

use crate::cli::RunArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &RunArgs) -> Outcome {
    Err("not built yet".into())
}
