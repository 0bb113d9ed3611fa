//! What candor does inside and around a laboratory guest: first process, and guard.

use crate::cli::GuardArgs;
use crate::cmd::Outcome;

pub(crate) fn init() -> Outcome {
    Err("not built yet".into())
}

pub(crate) fn guard(_args: &GuardArgs) -> Outcome {
    Err("not built yet".into())
}
