//! Events that do not stop the gateway.

use std::path::PathBuf;
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_config::placement::Missing;
use candor_core::realtime::Sched;
use candor_core::units::BitRate;
use candor_io::errno::{EINVAL, EMSGSIZE, ENETDOWN};

use crate::owner::Owner;

/// An event for the log. Its text says what happened, the effect, and a command where one helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    #[error("Adopted {} of candor process {pid}, which died", count(*.jobs))]
    Adopted { jobs: usize, pid: u32 },
    #[error("Interface {interface} has {which} {found}, but the file says {expected}")]
    BitRateDiffers {
        interface: String,
        /// `bit rate` or `data bit rate`.
        which: &'static str,
        expected: BitRate,
        found: BitRate,
    },
    #[error("Interface {interface} is back on its bus{}", lost(*.meanwhile))]
    BusBack {
        interface: String,
        /// Frames counted as handled during bus-off, which may be lost.
        meanwhile: u64,
    },
    #[error(
        "Interface {interface} is bus-off: its controller left the bus after too many errors (check wiring, termination and \
         bit rate); {}",
        .restart.effect(interface)
    )]
    BusOff { interface: String, restart: Restart },
    #[error("The kernel module can-gw is loaded again; its jobs are being reinstalled")]
    CangwBack,
    #[error(
        "The kernel module can-gw was unloaded, which removed the jobs of all routes in the kernel; they are reinstalled \
         after: sudo modprobe can-gw"
    )]
    CangwGone,
    /// For a temporary reason.
    #[error("Cannot check jobs and interfaces ({why}); forwarding continues, and candor retries every second")]
    CheckFailed { why: String },
    /// A bug. The text names the bus or route with its counters.
    #[error(
        "Internal error: frame counters do not add up: {0}; please report this with the gateway file and the whole output of \
         candor"
    )]
    CountersInconsistent(String),
    #[error(
        "{} on {interface} (candump, for example) will not receive the frames of route {route:?}, which is exclusive; remove \
         `exclusive` from the routes whose frames they need",
        if *.sockets == 1 { "A socket of another program".to_owned() } else { format!("{sockets} sockets of other programs") }
    )]
    Deaf { route: String, interface: String, sockets: usize },
    #[error(
        "{interface} has the qdisc etf, which drops frames without a transmit time, and a gateway sets none; replace it: sudo \
         tc qdisc replace dev {interface} root pfifo_fast"
    )]
    EtfDrops { interface: String },
    #[error(
        "Route {route:?} forwards FD frames, but {interface} sends only classic frames and drops them; set it down and type: \
         sudo ip link set {interface} mtu 72 (vcan) or sudo ip link set {interface} type can fd on dbitrate RATE"
    )]
    FdDoesNotFit { route: String, interface: String },
    #[error(
        "Route {route:?} forwards CAN XL frames, and {interface} is not for these (its MTU is below 76); set it down and type: \
         sudo ip link set {interface} mtu 2060 (vcan), or route to another interface"
    )]
    XlDoesNotFit { route: String, interface: String },
    #[error(
        "can-gw already had a job equal to that of route {route:?}, installed by another program; frames are forwarded twice \
         until it is deleted (list it: cangw -L)"
    )]
    ForeignDuplicate { route: String },
    #[error("The kernel refused the eBPF program of route {route:?}, which runs elsewhere: {why}")]
    ProgramRefused { route: String, why: String },
    #[error("Another program removed eBPF filters from {interface} (tc does); candor put them back")]
    FiltersPutBack { interface: String },
    #[error(
        "eBPF filters on {interface} of a candor that died still forward frames, and this process may not remove them; type: sudo \
         candor down"
    )]
    FiltersStay { interface: String },
    #[error("Interface {interface} is back; its routes continue")]
    InterfaceBack { interface: String },
    #[error(
        "Interface {interface} is down, and nothing is forwarded from or to it; set it up: sudo ip link set {interface} up"
    )]
    InterfaceDown { interface: String },
    #[error(
        "Interface {was} (bus {bus:?}) is gone: unplugged or deleted; its routes wait for an interface {interface}, the other \
         routes continue"
    )]
    InterfaceGone { bus: String, was: String, interface: String },
    #[error(
        "Interface {was} (bus {bus:?}) was renamed to {interface}; its routes continue, but the next start looks for the name \
         in the file"
    )]
    InterfaceRenamed { bus: String, was: String, interface: String },
    #[error("Interface {interface} is up again")]
    InterfaceUp { interface: String },
    #[error(
        "Another program deleted {} of route {route:?} and perhaps of others (cangw -F does, and so does reloading can-gw); \
         candor reinstalled {}",
        count(*.jobs),
        if *.jobs == 1 { "it" } else { "them" }
    )]
    JobsPutBack { jobs: usize, route: String },
    #[error(
        "Dropped {} that went in a circle through pairs of virtual interfaces (vxcan); remove a route from the circle, or exclude \
         these frames from it",
        if *.frames == 1 { "1 frame".to_owned() } else { format!("{frames} frames") }
    )]
    Looping { frames: u64 },
    #[error(
        "Route {route:?} and a route of {other} in the opposite direction forward the same frames in an endless loop; put both \
         directions into one file, or give them filters that exclude each other"
    )]
    MayCircle { route: String, other: Owner },
    #[error(
        "Mode {mode:?} is not announced on bus {bus:?}: {why}; the announcements go on as soon as that is possible"
    )]
    ModeNotAnnounced { mode: String, bus: String, why: String },
    #[error("The frames of mode {mode:?} cannot be received: {why}; candor tries again four times a second")]
    ModeNotHeard { mode: String, why: String },
    #[error(
        "Programs do not receive the frames that route {route:?} sends to {interface}, a virtual interface; to change that, {}add \
         echo = true to all routes to it",
        if *.by_programs { "choose engine = \"auto\", because eBPF programs send without echo, and " } else { "" }
    )]
    NoEcho { route: String, interface: String, by_programs: bool },
    #[error("Found {filters} eBPF filters on {interface} of a candor that died; they are replaced or removed")]
    LeftoverFilters { filters: usize, interface: String },
    /// `--latency` without receive timestamps. The engine is `None` if all routes are in the kernel.
    #[error("Cannot measure latency: {}", without_stamps(*.engine))]
    NoLatency { engine: Option<UserEngine> },
    #[error(
        "Cannot use {}, so a second candor that runs the same routes is not detected; with routes in both directions that \
         floods the buses; set XDG_RUNTIME_DIR or CANDOR_RUN_DIR to a directory of your own",
        .path.display()
    )]
    NotAnnounced { path: PathBuf },
    /// An ownership record that cannot be parsed.
    #[error(
        "Cannot read {path} ({reason}), so can-gw jobs that it lists may stay in the kernel; if no candor of another version \
         runs, list them with cangw -L, delete all jobs with sudo cangw -F, and type: sudo rm {path}",
        path = .path.display()
    )]
    OddList { path: PathBuf, reason: String },
    #[error(
        "The transmit queue of {interface} is full, and frames to it are dropped; check its state and errors: ip -details \
         -statistics link show {interface} (bus-off, or no node that acknowledges?); if the bus is only slow: sudo ip link set \
         {interface} txqueuelen 1000"
    )]
    QueueFull { interface: String },
    #[error("{frames} frames from {interface} were lost because they arrived faster than they were read")]
    ReceiveOverflow {
        interface: String,
        /// Frames lost since the previous notice.
        frames: u64,
    },
    #[error(
        "{frames} frames from {interface} were lost for composed and watched signals, because they arrived faster than they were read"
    )]
    SignalsOverflow {
        interface: String,
        /// Frames lost since the previous notice.
        frames: u64,
    },
    #[error("Removed {} of candor process {pid}, which died", count(*.jobs))]
    RemovedLeftovers { jobs: usize, pid: u32 },
    #[error("Interface {interface} is bus-off and cannot be set down and up: {why}")]
    RestartFailed { interface: String, why: String },
    /// Sending failed with this errno for the first time on this interface.
    #[error(
        "Frames to {interface} are dropped: {}{}",
        std::io::Error::from_raw_os_error(*.errno),
        advice(*.errno, .interface)
    )]
    SendFailed { interface: String, errno: i32 },
    #[error(
        "Busy-polling threads at {sched} occupy {}: {}; use a receiver that blocks (mmap), sched = \"other\", or leave one CPU \
         free with `cpus`",
        if *.processors == 1 { "the only CPU".into() } else { format!("all {processors} CPUs") },
        if *.is_throttled {
            "everything else, including Ctrl-C, gets the 50 ms of each second that real-time throttling leaves"
        } else {
            "nothing else can run, not even Ctrl-C or ssh"
        }
    )]
    SpinsOnAll { sched: Sched, processors: usize, is_throttled: bool },
    #[error(
        "The kernel throttles busy-polling threads at {sched} for a part of every second (kernel.sched_rt_runtime_us), and \
         frames wait meanwhile; if they have dedicated CPUs: sudo sysctl kernel.sched_rt_runtime_us=-1"
    )]
    SpinsThrottled { sched: Sched },
    #[error(
        "Route {route:?} keeps timestamps, which the qdisc fq of {interface} takes for the transmit time: it drops every frame \
         that has one; remove keep-timestamp, or type: sudo tc qdisc replace dev {interface} root pfifo_fast"
    )]
    TimestampDrops { route: String, interface: String },
    /// The path of the lock file of starting candors.
    #[error("Waiting for another candor to finish starting: {} is locked", .path.display())]
    WaitsForStart { path: PathBuf },
    /// Engine `"auto"` runs every route in user space.
    #[error("All routes run in user space, because {}", without_kernel(*.missing))]
    WithoutKernel { missing: Missing },
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

