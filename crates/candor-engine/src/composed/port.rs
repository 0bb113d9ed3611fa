//! The socket of a bus, for sources and composed frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use candor_config::plan::{BusIndex, Plan};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, RawId};
use candor_io::can::{CanSocket, InterfaceIndex, MAX_FILTERS, Options};

use candor_userspace::notice::Notice;
use candor_userspace::preflight::{self, Interfaces};
use candor_userspace::user::{ErrnoSet, UserError, is_gone};

#[derive(Debug)]
pub(super) struct Port {
    pub(super) bus: BusIndex,
    /// Name of the interface at the start.
    interface: String,
    /// For receiving and sending, because a socket does not receive its own frames.
    pub(super) socket: Arc<CanSocket>,
    /// The filters that the socket gets when its interface comes back.
    filters: Vec<Filter>,
    pub(super) failures: ErrnoSet,
    /// Frames lost in the receive buffer, as the kernel counts them, that were told.
    lost: AtomicU32,
}

impl Port {
    /// The port of a bus for the frames of a plan, with the socket of a known one if it is bound to the same interface. Such a
    /// socket keeps its filters until [`settle`](Self::settle).
    pub(super) fn prepare(
        plan: &Plan,
        bus: BusIndex,
        interfaces: &Interfaces,
        known: &[Arc<Self>],
    ) -> Result<Arc<Self>, UserError> {
        let (link, filters) = (interfaces.link(bus), filters(plan, bus));
        let same = known.iter().find(|port| matches!(port.socket.interface(), Ok(Some(index)) if index == link.index));
        let (interface, failures) = (link.name.clone(), ErrnoSet::default());
        let (socket, lost) = match same {
            Some(same) => (Arc::clone(&same.socket), same.lost.load(Ordering::Relaxed)),
            None => match open(link.index, &filters) {
                Ok(socket) => (Arc::new(socket), 0),
                Err(error) if is_gone(&error) => {
                    return Err(preflight::interface_gone(plan.bus(bus), &interface).into());
                }
                Err(source) => return Err(UserError::Socket { interface, source }),
            },
        };
        Ok(Arc::new(Self { bus, interface, socket, filters, failures, lost: lost.into() }))
    }

    /// Sets the filters.
    pub(super) fn settle(&self) -> Result<(), UserError> {
        match self.socket.set_filters(&self.filters) {
            // The socket is reopened when the interface is back.
            Err(error) if !is_gone(&error) => Err(self.failed(error)),
            _ => Ok(()),
        }
    }

    /// Binds the socket to its interface after that has come back; returns true if so. The kernel unbinds a socket for good when
    /// its interface disappears.
    pub(super) fn follow(&self, interfaces: &Interfaces) -> Result<bool, UserError> {
        let Some(index) = interfaces.present(self.bus) else { return Ok(false) };
        if self.socket.interface().map_err(|error| self.failed(error))? == Some(index) {
            return Ok(false);
        }
        match open(index, &self.filters) {
            Ok(socket) => {
                self.socket.replace_with(socket).map_err(|error| self.failed(error))?;
                self.lost.store(0, Ordering::Relaxed);
                Ok(true)
            }
            // Gone again already; the next check sees it.
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    pub(super) fn failed(&self, source: std::io::Error) -> UserError {
        UserError::Socket { interface: self.interface.clone(), source }
    }

    /// Notices for events since the previous call.
    pub(super) fn notices(&self, interfaces: &Interfaces) -> Vec<Notice> {
        let interface = &interfaces.link(self.bus).name;
        let mut notices = self.failures.notices(interface);
        if let Ok(now) = self.socket.dropped() {
            let frames = now.wrapping_sub(self.lost.swap(now, Ordering::Relaxed));
            if frames != 0 {
                let interface = interface.clone();
                notices.push(Notice::SignalsOverflow { interface, frames: frames.into() });
            }
        }
        notices
    }
}

fn open(interface: InterfaceIndex, filters: &[Filter]) -> std::io::Result<CanSocket> {
    CanSocket::open(interface, &Options { filters, ..Options::default() })
}

/// Filters for the sources on a bus; all data frames if a socket cannot have as many.
fn filters(plan: &Plan, bus: BusIndex) -> Vec<Filter> {
    let sources = plan.compositions().flat_map(|frame| &frame.sources).filter(|source| source.bus == bus);
    let timed = plan.routes().iter().filter(|route| route.timing.is_some() && route.from == bus);
    let timed = timed.flat_map(|route| &route.selections).map(|selection| id_of(selection.filter));
    let mut ids: Vec<_> = sources.map(|source| source.id).chain(timed).collect();
    candor_core::order::sort(&mut ids);
    ids.dedup();
    if ids.len() > MAX_FILTERS { vec![Filter::ALL] } else { ids.into_iter().map(Filter::exact).collect() }
}

/// The identifier of a filter for a single one.
pub(super) fn id_of(filter: Filter) -> RawId {
    RawId(filter.normalise().id & (CAN_EFF_MASK | CAN_EFF_FLAG))
}
