//! What the threads and their supervisor share. The threads only bump numbers; words are made by the supervisor.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use candor_core::filter::Filter;
use candor_core::job::Job;
use candor_core::plan::{BusIndex, Echo, Plan};
use candor_core::ruleset::RuleSet;
use candor_io::can::{CanSocket, InterfaceIndex, Loopback, Options, Stamps};

use super::filters;
use crate::counters::RouteCounters;
use crate::error::GatewayError;
use crate::notice::Notice;
use crate::preflight::{self, Interfaces};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) rules: RuleSet,
    /// By bus; `None` for those that no job uses.
    ports: Vec<Option<Port>>,
    /// By job.
    pub(super) counters: Vec<JobCounts>,
    pub(super) stop: AtomicBool,
}

/// A bus and the socket on its interface.
#[derive(Debug)]
pub(super) struct Port {
    /// Its name at the start.
    pub(super) interface: String,
    pub(super) socket: CanSocket,
    /// What the socket is to hear.
    filters: Vec<Filter>,
    loopback: Loopback,
    /// Errnos of `send()`, told and not told.
    pub(super) failures: ErrnoSet,
    /// Drops of the receive queue that have been told.
    told_drops: AtomicU32,
}

/// The counters of one job on a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct JobCounts {
    pub(super) handled: Count,
    pub(super) dropped: Count,
    pub(super) deleted: Count,
}

/// A number that one thread raises and others read.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

/// Errnos that have occurred and those of them that were told, as bits.
#[derive(Debug, Default)]
pub(super) struct ErrnoSet {
    seen: [AtomicU64; 3],
    told: [AtomicU64; 3],
}

impl Shared {
    pub(super) fn new(rules: RuleSet, ports: Vec<Option<Port>>, jobs: usize) -> Self {
        let counters = (0..jobs).map(|_| JobCounts::default()).collect();
        Self { rules, ports, counters, stop: AtomicBool::new(false) }
    }

    /// The port of a bus that a job uses.
    pub(super) fn port(&self, bus: BusIndex) -> &Port {
        self.ports[bus.0].as_ref().expect("the ports of all buses that a job uses were opened at the start")
    }

    /// The ports of all buses that a job uses.
    pub(super) fn ports(&self) -> impl Iterator<Item = (BusIndex, &Port)> {
        self.ports.iter().enumerate().filter_map(|(bus, port)| Some((BusIndex(bus), port.as_ref()?)))
    }

    /// What has happened since the last call.
    pub(super) fn notices(&self, interfaces: &Interfaces) -> Vec<Notice> {
        self.ports().flat_map(|(bus, port)| port.notices(&interfaces.link(bus).name)).collect()
    }
}

impl Port {
    /// Opens the port of a bus, unless no job uses it.
    pub(super) fn open_if_used(
        plan: &Plan,
        bus: BusIndex,
        jobs: &[Job],
        interfaces: &Interfaces,
    ) -> Result<Option<Self>, GatewayError> {
        let is_used = jobs.iter().any(|job| [job.from, job.to].contains(&bus));
        is_used.then(|| Self::open(plan, bus, jobs, interfaces)).transpose()
    }

    fn open(plan: &Plan, bus: BusIndex, jobs: &[Job], interfaces: &Interfaces) -> Result<Self, GatewayError> {
        let interface = interfaces.link(bus).name.clone();
        let filters = filters::wanted(jobs, bus);
        let echo = jobs.iter().any(|job| job.to == bus && job.echo == Echo::On);
        let loopback = if echo { Loopback::On } else { Loopback::Off };
        match CanSocket::open(interfaces.index(bus), &options(&filters, loopback)) {
            Ok(socket) => {
                let (failures, told_drops) = (ErrnoSet::default(), AtomicU32::new(0));
                Ok(Self { interface, socket, filters, loopback, failures, told_drops })
            }
            Err(error) if is_gone(&error) => Err(preflight::interface_gone(plan.bus(bus), &interface)),
            Err(source) => Err(GatewayError::Socket { interface, source }),
        }
    }

    /// Sees to it that the socket is bound to this interface, if there is one, and says whether it was not before.
    ///
    /// The kernel unbinds a socket for ever when its interface goes away. Only the supervisor may call this.
    pub(super) fn follow(&self, interface: Option<InterfaceIndex>) -> Result<bool, GatewayError> {
        let failed = |source| GatewayError::Socket { interface: self.interface.clone(), source };
        let Some(index) = interface else { return Ok(false) };
        if self.socket.interface().map_err(failed)? == Some(index) {
            return Ok(false);
        }
        match CanSocket::open(index, &options(&self.filters, self.loopback)) {
            Ok(socket) => {
                self.socket.replace_with(socket).map_err(failed)?;
                self.told_drops.store(0, Ordering::Relaxed);
                Ok(true)
            }
            // Gone again already: the next look tells.
            Err(error) if is_gone(&error) => Ok(false),
            Err(source) => Err(failed(source)),
        }
    }

    /// What has happened since the last call, told of the interface under the name that it has now.
    fn notices(&self, interface: &str) -> Vec<Notice> {
        let failed = |errno| {
            let interface = interface.to_owned();
            if errno == ENOBUFS { Notice::QueueFull { interface } } else { Notice::SendFailed { interface, errno } }
        };
        let mut notices: Vec<_> = self.failures.take_untold().map(failed).collect();
        // Kernels before 4.12 do not count.
        let drops = self.socket.dropped().unwrap_or_default();
        let frames = drops.wrapping_sub(self.told_drops.swap(drops, Ordering::Relaxed));
        if frames != 0 {
            notices.push(Notice::ReceiveOverflow { interface: interface.to_owned(), frames });
        }
        notices
    }
}

const fn options(filters: &[Filter], loopback: Loopback) -> Options<'_> {
    Options { filters, loopback, stamps: Stamps::Off }
}

impl JobCounts {
    pub(super) fn read(&self) -> RouteCounters {
        let value = |count: &Count| count.0.load(Ordering::Relaxed);
        RouteCounters { handled: value(&self.handled), dropped: value(&self.dropped), deleted: value(&self.deleted) }
    }
}

impl Count {
    /// Adds 1. Only the thread of the job's source bus may do this: load and store are cheaper than a locked add.
    pub(super) fn bump(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
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

/// Whether an error of a socket says that its interface is no more.
pub(super) fn is_gone(error: &std::io::Error) -> bool {
    const ENXIO: i32 = 6;
    const ENODEV: i32 = 19;
    matches!(error.raw_os_error(), Some(ENXIO | ENODEV))
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
