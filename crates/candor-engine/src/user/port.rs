//! A bus as the threads see it: the socket on its interface, and what is known of it.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use candor_core::engine::{Sender, UserEngine};
use candor_core::job::Job;
use candor_core::plan::{BusIndex, Echo, Plan};
use candor_io::can::{CanSocket, InterfaceIndex, Loopback, Options, Stamps};

use super::program::Fate;
use super::wanted::{self, Wanted};
use crate::error::GatewayError;
use crate::notice::Notice;
use crate::preflight::{self, Interfaces};

/// A bus and the socket on its interface.
#[derive(Debug)]
pub(super) struct Port {
    /// Its name at the start.
    pub(super) interface: String,
    /// For sending, and for those receivers that use CAN_RAW. All threads send through this one, because a socket does not
    /// hear itself.
    pub(super) socket: CanSocket,
    socket_plan: SocketPlan,
    wanted: Wanted,
    /// What frames bear that are sent here with echo, if sockets of this process would take them for those of others.
    pub(super) mark: Option<u32>,
    /// Whether a transmit ring echoes as the routes want it: it does where the driver does, whatever one asks for.
    pub(super) ring_echoes_right: bool,
    /// The number of the interface on which the bus is now or was last.
    index: AtomicU32,
    /// Errnos of `send()`, told and not told.
    pub(super) failures: ErrnoSet,
    /// Drops of the receive queue that have been told.
    told_drops: AtomicU32,
    /// Drops of a receive ring that have not been told.
    lost: AtomicU32,
}

/// How the socket of a port is opened.
#[derive(Clone, Copy, Debug)]
struct SocketPlan {
    /// Whether it is for receiving, too.
    receives: bool,
    loopback: Loopback,
    /// Whether somebody wants to know when frames came in.
    stamps: Stamps,
}

/// Errnos that have occurred and those of them that were told, as bits.
#[derive(Debug, Default)]
pub(super) struct ErrnoSet {
    seen: [AtomicU64; 3],
    told: [AtomicU64; 3],
}

impl Port {
    /// Opens the port of a bus, unless no job uses it.
    pub(super) fn open_if_used(
        plan: &Plan,
        engine: UserEngine,
        bus: BusIndex,
        jobs: &[Job],
        interfaces: &Interfaces,
    ) -> Result<Option<Arc<Self>>, GatewayError> {
        let is_used = jobs.iter().any(|job| [job.from, job.to].contains(&bus));
        is_used.then(|| Self::open(plan, engine, bus, jobs, interfaces).map(Arc::new)).transpose()
    }

    fn open(
        plan: &Plan,
        engine: UserEngine,
        bus: BusIndex,
        jobs: &[Job],
        interfaces: &Interfaces,
    ) -> Result<Self, GatewayError> {
        let link = interfaces.link(bus);
        let echo = jobs.iter().any(|job| job.to == bus && job.echo == Echo::On);
        let is_source = jobs.iter().any(|job| job.from == bus);
        let interface = link.name.clone();
        let ring_echoes_right = echo == link.echoes;
        if engine.sender() == Sender::Mmap && !ring_echoes_right && jobs.iter().any(|job| job.to == bus) {
            return Err(GatewayError::RingEcho { engine: engine.name(), interface, echo });
        }
        let has_max_age = jobs.iter().any(|job| job.from == bus && plan.route(job.route).max_age.is_some());
        // Sockets of their own hear what other sockets of this process echo.
        let own_sockets = engine.receiver().has_ring() || engine.sender().has_ring();
        let mark = (echo && is_source && own_sockets).then(|| own_mark(bus));
        let socket = SocketPlan {
            receives: !engine.receiver().has_ring(),
            loopback: if echo { Loopback::On } else { Loopback::Off },
            stamps: if has_max_age { Stamps::On } else { Stamps::Off },
        };
        let wanted = Wanted::of(jobs, bus, mark);
        match socket.open(link.index, &wanted, mark) {
            Ok(opened) => Ok(Self {
                interface,
                socket: opened,
                socket_plan: socket,
                wanted,
                mark,
                ring_echoes_right,
                index: AtomicU32::new(link.index.number()),
                failures: ErrnoSet::default(),
                told_drops: AtomicU32::new(0),
                lost: AtomicU32::new(0),
            }),
            Err(error) if is_gone(&error) => Err(preflight::interface_gone(plan.bus(bus), &interface)),
            Err(source) => Err(GatewayError::Socket { interface, source }),
        }
    }

