//! Outcomes of a frame that the rules let through.

use candor_io::errno::{EAGAIN, EINVAL, EMSGSIZE, ENETDOWN, ENOBUFS, ENODEV, ENXIO};

/// Where a frame ends that the rules let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Disposition {
    /// The outgoing interface's queue has it.
    Sent,
    /// There was no room for it (`ENOBUFS`, `EAGAIN`).
    Full,
    /// It was older than its route allows.
    Expired,
    /// The interface is down (`ENETDOWN`).
    Down,
    /// The interface is no more (`ENXIO`, `ENODEV`).
    Gone,
    /// It is larger than the interface's MTU, or the driver does not take its kind (`EINVAL`, `EMSGSIZE`).
    TooLarge,
    /// The kernel gave another reason.
    Other,
}

impl Disposition {
    /// How many of them are counted apart.
    pub(super) const PLACES: usize = 6;

    /// Where it is counted. Gone is as good as down.
    pub(super) const fn place(self) -> usize {
        match self {
            Self::Sent => 0,
            Self::Full => 1,
            Self::Expired => 2,
            Self::Down | Self::Gone => 3,
            Self::TooLarge => 4,
            Self::Other => 5,
        }
    }

    /// What an errno of sending means.
    pub(super) const fn of_errno(errno: i32) -> Self {
        match errno {
            EAGAIN | ENOBUFS => Self::Full,
            ENETDOWN => Self::Down,
            ENXIO | ENODEV => Self::Gone,
            EINVAL | EMSGSIZE => Self::TooLarge,
            _ => Self::Other,
        }
    }
}
