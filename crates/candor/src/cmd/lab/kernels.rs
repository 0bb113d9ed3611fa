//! `candor lab kernels`.

use crate::cli::LabKernelsArgs;
use crate::cmd::Outcome;

pub(crate) fn run(_args: &LabKernelsArgs) -> Outcome {
    Err("not built yet".into())
}
