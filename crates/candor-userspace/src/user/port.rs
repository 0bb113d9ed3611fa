//! The shared state of a bus: its socket, filters and counters.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use candor_config::engine::{Sender, UserEngine};
use candor_config::plan::{BusIndex, Echo, Plan};
use candor_core::job::{Computed, Job};
use candor_io::can::{CanSocket, InterfaceIndex, Loopback, Options, Stamps};
use candor_io::errno::{EAGAIN, ENOBUFS};
use candor_io::packet::Instruction;
use candor_netlink::link::Link;

use super::accounting::BusAccounting;
use super::config::EngineConfig;
use super::disposition::Disposition;
use super::error::UserError;
use super::wanted::{self, Wanted};
use crate::latency::MeasureLatency;
use crate::notice::Notice;
use crate::preflight::{self, Interfaces};

#[derive(Debug)]
pub(super) struct Port {
    /// Name of the interface at the start.
    pub(super) interface: String,
    /// Used for sending, and for receiving by CAN_RAW receivers. All threads send through this one, because a socket
    /// does not receive its own frames.
    pub(super) socket: CanSocket,
    /// The socket also receives.
    receives: bool,
    /// Current requirements of the routes. Not accessed for frames.
    demand: Mutex<Demand>,
    /// A transmit ring echoes exactly what the driver echoes; true if that is what the routes require.
    ring_echoes_right: AtomicBool,
    /// Current or last interface index.
    index: AtomicU32,
    /// Errnos of `send()`, reported and not.
    pub(super) failures: ErrnoSet,
    pub(super) accounting: BusAccounting,
    /// Errno of a receiver that could not apply the requirements; 0 if none.
    refused: AtomicI32,
}

/// Requirements of the routes on the sockets of a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) wanted: Wanted,
    loopback: Loopback,
    stamps: Stamps,
    /// Mark of frames sent here with echo, if other sockets of this process would receive them. Never changes once set.
    mark: Option<u32>,
}

/// Sets of errnos, as bits.
#[derive(Debug, Default)]
pub struct ErrnoSet {
    seen: [AtomicU64; 3],
    reported: [AtomicU64; 3],
}

/// Requirements of a port during a reload.
#[derive(Debug)]
pub(super) struct Transition {
    before: Demand,
    /// The union of both; echo stays as before.
    meanwhile: Demand,
    after: Demand,
    echoes_right_before: bool,
}

impl Demand {
    fn of(plan: &Plan, config: EngineConfig, bus: BusIndex, jobs: &[Job], mark: Option<u32>) -> Self {
        let EngineConfig { engine, latency } = config;
        let echo = jobs.iter().any(|job| job.to == bus && job.echo == Echo::On);
        let is_source = jobs.iter().any(|job| job.from == bus);
        // Separate receive sockets receive what the sending sockets of this process echo.
        let own_sockets = engine.receiver().has_ring() || engine.sender().has_ring();
        let are_heard = (is_source && own_sockets) || plan.learns_claims(bus);
        let mark = mark.or_else(|| (echo && are_heard).then(own_mark));
        let is_timed = |job: &Job| plan.route(job.route).max_age.is_some() || job.checks.iter().any(Computed::is_timed);
        let has_times = jobs.iter().any(|job| job.from == bus && is_timed(job));
        Self {
            wanted: Wanted::of(jobs, bus, mark),
            loopback: if echo { Loopback::On } else { Loopback::Off },
            stamps: if has_times || (is_source && latency == MeasureLatency::Yes) { Stamps::On } else { Stamps::Off },
            mark,
        }
    }
}

impl Port {
    /// Opens the port of a bus.
    pub(super) fn open(
        plan: &Plan,
        config: EngineConfig,
        bus: BusIndex,
        jobs: &[Job],
        interfaces: &Interfaces,
    ) -> Result<Self, UserError> {
        let link = interfaces.link(bus);
        let interface = link.name.clone();
        let demand = Demand::of(plan, config, bus, jobs, None);
        let ring_echoes_right = ring_echoes_right(config.engine, bus, jobs, &demand, link)?;
        let receives = !config.engine.receiver().has_ring();
        match demand.open_socket(receives, link.index) {
            Ok(socket) => Ok(Self {
                interface,
                socket,
                receives,
                demand: Mutex::new(demand),
                ring_echoes_right: AtomicBool::new(ring_echoes_right),
                index: AtomicU32::new(link.index.number()),
                failures: ErrnoSet::default(),
                accounting: BusAccounting::default(),
                refused: AtomicI32::new(0),
            }),
            Err(error) if is_gone(&error) => Err(preflight::interface_gone(plan.bus(bus), &interface).into()),
            Err(source) => Err(UserError::Socket { interface, source }),
        }
    }