/// The way in which a controller leaves bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// candor restarts the controller this long after bus-off (`restart-after`).
    Candor { after: Duration },
    /// The driver restarts the controller this long after bus-off (`restart-ms`).
    Driver { after: Duration },
    /// Only by a command: `restart-ms` is 0.
    Manual,
}

impl Restart {
    fn effect(self, interface: &str) -> String {
        match self {
            Self::Candor { after } => format!("frames to it are dropped, and candor restarts it in {after:?}"),
            Self::Driver { after } => {
                format!("frames to it are lost, and its driver restarts it in {after:?} (restart-ms)")
            }
            Self::Manual => format!(
                "frames to it are lost until you restart it: sudo ip link set {interface} down && sudo ip link set {interface} \
                 up; with restart-after = \"1s\" for this bus candor restarts it"
            ),
        }
    }
}

fn count(jobs: usize) -> String {
    if jobs == 1 { "1 can-gw job".into() } else { format!("{jobs} can-gw jobs") }
}

fn lost(frames: u64) -> String {
    match frames {
        0 => String::new(),
        frames => {
            format!("; {frames} frames accepted during bus-off may be lost, although they are counted as handled")
        }
    }
}

/// Remedies for errnos of `send()` on a CAN_RAW socket.
fn advice(errno: i32, interface: &str) -> String {
    match errno {
        EINVAL | EMSGSIZE => " (FD frames to an interface that sends only classic frames)".into(),
        ENETDOWN => format!("; set it up: sudo ip link set {interface} up"),
        _ => String::new(),
    }
}

fn without_stamps(engine: Option<UserEngine>) -> String {
    match engine {
        None => "all routes are in the kernel, and can-gw does not report it".into(),
        Some(engine) => format!(
            "the kernel gives no receive timestamps with {}; use another engine (candor engines lists them)",
            engine.name()
        ),
    }
}

const fn without_kernel(missing: Missing) -> &'static str {
    match missing {
        Missing::Module => {
            "the kernel module can-gw is not loaded; to use the kernel: sudo modprobe can-gw, and restart candor"
        }
        Missing::Privilege => {
            "can-gw needs CAP_NET_ADMIN in the initial user namespace; to use the kernel, run candor as root (sudo candor run …)"
        }
    }
}
