//! Failures of the user-space engines.

use std::io;

use crate::preflight::InterfaceError;
use crate::realtime::RealtimeError;
use crate::system_error::SystemError;

/// Sockets or threads that cannot be opened or have failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserError {
    /// An interface disappeared during the start.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// `[realtime]` was refused for a thread.
    #[error(transparent)]
    Realtime(#[from] RealtimeError),
    /// A transmit ring echoes exactly what the driver echoes, and the routes require the opposite.
    #[error(
        "engine {engine} cannot {} on {interface}: {}; set echo = {} in its routes, or use an engine that ends in -write",
        if *echo { "echo frames" } else { "send without echo" },
        if *echo { "neither its driver nor a transmit ring echoes" } else { "its driver echoes every frame of a transmit ring" },
        !echo
    )]
    RingEcho {
        engine: &'static str,
        interface: String,
        /// The `echo` key of its routes.
        echo: bool,
    },
    /// The `CAN_RAW` socket of an interface failed.
    #[error("the CAN_RAW socket of interface {interface} failed")]
    Socket { interface: String, source: io::Error },
    /// A system call that should not fail.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A bug in candor; please report it.
    #[error("internal error: the thread of interface {interface} panicked; please report this")]
    ThreadPanicked {
        /// The source interface of the thread.
        interface: String,
    },
}