    /// Extends the sockets to the union of old and new jobs. `earlier` are the old jobs from here, with the bus index
    /// of the new plan.
    pub(super) fn begin(
        &self,
        plan: &Plan,
        config: EngineConfig,
        bus: BusIndex,
        jobs: &[Job],
        earlier: &[Job],
        interfaces: &Interfaces,
    ) -> Result<Transition, UserError> {
        let before = self.demand().clone();
        let after = Demand::of(plan, config, bus, jobs, before.mark);
        let echoes_right_before = self.ring_echoes_right();
        let echoes_right = ring_echoes_right(config.engine, bus, jobs, &after, interfaces.link(bus))?;
        let all: Vec<Job> = earlier.iter().chain(jobs).cloned().collect();
        let stamps = if before.stamps == Stamps::On { Stamps::On } else { after.stamps };
        let wanted = Wanted::of(&all, bus, after.mark);
        let meanwhile = Demand { wanted, loopback: before.loopback, stamps, mark: after.mark };
        let transition = Transition { before, meanwhile, after, echoes_right_before };
        self.ring_echoes_right.store(echoes_right, Ordering::Relaxed);
        self.demand_now(&transition.meanwhile).inspect_err(|_error| self.take_back(&transition))?;
        Ok(transition)
    }

    /// Reduces the sockets to the new jobs.
    pub(super) fn settle(&self, transition: &Transition) -> Result<(), UserError> {
        self.demand_now(&transition.after)
    }

    pub(super) fn take_back(&self, transition: &Transition) {
        self.ring_echoes_right.store(transition.echoes_right_before, Ordering::Relaxed);
        let mark = self.demand().mark;
        // A filter that cannot be reverted passes too much, which the rules reject.
        let _ = self.demand_now(&Demand { mark, ..transition.before.clone() });
    }

    fn demand_now(&self, demand: &Demand) -> Result<(), UserError> {
        let mut now = self.demand();
        let change = || {
            if self.receives && demand.wanted.filters != now.wanted.filters {
                self.socket.set_filters(&demand.wanted.filters)?;
            }
            if let (Some(mark), None) = (demand.mark, now.mark) {
                self.socket.set_mark(mark, &wanted::not_marked(mark, u32::MAX))?;
            }
            if demand.stamps != now.stamps {
                self.socket.set_stamps(demand.stamps)?;
            }
            if demand.loopback != now.loopback {
                self.socket.set_loopback(demand.loopback)?;
            }
            Ok(())
        };
        match change() {
            // The socket is reopened when the interface is back.
            Err(error) if !is_gone(&error) => Err(self.failed(error)),
            _ => {
                *now = demand.clone();
                Ok(())
            }
        }
    }

    /// Records that a receiver could not apply the requirements. Called by its thread.
    pub(super) fn refuse_demand(&self, error: &io::Error) {
        // A missing interface is not a failure: the receiver reopens when it is back.
        if !is_passing(error) {
            self.refused.store(error.raw_os_error().unwrap_or(EAGAIN), Ordering::Relaxed);
        }
    }

    /// Fails if a receiver could not apply the requirements; call it after the receivers have seen the order.
    pub(super) fn has_followed(&self) -> Result<(), UserError> {
        match self.refused.swap(0, Ordering::Relaxed) {
            0 => Ok(()),
            errno => Err(self.failed(io::Error::from_raw_os_error(errno))),
        }
    }

    pub(super) fn demand(&self) -> MutexGuard<'_, Demand> {
        self.demand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn mark(&self) -> Option<u32> {
        self.demand().mark
    }

    pub(super) fn ring_echoes_right(&self) -> bool {
        self.ring_echoes_right.load(Ordering::Relaxed)
    }

