//! The error of [`Gateway`](crate::Gateway): one variant for each module that can fail.

use crate::bpf::BpfError;
use crate::kernel::KernelError;
use crate::placement::PlacementError;
use candor_userspace::preflight::InterfaceError;
use candor_userspace::realtime::RealtimeError;
use candor_userspace::run_dir::RunDirError;
use candor_userspace::system_error::SystemError;
use candor_userspace::user::UserError;

/// A gateway that cannot start or cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error(transparent)]
pub enum GatewayError {
    /// The kernel refused a program, or another program removes the filters.
    Bpf(#[from] BpfError),
    /// An interface is missing or unsuitable.
    Interface(#[from] InterfaceError),
    /// can-gw refused a request, or another program deletes the jobs.
    Kernel(#[from] KernelError),
    /// A mode could not be left several times.
    #[error("mode {mode:?} cannot be left, so the gateway ends: its routes must not go on: {why}")]
    ModeStays { mode: String, why: String },
    /// A change that a running gateway cannot make.
    #[error("restart candor to change {what}; the running gateway is unchanged")]
    NeedsRestart {
        /// The setting and how it differs.
        what: String,
    },
    /// No engine can run a route here.
    Placement(#[from] PlacementError),
    /// `[realtime]` was refused.
    Realtime(#[from] RealtimeError),
    /// The run directory is unusable, or another candor runs the same routes.
    RunDir(#[from] RunDirError),
    /// A system call that should not fail.
    System(#[from] SystemError),
    /// A socket or thread of a user-space engine failed.
    User(#[from] UserError),
}

impl GatewayError {
    /// True if the cause passes by itself, so that a running gateway need not end: kernel lists that change while they
    /// are read, no answer, no memory, a full run directory.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Bpf(error) => error.is_temporary(),
            Self::Interface(error) => error.is_temporary(),
            Self::Kernel(error) => error.is_temporary(),
            Self::RunDir(error) => error.is_temporary(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use candor_netlink::cangw::CangwError;
    use candor_netlink::client::{Errno, NetlinkError};

    use super::*;

    #[test]
    fn a_running_gateway_survives_temporary_errors_only() {
        let refused = |errno| NetlinkError::Refused { errno, text: None };
        let socket = |kind: io::ErrorKind| NetlinkError::Socket(kind.into());
        let jobs = |error| GatewayError::from(KernelError::List(error));
        let links = |error| GatewayError::from(InterfaceError::List(error));
        for (error, passes) in [
            (jobs(CangwError::Restless), true),
            (jobs(CangwError::OutOfMemory), true),
            (jobs(CangwError::NotPermitted), false),
            (jobs(CangwError::Netlink(socket(io::ErrorKind::WouldBlock))), true),
            (links(NetlinkError::Restless), true),
            (links(refused(Errno::ENOBUFS)), true),
            (links(refused(Errno::EPERM)), false),
            (links(socket(io::ErrorKind::BrokenPipe)), false),
            (GatewayError::NeedsRestart { what: String::new() }, false),
        ] {
            assert_eq!(error.is_temporary(), passes, "{error}");
        }
    }
}
