//! Errors of netlink requests.

use std::fmt;
use std::io;

use candor_io::errno;

use crate::codec::DecodeError;

/// An errno of the kernel; its display text is specific to rtnetlink.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// A capability is missing.
    pub const EPERM: Self = Self(errno::EPERM);
    /// The entry does not exist; for a queueing discipline also: its module is missing.
    pub const ENOENT: Self = Self(errno::ENOENT);
    /// The kernel is out of memory.
    pub const ENOMEM: Self = Self(errno::ENOMEM);
    /// A security module denies it.
    pub const EACCES: Self = Self(errno::EACCES);
    /// The interface must be down first.
    pub const EBUSY: Self = Self(errno::EBUSY);
    /// The entry already exists.
    pub const EEXIST: Self = Self(errno::EEXIST);
    /// No such network interface.
    pub const ENODEV: Self = Self(errno::ENODEV);
    /// A value of the request is invalid.
    pub const EINVAL: Self = Self(errno::EINVAL);
    /// A length or value is out of range.
    pub const ERANGE: Self = Self(errno::ERANGE);
    /// The kernel does not implement the request.
    pub const EOPNOTSUPP: Self = Self(errno::EOPNOTSUPP);
    /// The kernel does not handle messages of this protocol family.
    pub const EPFNOSUPPORT: Self = Self(errno::EPFNOSUPPORT);
    /// The kernel does not know the address family.
    pub const EAFNOSUPPORT: Self = Self(errno::EAFNOSUPPORT);
    /// The kernel has no buffer space left.
    pub const ENOBUFS: Self = Self(errno::ENOBUFS);

    const fn text(self) -> Option<&'static str> {
        Some(match self.0 {
            errno::EPERM => "not permitted",
            errno::ENOENT => "no such entry",
            errno::ENXIO | errno::ENODEV => "no such network interface",
            errno::ENOMEM => "the kernel is out of memory",
            errno::EBUSY => "the interface is busy",
            errno::EEXIST => "it already exists",
            errno::EINVAL => "the kernel rejects a value",
            errno::ERANGE => "a value is out of range",
            errno::EOPNOTSUPP => "the kernel has no support for it",
            errno::EPFNOSUPPORT | errno::EAFNOSUPPORT => "the kernel does not support the protocol family",
            errno::ENETDOWN => "the interface is down",
            errno::ENOBUFS => "the kernel has no buffer space left",
            _ => return None,
        })
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(text),
            None => write!(f, "{}", io::Error::from_raw_os_error(self.0)),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errno({}: {self})", self.0)
    }
}

/// A netlink request that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetlinkError {
    /// An answer that is not valid netlink.
    #[error("cannot decode the answer of the kernel")]
    Decode(#[source] DecodeError),
    /// The kernel answered with an errno.
    #[error("the kernel refused: {errno}{}", .text.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused {
        /// The errno of the answer.
        errno: Errno,
        /// The kernel's text (extended acknowledgement, Linux 4.12), if any.
        text: Option<String>,
    },
    /// Every attempt at a dump was interrupted by a change.
    #[error("the list keeps changing while it is read")]
    Restless,
    /// The netlink socket failed.
    #[error("the netlink socket failed")]
    Socket(#[source] io::Error),
}

impl NetlinkError {
    /// The errno of the kernel's answer; `None` for other errors.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}
