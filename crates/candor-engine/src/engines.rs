//! Which engines this kernel and this user can run, found by trying.

use std::fmt;

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_io::can::{self, PollObstacle, Support};
use candor_io::{packet, uring};

use crate::system_error::SystemError;

/// What a process has for gateways in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserAbilities {
    can: Support,
    packet: Option<packet::Obstacle>,
    uring: Option<uring::Obstacle>,
    /// What speaks against `SO_BUSY_POLL`.
    busy_poll: Option<PollObstacle>,
}

/// Why an engine cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lack {
    /// The kernel has no CAN_RAW sockets.
    CanRaw,
    /// Rings are not for this process.
    Packet(packet::Obstacle),
    /// io_uring is not for this process.
    Uring(uring::Obstacle),
    /// `SO_BUSY_POLL` is not for this process.
    BusyPoll(PollObstacle),
}

impl UserAbilities {
    /// Looks what there is. Nothing is left behind.
    ///
    /// # Errors
    /// Answers of the kernel that make no sense.
    pub fn find() -> Result<Self, SystemError> {
        Self::find_for(|_engine| true)
    }

    /// As [`find`](Self::find), for those engines only that are asked about: what no other needs is not tried, because a
    /// ring or an io_uring takes the kernel some time to make and to unmake.
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

    /// Why an engine cannot run; `None` if it can.
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

    /// The engine that `"auto"` takes for what is in user space: the best one that runs.
    #[must_use]
    pub fn best(&self) -> UserEngine {
        if self.lack(UserEngine::BEST).is_none() { UserEngine::BEST } else { UserEngine::PLAINEST }
    }
}

impl Lack {
    /// What to do about it.
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
                "sudo sysctl kernel.io_uring_disabled=0, and no sandbox that forbids it"
            }
            Self::BusyPoll(PollObstacle::Privilege) => {
                "run it as root, or: sudo setcap cap_net_admin+ep $(command -v candor)"
            }
            Self::BusyPoll(PollObstacle::Missing) => "take read-write, which is as fast: no CAN driver polls",
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CanRaw => "the kernel has no CAN_RAW sockets",
            Self::Packet(packet::Obstacle::Privilege) => "rings want the capability CAP_NET_RAW",
            Self::Packet(packet::Obstacle::Missing) => "the kernel has no packet sockets",
            Self::Uring(uring::Obstacle::Missing) => "the kernel has no io_uring",
            Self::Uring(uring::Obstacle::TooOld) => "the kernel's io_uring is older than 6.0",
            Self::Uring(uring::Obstacle::Privilege) => "io_uring is forbidden",
            Self::BusyPoll(PollObstacle::Privilege) => "SO_BUSY_POLL wants the capability CAP_NET_ADMIN",
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
        let nobody = UserAbilities {
            packet: Some(packet::Obstacle::Privilege),
            uring: Some(uring::Obstacle::TooOld),
            busy_poll: Some(PollObstacle::Privilege),
            ..ALL
        };
        let plain = ["read-write", "read-mmsg", "readnb-write", "readnb-mmsg", "mmsg-write", "mmsg-mmsg"];
        assert_eq!(runnable(nobody), plain);
        assert_eq!(nobody.best(), UserEngine::PLAINEST);
        let unpolled = UserAbilities { busy_poll: Some(PollObstacle::Missing), ..ALL };
        let lack =
            unpolled.lack(UserEngine::all().find(|engine| engine.receiver() == Receiver::ReadBusy).unwrap()).unwrap();
        // No capability brings what the kernel was built without.
        assert!(!lack.to_string().contains("CAP_") && !lack.remedy().contains("setcap"), "{lack}: {}", lack.remedy());
        assert_eq!(runnable(UserAbilities { can: Support::WithoutRaw, ..ALL }), Vec::<&str>::new());
    }
}
