//! `candor generate`.

use crate::cli::GenerateCommand;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &GenerateCommand) -> Outcome {
    Err("not built yet".into())
}
