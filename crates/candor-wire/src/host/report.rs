//! What became of buses that were played.

use std::time::Duration;

use candor_bus::BusNs;

/// What became of one bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusReport {
    /// Frames that went over the wire whole.
    pub frames: u64,
    /// Frames that broke.
    pub errors: u64,
    /// How long the wire was taken, in nanoseconds.
    pub busy_ns: u64,
    /// How much later than a moment of the bus the thread woke up for it, at worst.
    pub worst_late: Duration,
    /// When that was.
    pub worst_late_at: BusNs,
    /// Received frames and errors that an adapter dropped because the kernel did not fetch them.
    pub dropped: u64,
    /// The most that ever waited for the kernel in one adapter.
    pub waiting_most: usize,
    /// Adapters that the kernel let go of, or that it did not speak to as a kernel does.
    pub lost_devices: u32,
}

/// What became of all buses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Each bus, in the order given to [`Running::start`](super::Running::start).
    pub buses: Vec<BusReport>,
    /// How long they were played.
    pub elapsed: BusNs,
}
