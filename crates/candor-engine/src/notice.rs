//! Events that do not stop the gateway.

mod display;

use std::path::PathBuf;
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_config::placement::Missing;
use candor_core::realtime::Sched;
use candor_core::units::BitRate;

use crate::owner::Owner;

/// An event for the log. Its text says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Jobs of a dead candor were adopted without interruption.
    Adopted {
        jobs: usize,
        /// Process id of the dead candor.
        pid: u32,
    },
    /// The bit rate of the controller differs from the file.
    BitRateDiffers {
        interface: String,
        /// `bit rate` or `data bit rate`.
        which: &'static str,
        expected: BitRate,
        found: BitRate,
    },
    /// A controller has recovered from bus-off.
    BusBack {
        interface: String,
        /// Frames counted as handled during bus-off, which may be lost.
        meanwhile: u64,
    },
    /// A controller went bus-off.
    BusOff {
        interface: String,
        /// Recovery of the controller.
        restart: Restart,
    },
    /// The module can-gw was reloaded; the jobs are reinstalled.
    CangwBack,
    /// The module can-gw was unloaded, which removed all jobs.
    CangwGone,
    /// Jobs and interfaces could not be listed, for a temporary reason.
    CheckFailed { why: String },
    /// The outgoing interface has the `etf` qdisc, which drops frames without a transmit time.
    EtfDrops { interface: String },
    /// The outgoing interface sends only classic frames.
    FdDoesNotFit { route: String, interface: String },
    /// Another program has installed an equal job.
    ForeignDuplicate { route: String },
    /// An interface of that name has appeared again.
    InterfaceBack { interface: String },
    /// An interface is administratively down.
    InterfaceDown { interface: String },
    /// An interface was unplugged or deleted.
    InterfaceGone {
        bus: String,
        /// Its last name.
        was: String,
        /// The name in the file; the routes wait for it.
        interface: String,
    },
    /// An interface was renamed. Its routes continue.
    InterfaceRenamed {
        bus: String,
        /// Its previous name.
        was: String,
        /// Its new name.
        interface: String,
    },
    /// An interface is up again.
    InterfaceUp { interface: String },
    /// Another program had deleted jobs.
    JobsPutBack { jobs: usize, route: String },
    /// The counters of a bus or route are inconsistent at the end: a bug.
    CountersInconsistent(
        /// The bus or route and its counters.
        String,
    ),
    /// Another candor forwards in the opposite direction, and no hop limit applies.
    MayCircle {
        route: String,
        /// Owner of the opposite route.
        other: Owner,
    },
    /// `--latency` without receive timestamps.
    NoLatency {
        /// The user-space engine; `None` if all routes are in the kernel.
        engine: Option<UserEngine>,
    },
    /// The run directory is unusable, so other candors cannot detect this one.
    NotAnnounced {
        /// The run directory.
        path: PathBuf,
    },
    /// An ownership record that cannot be parsed.
    OddList {
        /// Path of the record.
        path: PathBuf,
        reason: String,
    },
    /// The transmit queue was full for the first time on this interface.
    QueueFull {
        /// Name of the outgoing interface.
        interface: String,
    },
    /// The receive buffer or ring overflowed.
    ReceiveOverflow {
        interface: String,
        /// Frames lost since the previous notice.
        frames: u64,
    },
    /// Jobs of a dead candor were removed.
    RemovedLeftovers {
        jobs: usize,
        /// Process id of the dead candor.
        pid: u32,
    },
    /// An interface could not be set down or up after bus-off.
    RestartFailed { interface: String, why: String },
    /// Sending failed with this errno for the first time on this interface.
    SendFailed {
        interface: String,
        /// The errno of `send()`.
        errno: i32,
    },
    /// Busy-polling real-time threads occupy every processor.
    SpinsOnAll {
        /// Scheduling policy of the threads.
        sched: Sched,
        /// Number of online processors.
        processors: usize,
        /// Real-time throttling is on.
        is_throttled: bool,
    },
    /// Real-time throttling stops busy-polling threads periodically.
    SpinsThrottled {
        /// Scheduling policy of the threads.
        sched: Sched,
    },
    /// The outgoing interface has the `fq` qdisc, which takes a kept timestamp for the transmit time.
    TimestampDrops { route: String, interface: String },
    /// The lock of starting candors is held.
    WaitsForStart {
        /// Path of the lock file.
        path: PathBuf,
    },
    /// Engine `"auto"` runs every route in user space.
    WithoutKernel {
        /// The missing module or privilege.
        missing: Missing,
    },
}

/// Recovery from bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// candor restarts the controller (`restart-after`).
    Candor {
        /// Delay after bus-off.
        after: Duration,
    },
    /// The driver restarts the controller (`restart-ms`).
    Driver {
        /// Delay after bus-off.
        after: Duration,
    },
    /// Only a command.
    Manual,
}

impl Notice {
    /// False for events that report a recovery.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        !matches!(
            self,
            Self::Adopted { .. }
                | Self::BusBack { .. }
                | Self::CangwBack
                | Self::InterfaceBack { .. }
                | Self::InterfaceUp { .. }
                | Self::RemovedLeftovers { .. }
        )
    }
}
