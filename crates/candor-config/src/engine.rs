//! The gateways that candor has, by the names of the 2014 report: `RECEIVER-SENDER`.

use std::fmt;

/// Engine that runs the routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Each route in the kernel if can-gw can express it, otherwise in user space ([`crate::placement`]) by the best
    /// engine that this kernel and this user can run.
    Auto,
    /// can-gw jobs in the kernel.
    Kernel,
    /// All routes in user space.
    User(UserEngine),
}

/// A gateway in user space: how it receives and how it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserEngine {
    receiver: Receiver,
    sender: Sender,
}

/// Receiver of a user-space engine.
///
/// # Source
/// Report of 2014, section 3.2 and table 3.1; `uring` is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    /// A CAN_RAW socket and a `read()` that waits.
    Read,
    /// A CAN_RAW socket and a `read()` that does not wait, again and again (`O_NONBLOCK`).
    ReadNb,
    /// As [`Read`](Self::Read), with `SO_BUSY_POLL`, which no CAN driver of today's kernels honours.
    ReadBusy,
    /// The ring of a PF_PACKET socket, and `poll()` while it is empty.
    Mmap,
    /// The ring of a PF_PACKET socket, looked at again and again.
    MmapBusy,
    /// A CAN_RAW socket and `recvmmsg()`: all frames that wait with one call.
    Mmsg,
    /// A CAN_RAW socket and a multishot receive of io_uring.
    Uring,
}

/// Sender of a user-space engine.
///
/// # Source
/// Report of 2014, section 3.2 and table 3.1; `uring` and `adaptive` are newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// A CAN_RAW socket and one `send()` for each frame.
    Write,
    /// The transmit ring of a PF_PACKET socket and one `send()` for all frames that were waiting.
    Mmap,
    /// A CAN_RAW socket and one `sendmmsg()` for all frames that were waiting.
    Mmsg,
    /// A CAN_RAW socket and one submission to io_uring for all frames that were waiting.
    Uring,
    /// [`Write`](Self::Write) for a frame that came alone, [`Mmap`](Self::Mmap) as soon as two or more are waiting.
    Adaptive,
}

/// Every pair that makes sense, by receiver. A receiver that takes frames one by one does not know whether more are
/// waiting, so with it `adaptive` would be `write`.
const PAIRS: [(Receiver, &[(Sender, &str)]); 7] = [
    (
        Receiver::Read,
        &[
            (Sender::Write, "read-write"),
            (Sender::Mmap, "read-mmap"),
            (Sender::Mmsg, "read-mmsg"),
            (Sender::Uring, "read-uring"),
        ],
    ),
    (
        Receiver::ReadNb,
        &[
            (Sender::Write, "readnb-write"),
            (Sender::Mmap, "readnb-mmap"),
            (Sender::Mmsg, "readnb-mmsg"),
            (Sender::Uring, "readnb-uring"),
        ],
    ),
    (
        Receiver::ReadBusy,
        &[
            (Sender::Write, "readbusy-write"),
            (Sender::Mmap, "readbusy-mmap"),
            (Sender::Mmsg, "readbusy-mmsg"),
            (Sender::Uring, "readbusy-uring"),
        ],
    ),
    (
        Receiver::Mmap,
        &[
            (Sender::Write, "mmap-write"),
            (Sender::Mmap, "mmap-mmap"),
            (Sender::Mmsg, "mmap-mmsg"),
            (Sender::Uring, "mmap-uring"),
            (Sender::Adaptive, "mmap-adaptive"),
        ],
    ),
    (
        Receiver::MmapBusy,
        &[
            (Sender::Write, "mmapbusy-write"),
            (Sender::Mmap, "mmapbusy-mmap"),
            (Sender::Mmsg, "mmapbusy-mmsg"),
            (Sender::Uring, "mmapbusy-uring"),
            (Sender::Adaptive, "mmapbusy-adaptive"),
        ],
    ),
    (
        Receiver::Mmsg,
        &[
            (Sender::Write, "mmsg-write"),
            (Sender::Mmap, "mmsg-mmap"),
            (Sender::Mmsg, "mmsg-mmsg"),
            (Sender::Uring, "mmsg-uring"),
            (Sender::Adaptive, "mmsg-adaptive"),
        ],
    ),
    (
        Receiver::Uring,
        &[
            (Sender::Write, "uring-write"),
            (Sender::Mmap, "uring-mmap"),
            (Sender::Mmsg, "uring-mmsg"),
            (Sender::Uring, "uring-uring"),
            (Sender::Adaptive, "uring-adaptive"),
        ],
    ),
];

