//! What a person should know although the gateway runs.

mod display;

use std::path::PathBuf;
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_config::placement::Missing;
use candor_core::realtime::Sched;
use candor_core::units::BitRate;

use crate::owner::Owner;

/// Something worth a line, each with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Jobs of a candor that died were taken over; frames kept flowing.
    Adopted {
        /// How many.
        jobs: usize,
        /// The process that left them.
        pid: u32,
    },
    /// The bus has another bit rate than the file says.
    BitRateDiffers {
        /// The interface.
        interface: String,
        /// Which of its rates.
        which: &'static str,
        /// What the file says.
        expected: BitRate,
        /// What the interface has.
        found: BitRate,
    },
    /// A controller is on its bus again.
    BusBack {
        /// The interface.
        interface: String,
        /// Frames that were handed over while it was not, and that nobody counted as lost.
        meanwhile: u64,
    },
    /// A controller has left its bus after too many errors.
    BusOff {
        /// The interface.
        interface: String,
        /// Who brings it back.
        restart: Restart,
    },
    /// The module can-gw is loaded again, and the jobs are put back.
    CangwBack,
    /// The module can-gw was unloaded with all its jobs.
    CangwGone,
    /// Jobs and interfaces cannot be looked at, for a reason that will pass.
    CheckFailed {
        /// The reason.
        why: String,
    },
    /// The outgoing interface has the `etf` qdisc, which drops frames that do not say when they are to be sent.
    EtfDrops {
        /// The interface.
        interface: String,
    },
    /// The outgoing interface takes classic frames only.
    FdDoesNotFit {
        /// The route.
        route: String,
        /// The interface.
        interface: String,
    },
    /// An equal job that is not candor's is in the kernel.
    ForeignDuplicate {
        /// The route.
        route: String,
    },
    /// An interface has taken the place of one that had gone.
    InterfaceBack {
        /// The interface.
        interface: String,
    },
    /// The interface is down.
    InterfaceDown {
        /// The interface.
        interface: String,
    },
    /// The interface was unplugged or deleted.
    InterfaceGone {
        /// The bus of the file.
        bus: String,
        /// Its name at the end.
        was: String,
        /// The name in the file, which is waited for.
        interface: String,
    },
    /// The interface has another name than the file says. Its routes go on.
    InterfaceRenamed {
        /// The bus of the file.
        bus: String,
        /// Its name until now.
        was: String,
        /// Its name.
        interface: String,
    },
    /// The interface is up again.
    InterfaceUp {
        /// The interface.
        interface: String,
    },
    /// Somebody had deleted jobs.
    JobsPutBack {
        /// How many.
        jobs: usize,
        /// One of their routes.
        route: String,
    },
    /// The numbers of a bus or a route do not add up at the end.
    CountersInconsistent(
        /// Which, and the numbers.
        String,
    ),
    /// Another candor carries frames the other way, and nothing counts their hops.
    MayCircle {
        /// The route.
        route: String,
        /// Who carries them back.
        other: Owner,
    },
    /// Latencies were to be measured, but nothing says when frames came in.
    NoLatency {
        /// What runs in user space; `None` if nothing does.
        engine: Option<UserEngine>,
    },
    /// The run directory cannot be used, so that other candors do not know of this one.
    NotAnnounced {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the run directory that cannot be understood.
    OddList {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Frames come faster than they leave, or do not leave at all; said once for each interface.
    QueueFull {
        /// The outgoing interface.
        interface: String,
    },
    /// A socket lost frames because the engine was too slow.
    ReceiveOverflow {
        /// The interface.
        interface: String,
        /// Frames lost since the last such notice.
        frames: u64,
    },
    /// Jobs of a candor that died were removed.
    RemovedLeftovers {
        /// How many.
        jobs: usize,
        /// The process that left them.
        pid: u32,
    },
    /// An interface could not be set down or up after its controller had left the bus.
    RestartFailed {
        /// The interface.
        interface: String,
        /// Why.
        why: String,
    },
    /// Frames could not be sent; said once for each errno and interface.
    SendFailed {
        /// The interface.
        interface: String,
        /// Why.
        errno: i32,
    },
    /// Threads that spin before everything else have every processor.
    SpinsOnAll {
        /// Their policy.
        sched: Sched,
        /// How many processors there are.
        processors: usize,
        /// Whether the kernel takes some time away from them.
        is_throttled: bool,
    },
    /// The kernel stops threads that spin before everything else once in a while.
    SpinsThrottled {
        /// Their policy.
        sched: Sched,
    },
    /// The outgoing interface has the `fq` qdisc, which takes a kept time stamp for the time to send.
    TimestampDrops {
        /// The route.
        route: String,
        /// The interface.
        interface: String,
    },
    /// Another candor is starting, or somebody else holds its lock.
    WaitsForStart {
        /// The lock.
        path: PathBuf,
    },
    /// The engine `"auto"` runs every route in user space.
    WithoutKernel {
        /// What is missing for the kernel.
        missing: Missing,
    },
}

/// Who starts a controller again that has left its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// candor (`restart-after`).
    Candor {
        /// How long after it left.
        after: Duration,
    },
    /// Its driver (`restart-ms`).
    Driver {
        /// How long after it left.
        after: Duration,
    },
    /// Nobody but people.
    Nobody,
}

impl Notice {
    /// Whether it is about something that is not as it should be.
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
