//! Errors of can-gw requests. The module gives errnos without text, so the texts are written here.

use crate::client::{Errno, NetlinkError};

/// A can-gw request that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CangwError {
    /// `EINVAL` on adding.
    #[error(
        "can-gw rejects a value of the job: a hop limit above max_hops, a checksum position outside the frame, a job back to its \
         own interface (kernels since 2026), or the uid of a job with other interfaces"
    )]
    InvalidJob,
    /// `EOPNOTSUPP`, or a dump that lists foreign routes.
    #[error("the kernel module can-gw is not loaded")]
    ModuleMissing,
    /// Any other netlink error.
    #[error(transparent)]
    Netlink(NetlinkError),
    /// `ENODEV`.
    #[error("an interface of the job does not exist or is not a CAN interface")]
    NoSuchInterface,
    /// `EINVAL` on deleting.
    #[error("can-gw has no such job")]
    NoSuchJob,
    /// `EPERM`.
    #[error("changing can-gw jobs needs CAP_NET_ADMIN in the initial user namespace")]
    NotPermitted,
    /// `ENOMEM` or `ENOBUFS`.
    #[error("the kernel is out of memory")]
    OutOfMemory,
    /// No two dumps in a row were equal.
    #[error("the list of can-gw jobs keeps changing")]
    Restless,
    /// `ERANGE`: an attribute is shorter than the kernel's struct, so both sides are of different times.
    #[error("the kernel expects longer attributes; this candor is too old for this kernel")]
    TooShort,
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
            Some(Errno::EPERM | Errno::EACCES) => Self::NotPermitted,
            Some(Errno::ENODEV) => Self::NoSuchInterface,
            // Without the module rtnetlink answers for the family, and without its own route code with another errno.
            Some(Errno::EOPNOTSUPP | Errno::EPFNOSUPPORT | Errno::EAFNOSUPPORT) => Self::ModuleMissing,
            Some(Errno::ENOMEM | Errno::ENOBUFS) => Self::OutOfMemory,
            Some(Errno::ERANGE) => Self::TooShort,
            _ => Self::Netlink(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(error: &CangwError) -> &'static str {
        match error {
            CangwError::InvalidJob => "invalid job",
            CangwError::ModuleMissing => "module",
            CangwError::Netlink(_) => "other",
            CangwError::NoSuchInterface => "interface",
            CangwError::NoSuchJob => "no job",
            CangwError::NotPermitted => "permission",
            CangwError::OutOfMemory => "memory",
            CangwError::Restless => "restless",
            CangwError::TooShort => "short",
        }
    }

    /// Every errno of the control plane: what it is on adding, on deleting, on listing.
    #[test]
    fn errnos_have_a_meaning() {
        for (errno, meanings) in [
            (Errno::EPERM, ["permission"; 3]),
            (Errno::ENOMEM, ["memory"; 3]),
            (Errno::EACCES, ["permission"; 3]),
            (Errno::ENODEV, ["interface"; 3]),
            (Errno::EINVAL, ["invalid job", "no job", "other"]),
            (Errno::ERANGE, ["short"; 3]),
            (Errno::EOPNOTSUPP, ["module"; 3]),
            (Errno::EPFNOSUPPORT, ["module"; 3]),
            (Errno::EAFNOSUPPORT, ["module"; 3]),
            (Errno::ENOBUFS, ["memory"; 3]),
            (Errno::EEXIST, ["other"; 3]),
        ] {
            let refused = || NetlinkError::Refused { errno, text: None };
            let on = [CangwError::on_add, CangwError::on_delete, CangwError::on_dump];
            assert_eq!(on.map(|on| name(&on(refused()))), meanings, "{errno:?}");
        }
    }

    #[test]
    fn other_errnos_keep_the_text_of_the_kernel() {
        let refused = NetlinkError::Refused { errno: Errno::EBUSY, text: Some("later".into()) };
        assert_eq!(CangwError::on_add(refused).to_string(), "the kernel refused: the interface is busy (later)");
    }
}