    /// Sees to it that the socket is bound to this interface, if there is one, and says whether it was not before.
    ///
    /// The kernel unbinds a socket for ever when its interface goes away. Only the supervisor may call this.
    pub(super) fn follow(&self, interface: Option<InterfaceIndex>) -> Result<bool, GatewayError> {
        let Some(index) = interface else { return Ok(false) };
        if self.socket.interface().map_err(|error| self.failed(error))? == Some(index) {
            return Ok(false);
        }
        match self.socket_plan.open(index, &self.wanted, self.mark) {
            Ok(socket) => {
                self.socket.replace_with(socket).map_err(|error| self.failed(error))?;
                self.told_drops.store(0, Ordering::Relaxed);
                self.index.store(index.number(), Ordering::Release);
                Ok(true)
            }
            // Gone again already: the next look tells.
            Err(error) if is_gone(&error) => Ok(false),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// The interface on which the bus is now or was last; for receivers and senders that have sockets of their own.
    pub(super) fn index(&self) -> InterfaceIndex {
        InterfaceIndex::new(self.index.load(Ordering::Acquire)).expect("only numbers of interfaces are stored")
    }

    /// What is to be heard.
    pub(super) const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Whether frames are to have receive stamps.
    pub(super) const fn stamps(&self) -> Stamps {
        self.socket_plan.stamps
    }

    /// Frames that a ring has lost.
    pub(super) fn count_lost(&self, frames: u32) {
        if frames != 0 {
            self.lost.fetch_add(frames, Ordering::Relaxed);
        }
    }

    pub(super) fn failed(&self, source: io::Error) -> GatewayError {
        GatewayError::Socket { interface: self.interface.clone(), source }
    }

    /// What has happened since the last call, told of the interface under the name that it has now.
    pub(super) fn notices(&self, interface: &str) -> Vec<Notice> {
        let failed = |errno| {
            let interface = interface.to_owned();
            if errno == ENOBUFS { Notice::QueueFull { interface } } else { Notice::SendFailed { interface, errno } }
        };
        let mut notices: Vec<_> = self.failures.take_untold().map(failed).collect();
        // Kernels before 4.12 do not count.
        let drops = self.socket.dropped().unwrap_or_default();
        let of_socket = drops.wrapping_sub(self.told_drops.swap(drops, Ordering::Relaxed));
        let frames = of_socket.wrapping_add(self.lost.swap(0, Ordering::Relaxed));
        if frames != 0 {
            notices.push(Notice::ReceiveOverflow { interface: interface.to_owned(), frames });
        }
        notices
    }
}

impl SocketPlan {
    fn open(self, interface: InterfaceIndex, wanted: &Wanted, mark: Option<u32>) -> io::Result<CanSocket> {
        let not_own = mark.map(wanted::not_own).unwrap_or_default();
        let filters = if self.receives { wanted.filters.as_slice() } else { &[] };
        let Self { loopback, stamps, .. } = self;
        CanSocket::open(interface, &Options { filters, loopback, stamps, mark, instructions: &not_own })
    }
}

/// A mark that no other gateway gives to frames of this bus: a frame that another one sends must not be taken for ours.
fn own_mark(bus: BusIndex) -> u32 {
    /// Processes have numbers of 22 bits at most.
    const BUS_BITS: u32 = 10;
    let bus = u32::try_from(bus.0).unwrap_or_default() % (1 << BUS_BITS);
    (std::process::id() << BUS_BITS) | bus
}

impl ErrnoSet {
    pub(super) fn note(&self, errno: i32) {
        // Whether the interface or the socket has no room for a further frame makes no difference to people.
        let errno = if errno == EAGAIN { ENOBUFS } else { errno };
        let Some((word, bit)) = place(errno) else { return };
        self.seen[word].fetch_or(bit, Ordering::Relaxed);
    }

    /// The errnos that occurred for the first time since the last call.
    fn take_untold(&self) -> impl Iterator<Item = i32> {
        (0..=MAX_ERRNO).filter(|&errno| {
            let Some((word, bit)) = place(errno) else { return false };
            self.seen[word].load(Ordering::Relaxed) & bit != 0
                && self.told[word].fetch_or(bit, Ordering::Relaxed) & bit == 0
        })
    }
}

const EAGAIN: i32 = 11;
const ENOBUFS: i32 = 105;
/// The largest errno of Linux is 133.
const MAX_ERRNO: i32 = 191;

fn place(errno: i32) -> Option<(usize, u64)> {
    let errno = usize::try_from(errno).ok().filter(|errno| *errno <= MAX_ERRNO.unsigned_abs() as usize)?;
    Some((errno / 64, 1 << (errno % 64)))
}

/// Whether it makes sense to go on after an error of a socket: a signal came, the interface is down, or it is no more and
/// may come back. The kernel says so once.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NetworkDown | ErrorKind::Interrupted) || is_gone(error)
}

/// Whether an error of a socket says that its interface is no more.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error().map(Fate::of_errno) == Some(Fate::Gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errno_is_told_once() {
        let set = ErrnoSet::default();
        for errno in [105, 22, 11, -3, 9999] {
            set.note(errno);
        }
        assert_eq!(set.take_untold().collect::<Vec<_>>(), [22, 105]);
        set.note(105);
        set.note(100);
        assert_eq!(set.take_untold().collect::<Vec<_>>(), [100]);
    }
}
