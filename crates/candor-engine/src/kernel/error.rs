//! Failures of the kernel engine.

use std::time::Duration;

use candor_netlink::cangw::CangwError;
use candor_netlink::client::NetlinkError;

use crate::reconcile::ReconcileError;
use crate::refusal::Refusal;
use candor_userspace::run_dir::RunDirError;
use candor_userspace::temporary;

/// Jobs that cannot be installed, kept or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// Another program deletes the jobs as often as they are put back.
    #[error(
        "another program keeps deleting the can-gw jobs of route {route:?}: candor put jobs back {times} times within {} s; find \
         what calls cangw -F or reloads can-gw (a timer, a network script, another gateway), stop it, and start candor again",
        .within.as_secs()
    )]
    Contested {
        route: String,
        /// Repairs within the period.
        times: usize,
        /// Length of the period.
        within: Duration,
    },
    #[error("cannot install a can-gw job of route {route:?}")]
    Install {
        route: String,
        /// The errno and its likely causes.
        source: Refusal,
    },
    /// The jobs cannot be listed.
    #[error("cannot list the can-gw jobs")]
    List(#[source] CangwError),
    /// The netlink socket cannot be opened.
    #[error("cannot open a netlink socket")]
    Netlink(#[source] NetlinkError),
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// Jobs could not be removed at the end.
    #[error("cannot remove the can-gw jobs of route {route:?}; the next candor run removes them")]
    Remove { route: String, source: CangwError },
    /// The record of dead processes cannot be removed.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
}

impl KernelError {
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Install { source, .. } => temporary::cangw(source.error()),
            Self::List(error) => temporary::cangw(error),
            Self::Netlink(error) => temporary::netlink(error),
            Self::RunDir(error) => error.is_temporary(),
            _ => false,
        }
    }
}