    /// Binds the port to this interface, if any, and returns whether it has moved.
    ///
    /// The kernel unbinds a socket permanently when its interface disappears. Only for the supervisor.
    pub(super) fn follow(&self, interface: Option<InterfaceIndex>) -> Result<bool, UserError> {
        let Some(index) = interface else { return Ok(false) };
        if self.socket.interface().map_err(|error| self.failed(error))? == Some(index) {
            return Ok(false);
        }
        let opened = self.demand().open_socket(self.receives, index);
        match opened {
            Ok(socket) => {
                self.accounting.count_socket(&self.socket);
                self.socket.replace_with(socket).map_err(|error| self.failed(error))?;
                self.accounting.begin_socket();
                self.index.store(index.number(), Ordering::Release);
                Ok(true)
            }
            // Gone again already; the next check reports it.
            Err(error) if is_gone(&error) => Ok(false),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// The current or last interface, for receivers and senders with their own sockets.
    pub(super) fn index(&self) -> InterfaceIndex {
        InterfaceIndex::new(self.index.load(Ordering::Acquire)).expect("only numbers of interfaces are stored")
    }

    pub(super) fn stamps(&self) -> Stamps {
        self.socket.stamps()
    }

    pub(super) fn failed(&self, source: io::Error) -> UserError {
        UserError::Socket { interface: self.interface.clone(), source }
    }

    /// Notices for events since the previous call, with the current name of the interface.
    pub(super) fn notices(&self, interface: &str) -> Vec<Notice> {
        let mut notices = self.failures.notices(interface);
        self.accounting.count_socket(&self.socket);
        let frames = self.accounting.take_unreported_losses();
        if frames != 0 {
            notices.push(Notice::ReceiveOverflow { interface: interface.to_owned(), frames });
        }
        notices
    }
}

impl Demand {
    fn open_socket(&self, receives: bool, interface: InterfaceIndex) -> io::Result<CanSocket> {
        let Self { wanted, loopback, stamps, mark } = self;
        let not_own = mark.map(|mark| wanted::not_marked(mark, u32::MAX)).unwrap_or_default();
        let filters = if receives { wanted.filters.as_slice() } else { &[] };
        let (loopback, stamps, mark) = (*loopback, *stamps, *mark);
        CanSocket::open(interface, &Options { filters, loopback, stamps, mark, instructions: &not_own })
    }
}

impl Transition {
    /// True if receivers with their own sockets must extend their filters now.
    pub(super) fn widens(&self) -> bool {
        self.before.wanted != self.meanwhile.wanted
    }

    /// True if they can reduce them at the end.
    pub(super) fn narrows(&self) -> bool {
        self.meanwhile.wanted != self.after.wanted
    }

    /// True if senders with their own sockets must be reopened.
    pub(super) fn renews_senders(&self) -> bool {
        self.before.loopback != self.after.loopback || self.before.mark != self.after.mark
    }
}

/// True if a transmit ring echoes as required; an error if it does not and the engine has no other sender.
fn ring_echoes_right(
    engine: UserEngine,
    bus: BusIndex,
    jobs: &[Job],
    demand: &Demand,
    link: &Link,
) -> Result<bool, UserError> {
    let echo = demand.loopback == Loopback::On;
    let is_right = echo == link.echoes;
    if engine.sender() == Sender::Mmap && !is_right && jobs.iter().any(|job| job.to == bus) {
        return Err(UserError::RingEcho { engine: engine.name(), interface: link.name.clone(), echo });
    }
    Ok(is_right)
}

/// Below the process in a mark; process ids have at most 22 bits.
const PORT_BITS: u32 = 10;

/// Rejects what any port of this process has marked.
pub fn not_of_this_process() -> Vec<Instruction> {
    wanted::not_marked(std::process::id() << PORT_BITS, u32::MAX << PORT_BITS)
}

/// A mark that no other gateway uses on this bus.
fn own_mark() -> u32 {
    static PORTS: AtomicU32 = AtomicU32::new(0);
    let port = PORTS.fetch_add(1, Ordering::Relaxed) % (1 << PORT_BITS);
    (std::process::id() << PORT_BITS) | port
}

impl ErrnoSet {
    pub fn note(&self, errno: i32) {
        // A full interface and a full socket buffer are the same to users.
        let errno = if errno == EAGAIN { ENOBUFS } else { errno };
        let Some((word, bit)) = place(errno) else { return };
        self.seen[word].fetch_or(bit, Ordering::Relaxed);
    }

    /// Notices for the errnos that occurred for the first time since the previous call.
    pub fn notices(&self, interface: &str) -> Vec<Notice> {
        let failed = |errno| {
            let interface = interface.to_owned();
            if errno == ENOBUFS { Notice::QueueFull { interface } } else { Notice::SendFailed { interface, errno } }
        };
        self.take_unreported().map(failed).collect()
    }

    /// Errnos that occurred for the first time since the previous call.
    fn take_unreported(&self) -> impl Iterator<Item = i32> {
        (0..=MAX_ERRNO).filter(|&errno| {
            let Some((word, bit)) = place(errno) else { return false };
            self.seen[word].load(Ordering::Relaxed) & bit != 0
                && self.reported[word].fetch_or(bit, Ordering::Relaxed) & bit == 0
        })
    }
}

/// The largest errno that a socket reports is 133, on MIPS 168.
const MAX_ERRNO: i32 = 191;

fn place(errno: i32) -> Option<(usize, u64)> {
    let errno = usize::try_from(errno).ok().filter(|errno| *errno <= MAX_ERRNO.unsigned_abs() as usize)?;
    Some((errno / 64, 1 << (errno % 64)))
}

/// True if the thread can continue: after a signal, or while the interface is down or missing. The kernel reports that
/// once.
pub fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NetworkDown | ErrorKind::Interrupted) || is_gone(error)
}

/// True if the interface of the socket has disappeared.
pub fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error().map(Disposition::of_errno) == Some(Disposition::Gone)
}

#[cfg(test)]
mod tests {
    use candor_io::errno::{EINVAL, ENETDOWN};

    use super::*;

    #[test]
    fn an_errno_is_told_once() {
        let set = ErrnoSet::default();
        for errno in [ENOBUFS, EINVAL, EAGAIN, -3, 9999] {
            set.note(errno);
        }
        assert_eq!(set.take_unreported().collect::<Vec<_>>(), [EINVAL, ENOBUFS]);
        set.note(ENOBUFS);
        set.note(ENETDOWN);
        assert_eq!(set.take_unreported().collect::<Vec<_>>(), [ENETDOWN]);
    }
}
