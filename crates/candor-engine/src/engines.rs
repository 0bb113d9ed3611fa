//! Detection of the engines that this kernel and this user can run.

use std::fmt;

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_io::can::{self, PollObstacle, Support};
use candor_io::{packet, uring};

use candor_userspace::system_error::SystemError;

/// Kernel features and privileges that the user-space engines need, as found by trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserAbilities {
    can: Support,
    packet: Option<packet::Obstacle>,
    uring: Option<uring::Obstacle>,
    busy_poll: Option<PollObstacle>,
}

/// The feature or privilege that an engine misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lack {
    /// The kernel has no CAN_RAW sockets.
    CanRaw,
    /// No packet sockets with rings.
    Packet(packet::Obstacle),
    Uring(uring::Obstacle),
    BusyPoll(PollObstacle),
}

impl UserAbilities {
    /// Probes all features by opening sockets and rings, and closes them again.
    ///
    /// # Errors
    /// An errno other than those that mean "not available".
    pub fn find() -> Result<Self, SystemError> {
        Self::find_for(|_engine| true)
    }

    /// As [`find`](Self::find), but only for the engines that `asks` selects: setting up a ring or an io_uring takes the kernel
    /// milliseconds.
    pub(crate) fn find_for(asks: impl Fn(UserEngine) -> bool) -> Result<Self, SystemError> {
        let failed = SystemError::while_doing;
        let any = |needs: fn(UserEngine) -> bool| UserEngine::all().any(|engine| asks(engine) && needs(engine));
        let can = can::support().map_err(failed("Probing for CAN sockets"))?;
        let mut found = Self { can, packet: None, uring: None, busy_poll: None };
        if any(|engine| engine.receiver().has_ring() || engine.sender().has_ring()) {
            found.packet = packet::obstacle().map_err(failed("Probing for packet sockets"))?;
        }
        if any(|engine| engine.receiver() == Receiver::Uring || engine.sender() == Sender::Uring) {
            found.uring = uring::obstacle().map_err(failed("Probing for io_uring"))?;
        }
        if any(|engine| engine.receiver() == Receiver::ReadBusy) && can == Support::Raw {
            found.busy_poll = can::poll_obstacle().map_err(failed("Probing for SO_BUSY_POLL"))?;
        }
        Ok(found)
    }

    /// The first thing that an engine misses; `None` if it can run.
    #[must_use]
    pub fn lack(&self, engine: UserEngine) -> Option<Lack> {
        let packet = || self.packet.map(Lack::Packet);
        let uring = || self.uring.map(Lack::Uring);
        if self.can != Support::Raw {
            return Some(Lack::CanRaw);
        }
        let receiver = match engine.receiver() {
            Receiver::Read | Receiver::ReadNb | Receiver::Mmsg => None,
            Receiver::ReadBusy => self.busy_poll.map(Lack::BusyPoll),
            Receiver::Mmap | Receiver::MmapBusy => packet(),
            Receiver::Uring => uring(),
        };
        receiver.or_else(|| match engine.sender() {
            Sender::Write | Sender::Mmsg => None,
            Sender::Mmap | Sender::Adaptive => packet(),
            Sender::Uring => uring(),
        })
    }

    /// The engine that `"auto"` uses for routes in user space.
    #[must_use]
    pub fn best(&self) -> UserEngine {
        if self.lack(UserEngine::BEST).is_none() { UserEngine::BEST } else { UserEngine::PLAINEST }
    }
}

impl Lack {
    /// A command or setting that helps.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::CanRaw => "sudo modprobe can-raw",
            Self::Packet(packet::Obstacle::Privilege) => {
                "run it as root, or: sudo setcap cap_net_raw+ep $(command -v candor)"
            }
            Self::Packet(packet::Obstacle::Missing) => "sudo modprobe af_packet",
            Self::Uring(uring::Obstacle::Missing | uring::Obstacle::TooOld) => {
                "boot Linux 6.0 or newer with CONFIG_IO_URING"
            }
            Self::Uring(uring::Obstacle::Privilege) => {
                "sudo sysctl kernel.io_uring_disabled=0, and a sandbox that allows io_uring"
            }
            Self::BusyPoll(PollObstacle::Privilege) => {
                "run it as root, or: sudo setcap cap_net_admin+ep $(command -v candor)"
            }
            Self::BusyPoll(PollObstacle::Missing) => {
                "use read-write, which is as fast: no CAN driver supports busy polling"
            }
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CanRaw => "the kernel has no CAN_RAW sockets",
            Self::Packet(packet::Obstacle::Privilege) => "packet rings need CAP_NET_RAW",
            Self::Packet(packet::Obstacle::Missing) => "the kernel has no packet sockets",
            Self::Uring(uring::Obstacle::Missing) => "the kernel has no io_uring",
            Self::Uring(uring::Obstacle::TooOld) => "the kernel's io_uring is older than 6.0",
            Self::Uring(uring::Obstacle::Privilege) => "io_uring is disabled for this process",
            Self::BusyPoll(PollObstacle::Privilege) => "SO_BUSY_POLL needs CAP_NET_ADMIN",
            Self::BusyPoll(PollObstacle::Missing) => "the kernel was built without SO_BUSY_POLL",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: UserAbilities = UserAbilities { can: Support::Raw, packet: None, uring: None, busy_poll: None };

    fn runnable(abilities: UserAbilities) -> Vec<&'static str> {
        UserEngine::all().filter(|engine| abilities.lack(*engine).is_none()).map(UserEngine::name).collect()
    }

    #[test]
    fn a_process_that_may_everything_runs_every_engine() {
        assert_eq!(runnable(ALL).len(), UserEngine::all().count());
        assert_eq!(ALL.best(), UserEngine::BEST);
    }

    #[test]
    fn without_privileges_sockets_are_left() {
        let unprivileged = UserAbilities {
            packet: Some(packet::Obstacle::Privilege),
            uring: Some(uring::Obstacle::TooOld),
            busy_poll: Some(PollObstacle::Privilege),
            ..ALL
        };
        let plain = ["read-write", "read-mmsg", "readnb-write", "readnb-mmsg", "mmsg-write", "mmsg-mmsg"];
        assert_eq!(runnable(unprivileged), plain);
        assert_eq!(unprivileged.best(), UserEngine::PLAINEST);
        let unpolled = UserAbilities { busy_poll: Some(PollObstacle::Missing), ..ALL };
        let lack =
            unpolled.lack(UserEngine::all().find(|engine| engine.receiver() == Receiver::ReadBusy).unwrap()).unwrap();
        // No capability brings what the kernel was built without.
        assert!(!lack.to_string().contains("CAP_") && !lack.remedy().contains("setcap"), "{lack}: {}", lack.remedy());
        assert_eq!(runnable(UserAbilities { can: Support::WithoutRaw, ..ALL }), Vec::<&str>::new());
    }
}
