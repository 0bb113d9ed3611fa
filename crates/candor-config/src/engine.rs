//! Engines. Those of user space have the names of the 2014 report: `RECEIVER-SENDER`.

use std::fmt;

/// Engine that runs the routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Each route in the kernel if can-gw can express it, otherwise in user space ([`crate::placement`]) by the best
    /// engine that this kernel and this user can run.
    Auto,
    /// can-gw jobs in the kernel.
    Kernel,
    /// eBPF programs at the ingress of the interfaces (Linux 7.0).
    Bpf,
    /// All routes in user space.
    User(UserEngine),
}

/// A user-space engine: receiver and sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserEngine {
    receiver: Receiver,
    sender: Sender,
}

/// Receiver of a user-space engine.
///
/// # Source
/// Performance evaluation of Linux CAN-related system calls (2014), section 3.2 and table 3.1, with the programs in
/// [can-benchmark](https://rtime.felk.cvut.cz/gitweb/can-benchmark.git); `uring` is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    /// A CAN_RAW socket and a blocking `read()`.
    Read,
    /// A CAN_RAW socket and a non-blocking `read()` in a loop (`O_NONBLOCK`).
    ReadNb,
    /// As [`Read`](Self::Read), with `SO_BUSY_POLL`, which no CAN driver of today's kernels honours.
    ReadBusy,
    /// The ring of a PF_PACKET socket, and `poll()` while it is empty.
    Mmap,
    /// The ring of a PF_PACKET socket, polled in a loop.
    MmapBusy,
    /// A CAN_RAW socket and `recvmmsg()`: all waiting frames with one call.
    Mmsg,
    /// A CAN_RAW socket and a multishot receive of io_uring.
    Uring,
}

/// Sender of a user-space engine.
///
/// # Source
/// Performance evaluation of Linux CAN-related system calls (2014), section 3.2 and table 3.1, with the programs in
/// [can-benchmark](https://rtime.felk.cvut.cz/gitweb/can-benchmark.git); `uring` and `adaptive` are newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// A CAN_RAW socket and one `send()` for each frame.
    Write,
    /// The transmit ring of a PF_PACKET socket and one `send()` for all waiting frames.
    Mmap,
    /// A CAN_RAW socket and one `sendmmsg()` for all waiting frames.
    Mmsg,
    /// A CAN_RAW socket and one submission to io_uring for all waiting frames.
    Uring,
    /// [`Write`](Self::Write) for a single frame, [`Mmap`](Self::Mmap) if two or more are waiting.
    Adaptive,
}

/// The senders in the order of the names in [`PAIRS`].
const SENDERS: [Sender; 5] = [Sender::Write, Sender::Mmap, Sender::Mmsg, Sender::Uring, Sender::Adaptive];

/// Names of the supported pairs, by receiver. A receiver that takes frames one by one does not know whether more are
/// waiting, so with it `adaptive` would be `write`.
const PAIRS: [(Receiver, &[&str]); 7] = [
    (Receiver::Read, &["read-write", "read-mmap", "read-mmsg", "read-uring"]),
    (Receiver::ReadNb, &["readnb-write", "readnb-mmap", "readnb-mmsg", "readnb-uring"]),
    (Receiver::ReadBusy, &["readbusy-write", "readbusy-mmap", "readbusy-mmsg", "readbusy-uring"]),
    (Receiver::Mmap, &["mmap-write", "mmap-mmap", "mmap-mmsg", "mmap-uring", "mmap-adaptive"]),
    (Receiver::MmapBusy, &["mmapbusy-write", "mmapbusy-mmap", "mmapbusy-mmsg", "mmapbusy-uring", "mmapbusy-adaptive"]),
    (Receiver::Mmsg, &["mmsg-write", "mmsg-mmap", "mmsg-mmsg", "mmsg-uring", "mmsg-adaptive"]),
    (Receiver::Uring, &["uring-write", "uring-mmap", "uring-mmsg", "uring-uring", "uring-adaptive"]),
];

impl Engine {
    /// `auto`, `kernel`, `bpf`, then those of user space.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Auto, Self::Kernel, Self::Bpf].into_iter().chain(UserEngine::all().map(Self::User))
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|engine| engine.name() == name)
    }

    pub const fn of_user_space(self) -> Option<UserEngine> {
        match self {
            Self::Auto | Self::Kernel | Self::Bpf => None,
            Self::User(engine) => Some(engine),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kernel => "kernel",
            Self::Bpf => "bpf",
            Self::User(engine) => engine.name(),
        }
    }
}

impl UserEngine {
    /// `read-write`: runs on every kernel and for every user.
    pub const PLAINEST: Self = Self { receiver: Receiver::Read, sender: Sender::Write };
    /// `mmap-adaptive`: the best one for most gateways; needs CAP_NET_RAW.
    pub const BEST: Self = Self { receiver: Receiver::Mmap, sender: Sender::Adaptive };

    /// All engines, ordered by receiver.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::named().map(|(engine, _)| engine)
    }

    fn named() -> impl Iterator<Item = (Self, &'static str)> {
        PAIRS.iter().flat_map(|&(receiver, names)| {
            SENDERS.iter().zip(names).map(move |(&sender, &name)| (Self { receiver, sender }, name))
        })
    }

    pub const fn receiver(self) -> Receiver {
        self.receiver
    }

    pub const fn sender(self) -> Sender {
        self.sender
    }

    /// The name in `candor.toml` and in the report.
    ///
    /// # Panics
    /// Never: a pair without a name cannot be built.
    pub fn name(self) -> &'static str {
        Self::named()
            .find(|(engine, _)| *engine == self)
            .map(|(_, name)| name)
            .expect("only pairs of the table are built")
    }
}

impl Receiver {
    /// Returns true for a packet ring, which needs a PF_PACKET socket.
    pub const fn has_ring(self) -> bool {
        matches!(self, Self::Mmap | Self::MmapBusy)
    }

    /// Returns true if received frames have kernel timestamps.
    pub const fn has_stamps(self) -> bool {
        !matches!(self, Self::Uring)
    }

    /// Returns true if it occupies a CPU while it waits.
    pub const fn spins(self) -> bool {
        matches!(self, Self::ReadNb | Self::MmapBusy)
    }
}

impl Sender {
    /// Returns true for a packet ring, which needs a PF_PACKET socket.
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
    fn finds_every_engine_by_its_name() {
        let mut names: Vec<_> = Engine::all().map(Engine::name).collect();
        assert!(Engine::all().all(|engine| Engine::named(engine.name()) == Some(engine)));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 3 + UserEngine::all().count());
        assert_eq!(Engine::named("write-read"), None);
    }

    /// The user-space gateways of table 3.1.
    #[test]
    fn includes_the_engines_of_the_report() {
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
