//! `candor show`.

use crate::cli::ShowArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &ShowArgs) -> Outcome {
    Err("not built yet".into())
}
