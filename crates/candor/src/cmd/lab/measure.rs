//! `candor lab measure`.

use crate::cli::LabMeasureArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &LabMeasureArgs) -> Outcome {
    Err("not built yet".into())
}
