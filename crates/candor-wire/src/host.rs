//! Adapters in a running kernel: the only part of this crate with I/O.
//!
//! ```text
//!  Vhci::attach ─▶ sockets ─┬─ one end: the kernel, until it is closed
//!                           └─ other end: Running, a thread that simulates all buses
//! ```
//!
//! # Order
//! Start: sockets, the thread, then [`Vhci::attach`], because the kernel requests descriptors at once. Stop: interfaces
//! down, [`Running::stop`], then wait until the ports are free ([`Port::is_free`]). If the process dies, its sockets are
//! closed and the kernel removes the interfaces.

mod orders;
mod running;
mod vhci;

use std::time::Duration;

use candor_bus::BusNs;

pub use orders::Reply;
pub use running::{Running, Traced};
pub use vhci::{Netdev, Port, Vhci, VhciError, load_driver};

/// Priority of the bus thread: above every gateway and tester, because it replaces hardware.
const PRIORITY: u8 = 93;
/// Priority of the kernel threads of the ports. They preempt the bus thread, so that an overloaded machine delays the
/// buses, which is counted, and not the drivers. It also lets them write their packets together, instead of one per wake-up
/// of the bus thread.
const PORT_PRIORITY: u8 = PRIORITY + 1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusReport {
    pub frames: u64,
    /// Frames destroyed by an error frame.
    pub errors: u64,
    /// Time in which the bus was busy.
    pub busy_ns: u64,
    /// Largest lateness of the thread for an event of the bus.
    pub worst_late: Duration,
    pub worst_late_at: BusNs,
    /// Received frames and errors that an adapter dropped because the kernel did not fetch them.
    pub dropped: u64,
    /// Most messages that ever waited for the kernel in one adapter.
    pub waiting_most: usize,
    /// Adapters that the kernel closed, or whose protocol it violated.
    pub lost_devices: u32,
}

/// Counters of all buses, in the order given to [`Running::start`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub buses: Vec<BusReport>,
    pub elapsed: BusNs,
}
