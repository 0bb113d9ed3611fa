//! System calls that fail only on a broken or very unusual system.

use std::io;

/// A system call that a working Linux does not refuse.
#[derive(Debug, thiserror::Error)]
#[error("{what} failed")]
pub struct SystemError {
    /// A gerund for the message, such as "Reading the clock".
    pub what: &'static str,
    pub source: io::Error,
}

impl SystemError {
    /// For `map_err`.
    pub fn while_doing(what: &'static str) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self { what, source }
    }
}
