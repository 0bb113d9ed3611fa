//! Why can-gw did not do what it was asked. The module gives errnos only, so the words are candor's.

use crate::client::{Errno, NetlinkError};

/// A can-gw request that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CangwError {
    /// `EINVAL` on adding.
    #[error("can-gw finds a value of the job invalid (hop limit above max_hops, or a checksum position out of range)")]
    InvalidJob,
    /// `EOPNOTSUPP`, or a dump that lists foreign routes.
    #[error("The kernel module can-gw is not loaded")]
    ModuleMissing,
    /// Something that is not special to can-gw.
    #[error(transparent)]
    Netlink(NetlinkError),
    /// `ENODEV`.
    #[error("An interface of the job does not exist or is no CAN interface")]
    NoSuchInterface,
    /// `EINVAL` on deleting.
    #[error("can-gw has no such job")]
    NoSuchJob,
    /// `EPERM`.
    #[error("Changing can-gw jobs needs the capability CAP_NET_ADMIN in the initial user namespace")]
    NotPermitted,
    /// No two dumps in a row were equal.
    #[error("The list of can-gw jobs keeps changing")]
    Restless,
}

impl CangwError {
    pub(super) fn on_add(error: NetlinkError) -> Self {
        match error.errno() {
            Some(Errno::EINVAL) => Self::InvalidJob,
            _ => Self::common(error),
        }
    }

    pub(super) fn on_delete(error: NetlinkError) -> Self {
        match error.errno() {
            Some(Errno::EINVAL) => Self::NoSuchJob,
            _ => Self::common(error),
        }
    }

    pub(super) fn on_dump(error: NetlinkError) -> Self {
        Self::common(error)
    }

    fn common(error: NetlinkError) -> Self {
        match error.errno() {
            Some(Errno::EPERM) => Self::NotPermitted,
            Some(Errno::ENODEV) => Self::NoSuchInterface,
            Some(Errno::EOPNOTSUPP) => Self::ModuleMissing,
            _ => Self::Netlink(error),
        }
    }
}
