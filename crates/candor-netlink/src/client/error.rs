//! Why the kernel did not do what it was asked.

use std::fmt;
use std::io;

use crate::codec::DecodeError;

/// An errno of the kernel, with a word for those that occur.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// Not permitted: a capability is missing.
    pub const EPERM: Self = Self(1);
    /// The interface has no such address or the entry does not exist.
    pub const ENOENT: Self = Self(2);
    /// The kernel is out of memory.
    pub const ENOMEM: Self = Self(12);
    /// Not permitted: a security module says so.
    pub const EACCES: Self = Self(13);
    /// It exists already.
    pub const EEXIST: Self = Self(17);
    /// No such network interface.
    pub const ENODEV: Self = Self(19);
    /// Something in the request is wrong.
    pub const EINVAL: Self = Self(22);
    /// A length or value is out of range.
    pub const ERANGE: Self = Self(34);
    /// The kernel has no code for this.
    pub const EOPNOTSUPP: Self = Self(95);
    /// The message is for another protocol family.
    pub const EPFNOSUPPORT: Self = Self(96);
    /// The kernel does not know the address family.
    pub const EAFNOSUPPORT: Self = Self(97);
    /// The kernel has no buffer space left.
    pub const ENOBUFS: Self = Self(105);

    const fn word(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "not permitted",
            2 => "no such entry",
            6 | 19 => "no such network interface",
            12 => "the kernel is out of memory",
            16 => "the interface is busy",
            17 => "it exists already",
            22 => "the kernel finds a value invalid",
            34 => "a value is out of range",
            95 => "the kernel has no support for it",
            96 | 97 => "the kernel does not know the protocol family",
            100 => "the interface is down",
            105 => "the kernel has no buffer space left",
            _ => return None,
        })
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word() {
            Some(word) => f.write_str(word),
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
    /// The kernel's answer makes no sense.
    #[error("The kernel's answer cannot be read")]
    Decode(#[source] DecodeError),
    /// The kernel said no.
    #[error("The kernel refused: {errno}{}", .text.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused {
        /// Why.
        errno: Errno,
        /// Why, in the kernel's own words (ext-ack), if it gave any.
        text: Option<String>,
    },
    /// No dump was consistent.
    #[error("What the kernel lists keeps changing")]
    Restless,
    /// The netlink socket failed.
    #[error("The netlink socket failed")]
    Socket(#[source] io::Error),
}

impl NetlinkError {
    /// The errno with which the kernel refused, if it did.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}