impl Engine {
    /// All of them: `auto`, `kernel`, then those of user space.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Auto, Self::Kernel].into_iter().chain(UserEngine::all().map(Self::User))
    }

    /// The engine of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|engine| engine.name() == name)
    }

    /// That of user space, if it is one.
    #[must_use]
    pub const fn of_user_space(self) -> Option<UserEngine> {
        match self {
            Self::Auto | Self::Kernel => None,
            Self::User(engine) => Some(engine),
        }
    }

    /// The name in `candor.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kernel => "kernel",
            Self::User(engine) => engine.name(),
        }
    }
}

impl UserEngine {
    /// `read-write`: the engine that every kernel has and every user may run.
    pub const PLAINEST: Self = Self { receiver: Receiver::Read, sender: Sender::Write };
    /// `mmap-adaptive`: the best one for most, which needs CAP_NET_RAW.
    pub const BEST: Self = Self { receiver: Receiver::Mmap, sender: Sender::Adaptive };

    /// All of them, by receiver.
    pub fn all() -> impl Iterator<Item = Self> {
        PAIRS.iter().flat_map(|(receiver, senders)| {
            senders.iter().map(|(sender, _)| Self { receiver: *receiver, sender: *sender })
        })
    }

    /// Returns the receiver.
    #[must_use]
    pub const fn receiver(self) -> Receiver {
        self.receiver
    }

    /// Returns the sender.
    #[must_use]
    pub const fn sender(self) -> Sender {
        self.sender
    }

    /// The name in `candor.toml` and in the report.
    ///
    /// # Panics
    /// Never: a pair without a name cannot be built.
    #[must_use]
    pub fn name(self) -> &'static str {
        let of_receiver = PAIRS.iter().find(|(receiver, _)| *receiver == self.receiver);
        let of_pair = of_receiver.and_then(|(_, senders)| senders.iter().find(|(sender, _)| *sender == self.sender));
        of_pair.map(|(_, name)| *name).expect("only the pairs of the table are built")
    }
}

impl Receiver {
    /// Returns true if it has a ring, and hence a socket of its own (PF_PACKET).
    #[must_use]
    pub const fn has_ring(self) -> bool {
        matches!(self, Self::Mmap | Self::MmapBusy)
    }

    /// Returns true if received frames have kernel timestamps.
    #[must_use]
    pub const fn has_stamps(self) -> bool {
        !matches!(self, Self::Uring)
    }

    /// Returns true if it occupies a CPU while it waits.
    #[must_use]
    pub const fn spins(self) -> bool {
        matches!(self, Self::ReadNb | Self::MmapBusy)
    }
}

impl Sender {
    /// Returns true if it has a ring, and hence a socket of its own (PF_PACKET).
    #[must_use]
    pub const fn has_ring(self) -> bool {
        matches!(self, Self::Mmap | Self::Adaptive)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for UserEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_found_by_its_name() {
        let mut names: Vec<_> = Engine::all().map(Engine::name).collect();
        assert!(Engine::all().all(|engine| Engine::named(engine.name()) == Some(engine)));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 + UserEngine::all().count());
        assert_eq!(Engine::named("write-read"), None);
    }

    /// The user-space gateways of table 3.1.
    #[test]
    fn the_reports_engines_are_there() {
        let report = [
            "read-write",
            "readnb-write",
            "readbusy-write",
            "mmap-mmap",
            "mmap-write",
            "mmapbusy-mmap",
            "mmapbusy-write",
            "readnb-mmap",
            "mmsg-mmsg",
        ];
        assert!(report.iter().all(|name| Engine::named(name).is_some()));
        assert_eq!([UserEngine::PLAINEST.name(), UserEngine::BEST.name()], ["read-write", "mmap-adaptive"]);
    }
}
