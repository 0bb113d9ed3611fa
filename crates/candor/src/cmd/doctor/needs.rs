//! What a gateway file needs of the machine; without a file, what any gateway would like to have.

use std::collections::BTreeSet;

use candor_config::engine::UserEngine;
use candor_config::placement::{KernelAbilities, Placement, Side};
use candor_config::plan::{Bus, BusIndex, Engine, Formats, Plan, RouteIndex, SendAs};
use candor_core::frame::FrameFormat;
use candor_core::realtime::{Cpu, Realtime, RtPriority};

/// Who is to run routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// can-gw, whatever the rest.
    Kernel,
    /// can-gw if it is there, otherwise candor.
    KernelIfThere,
    /// Candor alone.
    User,
    /// Nobody knows: there is no file.
    Unknown,
}

/// What is needed.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    pub(super) runs: Runs,
    /// The engine of user space, if some route is there; the best one if the file leaves it to candor.
    pub(super) engine: Option<UserEngine>,
    /// Whether that engine must be it.
    pub(super) is_named: bool,
    pub(super) realtime: Realtime,
    /// The largest `hop-limit`.
    pub(super) hops: u8,
    /// The interfaces, if a file names them.
    pub(super) interfaces: Option<Vec<Wanted>>,
}

/// An interface of a file.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) bus: Bus,
    /// Whether frames go there.
    pub(super) is_destination: bool,
    /// Whether a route says that FD frames go there.
    pub(super) wants_fd: bool,
}

impl Needs {
    /// Of no file.
    pub(super) fn unknown() -> Self {
        let realtime = Realtime::default();
        Self { runs: Runs::Unknown, engine: None, is_named: false, realtime, hops: 0, interfaces: None }
    }

    pub(super) fn of(plan: &Plan) -> Self {
        let placement = Placement::of(plan, KernelAbilities { relative_crc8: true, ..KernelAbilities::EVERY }).ok();
        let is_on = |side| {
            let side_of = |at| placement.as_ref().map(|placement| placement.side(RouteIndex(at)));
            (0..plan.routes().len()).any(|at| side_of(at) == Some(side))
        };
        let runs = match plan.engine() {
            Engine::Kernel => Runs::Kernel,
            Engine::Auto if is_on(Side::Kernel) => Runs::KernelIfThere,
            Engine::Auto | Engine::User(_) => Runs::User,
        };
        let engine = match plan.engine() {
            Engine::User(engine) => Some(engine),
            Engine::Auto if is_on(Side::User) => Some(UserEngine::BEST),
            Engine::Auto | Engine::Kernel => None,
        };
        let used: BTreeSet<_> = plan.routes().iter().flat_map(|route| [route.from, route.to]).collect();
        Self {
            runs,
            engine,
            is_named: matches!(plan.engine(), Engine::User(_)),
            realtime: plan.realtime().clone(),
            hops: plan.routes().iter().filter_map(|route| route.hop_limit).max().unwrap_or_default(),
            interfaces: Some(used.into_iter().map(|bus| Wanted::of(plan, bus)).collect()),
        }
    }

    /// The real-time priority of threads that there are.
    pub(super) fn priority(&self) -> Option<RtPriority> {
        self.engine.and(self.realtime.sched)?.priority()
    }

    /// Whether threads spin.
    pub(super) fn spins(&self) -> bool {
        self.engine.is_some_and(|engine| engine.receiver().spins())
    }

    /// The processors of the threads: all of these that the file does not rule out.
    pub(super) fn cpus(&self, online: &[Cpu]) -> Vec<Cpu> {
        let cpus = &self.realtime.cpus;
        online.iter().copied().filter(|cpu| cpus.is_empty() || cpus.contains(cpu)).collect()
    }
}

impl Wanted {
    fn of(plan: &Plan, index: BusIndex) -> Self {
        let into = || plan.routes().iter().filter(|route| route.to == index);
        let sends_fd = |formats, send_as: Option<SendAs>| match (send_as, formats) {
            (Some(send_as), _) => send_as.format() == FrameFormat::Fd,
            (None, formats) => formats == Formats::Only(FrameFormat::Fd),
        };
        Self {
            bus: plan.bus(index).clone(),
            is_destination: into().next().is_some(),
            wants_fd: into().any(|route| sends_fd(route.formats, route.send_as)),
        }
    }
}
