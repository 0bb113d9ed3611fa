//! `candor report`.

use crate::cli::ReportArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &ReportArgs) -> Outcome {
    Err("not built yet".into())
}
