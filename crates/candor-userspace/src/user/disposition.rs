//! Outcomes of a frame that the rules let through.

use candor_io::errno::{EAGAIN, EINVAL, EMSGSIZE, ENETDOWN, ENOBUFS, ENODEV, ENXIO};

/// The outcome of a frame that passed the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// Accepted by the transmit queue.
    Sent,
    /// The transmit queue was full (`ENOBUFS`, `EAGAIN`).
    Full,
    /// Older than `max-age`.
    Expired,
    /// Interface down (`ENETDOWN`).
    Down,
    /// Interface gone (`ENXIO`, `ENODEV`).
    Gone,
    /// Larger than the MTU, or of a kind that the driver does not send (`EINVAL`, `EMSGSIZE`).
    TooLarge,
    Other,
}

impl Disposition {
    /// Number of counters of a route.
    pub const PLACES: usize = 6;

    /// Index of its counter. Gone counts as down.
    pub const fn place(self) -> usize {
        match self {
            Self::Sent => 0,
            Self::Full => 1,
            Self::Expired => 2,
            Self::Down | Self::Gone => 3,
            Self::TooLarge => 4,
            Self::Other => 5,
        }
    }

    /// The meaning of an errno of `send()`.
    pub const fn of_errno(errno: i32) -> Self {
        match errno {
            EAGAIN | ENOBUFS => Self::Full,
            ENETDOWN => Self::Down,
            ENXIO | ENODEV => Self::Gone,
            EINVAL | EMSGSIZE => Self::TooLarge,
            _ => Self::Other,
        }
    }
}
