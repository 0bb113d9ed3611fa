//! Routes in eBPF programs: what they cannot do, and which buses have too much for one program.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use candor_bpf::gateway::{self, CompileError, Generation, Kind};
use candor_core::frame::FrameFormat;
use candor_core::job::{Computed, Job};

use crate::lower::lower;
use crate::plan::{BusIndex, Echo, Plan, Route, RouteIndex, SendAs, Timestamp, WhenFull};

/// Why this process cannot attach programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoPrograms {
    /// Before Linux 7.0, a program cannot redirect frames.
    Old,
    /// CAP_BPF and CAP_NET_ADMIN in the initial user namespace.
    Privilege,
    /// The kernel is built without BPF, `cls_bpf` or `mirred`.
    Missing,
}

impl NoPrograms {
    /// A sentence without a full stop.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Old | Self::Missing => "boot Debian's Linux 7.0 or newer, or choose engine = \"auto\"",
            Self::Privilege => "run candor as root: sudo candor run …",
        }
    }
}

/// What an eBPF program cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotForBpf {
    None(NoPrograms),
    Echo,
    Timestamp,
    Hops(u8),
    MaxAge,
    /// It sends frames at other times than it receives them.
    Timing,
    /// It computes signals.
    Signals,
    /// It checks frames.
    Checked,
    /// It writes a checksum or a counter that is not in one byte.
    Protected,
    WhenFull,
    SendAs(SendAs),
    /// A changed CAN FD frame cannot be restored for others.
    ChangedFd,
    /// This route echoes frames to its bus, which a program would take for received ones.
    Meets(RouteIndex),
    /// Together with the other routes from its bus.
    Bus(CompileError),
    /// The kernel has refused its program.
    Refused,
}

/// The reason why a program cannot run a route by itself; `None` if it can.
#[must_use]
pub fn not_for_bpf(route: &Route) -> Option<NotForBpf> {
    let formats = route.formats.list();
    let converts = |send_as: &SendAs| formats.iter().any(|&format| format != send_as.format());
    let is_long = |protected: Option<&Computed>| protected.is_some_and(|protected| protected.steps().is_none());
    let changes = !route.modifications.is_empty()
        || route.protected.is_some()
        || route.selections.iter().any(|selection| selection.id.is_some());
    match route.hop_limit {
        _ if route.is_refused => Some(NotForBpf::Refused),
        _ if route.echo == Echo::On => Some(NotForBpf::Echo),
        _ if route.timestamp == Timestamp::Kept => Some(NotForBpf::Timestamp),
        Some(limit @ 2..) => Some(NotForBpf::Hops(limit)),
        _ if route.computed.is_some() => Some(NotForBpf::Signals),
        _ if !route.checks.is_empty() => Some(NotForBpf::Checked),
        _ if is_long(route.protected.as_ref()) => Some(NotForBpf::Protected),
        _ if route.max_age.is_some() => Some(NotForBpf::MaxAge),
        _ if route.timing.is_some() => Some(NotForBpf::Timing),
        _ if route.when_full != WhenFull::DropNewest => Some(NotForBpf::WhenFull),
        _ if changes && !route.is_exclusive && formats.contains(&FrameFormat::Fd) => Some(NotForBpf::ChangedFd),
        _ => route.send_as.filter(converts).map(NotForBpf::SendAs),
    }
}

/// The reason for each route, by itself or because of the echo of others.
pub(super) fn all_not_for_bpf(routes: &[Route]) -> Vec<Option<NotForBpf>> {
    let mut echoing_to = HashMap::new();
    for (at, route) in routes.iter().enumerate().filter(|(_, route)| route.echo == Echo::On) {
        echoing_to.entry(route.to).or_insert(RouteIndex(at));
    }
    let meets = |route: &Route| echoing_to.get(&route.from).copied().map(NotForBpf::Meets);
    routes.iter().map(|route| not_for_bpf(route).or_else(|| meets(route))).collect()
}

/// Buses whose routes do not fit into programs together.
pub(super) fn too_much(plan: &Plan) -> HashMap<BusIndex, CompileError> {
    let buses: BTreeSet<BusIndex> = candor_core::order::set(plan.routes().iter().map(|route| route.from));
    let jobs = lower(plan);
    buses.into_iter().filter_map(|from| Some((from, fit(plan, &jobs, from).err()?))).collect()
}

/// How many of these routes from a bus fit into programs together, from the first on, and why not all; `None` if all do.
pub(super) fn first_that_fit(
    plan: &Plan,
    jobs: &[Job],
    from: BusIndex,
    routes: &[RouteIndex],
) -> Option<(usize, CompileError)> {
    let number: HashMap<_, _> = routes.iter().zip(0..).map(|(route, number)| (*route, number)).collect();
    let check = |count: usize| {
        let is_first = |job: &&Job| number.get(&job.route).is_some_and(|number| *number < count);
        let first: Vec<_> = jobs.iter().filter(is_first).cloned().collect();
        fit(plan, &first, from).err()
    };
    let mut why = check(routes.len())?;
    let (mut fits, mut too_many) = (0, routes.len());
    while too_many - fits > 1 {
        let middle = usize::midpoint(fits, too_many);
        match check(middle) {
            None => fits = middle,
            Some(error) => (too_many, why) = (middle, error),
        }
    }
    Some((fits, why))
}

fn fit(plan: &Plan, jobs: &[Job], from: BusIndex) -> Result<(), CompileError> {
    let is_exclusive = |route| plan.route(route).is_exclusive;
    let compile = |kind| gateway::compile(jobs, from, kind, Generation::Even, is_exclusive, &[]);
    Kind::ALL.into_iter().try_for_each(|kind| compile(kind).map(drop))
}

impl NotForBpf {
    /// As [`Display`](fmt::Display), with the name of the other route.
    #[must_use]
    pub fn in_words(self, plan: &Plan) -> String {
        match self {
            Self::Meets(route) => format!("route {:?} echoes frames to its bus", plan.route(route).name),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for NotForBpf {
    /// Continues "not in an eBPF program, because".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None(NoPrograms::Old) => "eBPF programs can redirect CAN frames since Linux 7.0",
            Self::None(NoPrograms::Privilege) => {
                "this process lacks CAP_BPF or CAP_NET_ADMIN in the initial user namespace"
            }
            Self::None(NoPrograms::Missing) => {
                "this kernel has no eBPF classifiers (CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF, CONFIG_NET_ACT_MIRRED, \
                 CONFIG_NET_SCH_INGRESS)"
            }
            Self::Echo => "an eBPF program cannot send with echo",
            Self::Timestamp => "an eBPF program cannot keep the receive timestamp",
            Self::Hops(_) => "an eBPF program cannot count hops",
            Self::Signals => "an eBPF program cannot compute signals",
            Self::Checked => "an eBPF program has no `guard` and `check`",
            Self::Protected => "an eBPF program writes only checksums and counters of one byte",
            Self::MaxAge => "an eBPF program cannot drop frames by age",
            Self::Timing => "an eBPF program sends a frame when it is received",
            Self::WhenFull => "an eBPF program always drops the newest frame when the queue is full",
            Self::SendAs(_) => "an eBPF program cannot convert frame formats",
            Self::ChangedFd => "an eBPF program cannot restore a changed CAN FD frame for others",
            Self::Refused => "the kernel refused its eBPF program",
            Self::Meets(RouteIndex(_)) => "a route echoes frames to its bus",
            Self::Bus(error) => return write!(f, "the routes from its bus do not fit into one eBPF program: {error}"),
        })
    }
}
