//! `candor tester`.

use crate::cli::TesterArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &TesterArgs) -> Outcome {
    Err("not built yet".into())
}
