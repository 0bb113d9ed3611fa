//! `--seccomp` on 32-bit processors, for which seccompiler has no filters.

#[derive(Debug, thiserror::Error)]
#[error("cannot filter system calls on {}; run without --seccomp", std::env::consts::ARCH)]
pub(super) struct SeccompError;

#[expect(dead_code, reason = "nothing is allowed or denied")]
pub(super) struct Needs {
    pub(super) internet: bool,
    pub(super) namespaces: bool,
    pub(super) programs: bool,
    pub(super) queues: bool,
}

pub(super) fn confine(_needs: Needs) -> Result<(), SeccompError> {
    Err(SeccompError)
}
