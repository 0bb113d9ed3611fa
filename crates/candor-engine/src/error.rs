//! Why a gateway cannot run, and what to type.

mod passing;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use candor_netlink::cangw::CangwError;
use candor_netlink::client::NetlinkError;

use crate::engines::Lack;
use crate::realtime::RealtimeError;
use crate::refusal::Refusal;
use crate::run_dir::{Owner, RunDirError};

/// A gateway that cannot start or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// `candor apply` has put the same jobs into the kernel; each frame would be forwarded twice.
    #[error("Route {route:?} is already in the kernel by candor apply {file}; take that out first: candor down {file}")]
    AlreadyApplied {
        /// The route that is wanted.
        route: String,
        /// The file that was applied.
        file: String,
    },
    /// Another candor has the same jobs in the kernel; each frame would be forwarded twice.
    #[error("Route {route:?} is already run by another candor (process {pid}); end that first: kill {pid}")]
    AlreadyRunning {
        /// The route both have.
        route: String,
        /// The other one.
        pid: u32,
    },
    /// The plan asks for something that its engine cannot do.
    #[error("An engine of user space cannot do what route {route:?} asks for: it cannot {what}; use --engine kernel")]
    CannotDo {
        /// Which route.
        route: String,
        /// What it asks for.
        what: String,
    },
    /// A transmit ring would echo what is not to be echoed, or the other way round.
    #[error("The engine {engine} cannot {} on {interface}: {}; write echo = {} in its routes, or use an engine that ends in -write", if *echo { "echo frames" } else { "do without echo" }, if *echo { "its driver echoes nothing, and a transmit ring does not either" } else { "its driver echoes every frame of a transmit ring" }, !echo)]
    RingEcho {
        /// The engine.
        engine: &'static str,
        /// The interface.
        interface: String,
        /// What the routes ask for.
        echo: bool,
    },
    /// The module can-gw is not there.
    #[error("The kernel module can-gw is not loaded; type: sudo modprobe can-gw")]
    CangwMissing,
    /// The module can-raw is not there.
    #[error("The kernel has no CAN_RAW sockets; type: sudo modprobe can-raw")]
    CanRawMissing,
    /// This kernel or this user cannot run the engine that was named.
    #[error("The engine {engine} cannot run here, because {lack}; type: {}\n  candor engines lists those that can", lack.remedy())]
    EngineLacks {
        /// The engine.
        engine: &'static str,
        /// What is missing.
        lack: Lack,
    },
    /// A signal asked the process to end before the gateway had started.
    #[error("A signal ended candor before it had started; nothing was installed")]
    EndedAtStart,
    /// A route allows more hops than the module.
    #[error(
        "Route {route:?} has the hop limit {limit}, but can-gw was loaded with max_hops={max_hops}; \
         type: sudo modprobe -r can-gw && sudo modprobe can-gw max_hops={limit}"
    )]
    HopLimit {
        /// Which route.
        route: String,
        /// What it asks for.
        limit: u8,
        /// What the module allows.
        max_hops: u8,
    },
    /// Routes that are not for the kernel, and a file that is to be applied to it.
    #[error("Only what can-gw can do by itself can be applied{}\n  type: candor run FILE, which stays and does the rest", list(.0))]
    InUserSpace(Vec<InUserSpace>),
    /// Something that a running gateway cannot exchange is different in the file.
    #[error("candor has to be started again for {what}; what runs goes on")]
    NeedsRestart {
        /// What, and how it differs.
        what: String,
    },
    /// A job was refused.
    #[error("The kernel did not take a can-gw job of route {route:?}")]
    Install {
        /// Which route.
        route: String,
        /// Why.
        source: Refusal,
    },
    /// An interface was unplugged or deleted while the gateway started.
    #[error("Interface {interface} (bus {bus:?}) is gone: it was unplugged or deleted")]
    InterfaceGone {
        /// The bus of the file.
        bus: String,
        /// Its interface.
        interface: String,
    },
    /// There is no such interface.
    #[error("There is no interface {interface} (bus {bus:?}){hint}")]
    InterfaceMissing {
        /// The bus of the file.
        bus: String,
        /// Its interface.
        interface: String,
        /// What there is instead and what to type; begins with a separator.
        hint: String,
    },
    /// Somebody deletes the jobs of this gateway as often as it puts them back.
    #[error(
        "Somebody fights with candor over can-gw: the jobs of route {route:?} were deleted again after candor had put \
         jobs back {times} times within {} s; find who calls cangw -F or loads can-gw anew (a timer, a network script, \
         another gateway), end that, and start again", .within.as_secs()
    )]
    JobsFought {
        /// One of the routes.
        route: String,
        /// How often jobs were put back.
        times: usize,
        /// In what time.
        within: Duration,
    },
    /// can-gw cannot run a route, but user space can.
    #[error("can-gw cannot run route {route:?}, because {because}; use --engine auto or --engine read-write")]
    KernelCannot {
        /// Which route.
        route: String,
        /// Why.
        because: String,
    },
    /// The links or jobs of the kernel cannot be read.
    #[error("The kernel does not say which interfaces it has")]
    Links(#[source] NetlinkError),
    /// An interface is to be set down and up, which this process may not do.
    #[error(
        "Bus {bus:?} has restart-after, and to set an interface down and up again wants the capability CAP_NET_ADMIN; run \
         it as root (sudo candor run …), or remove restart-after and let the driver do it: sudo ip link set NAME type can \
         restart-ms 100"
    )]
    RestartNotPermitted {
        /// The bus.
        bus: String,
    },
    /// A list of the run directory is of another version or broken, and what is nobody's was to be taken or removed.
    #[error(
        "{path} cannot be understood, so the jobs that it lists seem to be nobody's: --adopt and --prune would take them \
         from a candor of another version; take them out with that one (candor down), or, if it runs no more, type: \
         sudo rm {path}",
        path = .path.display()
    )]
    ListNotUnderstood {
        /// The list.
        path: PathBuf,
    },
    /// Jobs cannot be listed.
    #[error("The kernel does not say which can-gw jobs it has")]
    ListJobs(#[source] CangwError),
    /// The kernel was built without CAN, or its module is not loaded.
    #[error(
        "The kernel has no CAN sockets; type: sudo modprobe can-raw (where that fails, the kernel was built without: \
         candor-lab shell boots one that has CAN)"
    )]
    NoCan,
    /// The interface is something else.
    #[error("Interface {interface} (bus {bus:?}) is no CAN interface{hint}")]
    NotCan {
        /// The bus of the file.
        bus: String,
        /// Its interface.
        interface: String,
        /// What there is instead and what to type; begins with a separator.
        hint: String,
    },
    /// A route that neither side can run.
    #[error(
        "Route {route:?} can run neither in the kernel, because {kernel}, nor in user space, which cannot {user}; {advice}"
    )]
    NowhereToRun {
        /// Which route.
        route: String,
        /// Why not in the kernel.
        kernel: String,
        /// What user space cannot do.
        user: String,
        /// What to do.
        advice: String,
    },
    /// The user may not change can-gw jobs.
    #[error(
        "Changing can-gw jobs needs the capability CAP_NET_ADMIN in the initial user namespace (root in a container \
         with a user namespace of its own does not have it); run it as root on the host: sudo candor …"
    )]
    MayNotChange,
    /// A change that failed could not be taken back either.
    #[error(
        "What was begun could not be undone ({why}), so some can-gw jobs are those of before and some are new; candor \
         knows them all: type candor apply FILE again, or candor down"
    )]
    NotUndone {
        /// Why the change failed.
        source: Box<Self>,
        /// Why it could not be undone.
        why: String,
    },
    /// The user may not configure can-gw.
    #[error(
        "The kernel engine needs the capability CAP_NET_ADMIN in the initial user namespace; \
         run it as root (sudo candor run …), or use --engine read-write, which needs no privilege"
    )]
    NotPermitted,
    /// The lists that say whose the jobs are cannot be read.
    #[error(
        "{path} cannot be read, so candor does not know which can-gw jobs are its own; run it as root: sudo candor …",
        path = .0.path.display()
    )]
    OwnersUnknown(#[source] RunDirError),
    /// Something that `[realtime]` asks for.
    #[error(transparent)]
    Realtime(#[from] RealtimeError),
    /// The kernel would write outside the frame, or is not known not to.
    #[error(
        "Route {route:?} has a CRC8 with positions from the end, which kernel {kernel} may compute outside the frame \
         (fixed in March 2026: 6.1.168, 6.6.131, 6.12.80, 6.18.21, 6.19.11, 7.0); use --engine read-write, or count \
         the positions from the start"
    )]
    RelativeCrc8 {
        /// Which route.
        route: String,
        /// The release.
        kernel: String,
    },
    /// A job could not be deleted.
    #[error("A can-gw job could not be deleted")]
    Delete(#[source] CangwError),
    /// Somebody else changed jobs in the meantime.
    #[error("Somebody else changes can-gw jobs at the same time, so they are not what they should be; try again")]
    Disturbed,
    /// Jobs could not be removed.
    #[error("The can-gw jobs of route {route:?} could not be removed; the next candor run will do it")]
    Remove {
        /// One of the routes.
        route: String,
        /// Why.
        source: CangwError,
    },
    /// The list of what candor has put into the kernel cannot be kept.
    #[error("{path} cannot be used; candor keeps there what it runs and what to remove after a crash (CANDOR_RUN_DIR names another)", path = .0.path.display())]
    RunDir(#[source] RunDirError),
    /// A socket failed.
    #[error("The CAN_RAW socket of interface {interface} failed")]
    Socket {
        /// Which interface.
        interface: String,
        /// Why.
        source: io::Error,
    },
    /// Somebody holds the lock of starting candors.
    #[error(
        "Another process has held {} for {} s, so candor cannot start; find it with: sudo fuser -v {}",
        .path.display(), .waited.as_secs(), .path.display()
    )]
    StartsBlocked {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The system refused something ordinary.
    #[error("{what} failed")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A uid of a route belongs to somebody else's job, which the kernel would change instead of adding one.
    #[error(
        "Route {route:?} has the uid {uid:08X}, which a job of {} has; can-gw would change that one: take another \
         uid, or remove that job{}",
        .by.as_ref().map_or_else(|| "somebody else".to_owned(), ToString::to_string),
        if .by.is_none() { " (candor apply --prune does)" } else { "" }
    )]
    UidTaken {
        /// Which route.
        route: String,
        /// The uid.
        uid: u32,
        /// Whose job; `None` if it is not candor's.
        by: Option<Owner>,
    },
    /// Two jobs of a gateway have the same uid.
    #[error(
        "{} the uid {uid:08X}, but can-gw has room for one job of a uid: the later would become the earlier; give each \
         its own, and say which frames (frames = \"classic\" or \"fd\") and one `match`",
        if first == second { format!("Route {first:?} needs several can-gw jobs with") }
        else { format!("Routes {first:?} and {second:?} both have") }
    )]
    UidTwice {
        /// The uid.
        uid: std::num::NonZeroU32,
        /// The route of one.
        first: String,
        /// The route of the other.
        second: String,
    },
    /// A change failed, and everything is as it was.
    #[error("Nothing was changed{}", recreated(*created, *lost))]
    Undone {
        /// Why it failed.
        source: Box<Self>,
        /// Jobs that had been deleted and were added again.
        created: usize,
        /// Jobs whose interface has gone in the meantime.
        lost: usize,
    },
    /// Frames would be forwarded twice.
    #[error(
        "can-gw already has {} equal to what {} would add, made by somebody else: every frame would be forwarded twice; \
         --adopt takes {} over, --prune removes all that is not candor's",
        if .routes.len() == 1 { "a job" } else { "jobs" },
        quoted(routes),
        if .routes.len() == 1 { "it" } else { "them" }
    )]
    WouldDouble {
        /// The routes that would be doubled.
        routes: Vec<String>,
    },
    /// A thread of the engine panicked: a bug.
    #[error("The thread of interface {interface} panicked; this is a bug in candor")]
    ThreadPanicked {
        /// Which interface.
        interface: String,
    },
}

/// A route that only a process can run, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUserSpace {
    /// Its name.
    pub route: String,
    /// What follows "in user space, because".
    pub because: String,
}

fn list(routes: &[InUserSpace]) -> String {
    routes.iter().map(|one| format!("\n  route {:?} runs in user space, because {}", one.route, one.because)).collect()
}

fn quoted(routes: &[String]) -> String {
    let names: Vec<_> = routes.iter().map(|route| format!("{route:?}")).collect();
    format!("{} {}", if routes.len() == 1 { "route" } else { "routes" }, names.join(", "))
}

fn recreated(created: usize, lost: usize) -> String {
    let created = match created {
        0 => String::new(),
        1 => "; 1 job had been deleted and was added again, so its counters begin anew".into(),
        jobs => format!("; {jobs} jobs had been deleted and were added again, so their counters begin anew"),
    };
    let lost = match lost {
        0 => String::new(),
        jobs => format!("; {jobs} of before cannot come back, because an interface has gone in the meantime"),
    };
    created + &lost
}
