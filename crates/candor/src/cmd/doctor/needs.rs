//! Requirements of a gateway file on the machine; without a file, those of any gateway.

use std::sync::Arc;

use candor_config::engine::UserEngine;
use candor_config::placement::{KernelAbilities, Placement, Side};
use candor_config::plan::{Bus, BusIndex, Engine, Formats, Plan, RouteIndex, SendAs};
use candor_core::frame::FrameFormat;
use candor_core::realtime::{Cpu, Realtime, RtPriority};

/// The side that runs the routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// The routes are can-gw jobs.
    Kernel,
    /// The routes are eBPF programs.
    Bpf,
    /// can-gw if it is loaded, otherwise user space.
    KernelIfThere,
    User,
    /// No gateway file was given.
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Needs {
    pub(super) runs: Runs,
    /// The user-space engine, if a route runs there; the best one for `"auto"`.
    pub(super) engine: Option<UserEngine>,
    /// The file names that engine; there is no fallback.
    pub(super) is_named: bool,
    pub(super) realtime: Realtime,
    /// A bus has a queue in the order of arbitration.
    pub(super) has_arbitration: bool,
    /// Largest `hop-limit` of the routes.
    pub(super) hops: u8,
    /// `None` without a file.
    pub(super) interfaces: Option<Vec<Wanted>>,
    /// A file that describes traffic.
    pub(super) traffic: Option<Arc<Plan>>,
}

/// An interface of a file.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) bus: Bus,
    /// A route sends frames there.
    pub(super) is_destination: bool,
    /// A route sends FD frames there.
    pub(super) wants_fd: bool,
}

impl Needs {
    pub(super) fn unknown() -> Self {
        let realtime = Realtime::default();
        Self {
            runs: Runs::Unknown,
            engine: None,
            is_named: false,
            realtime,
            has_arbitration: false,
            hops: 0,
            interfaces: None,
            traffic: None,
        }
    }

    pub(super) fn of(plan: &Plan) -> Self {
        let placement = Placement::known(plan, KernelAbilities { relative_crc8: true, ..KernelAbilities::EVERY });
        let is_on = |side| {
            let side_of = |at| placement.as_ref().map(|placement| placement.side(RouteIndex(at)));
            (0..plan.routes().len()).any(|at| side_of(at) == Some(side))
        };
        let has_only_frames = plan.only_composes();
        let runs = match plan.engine() {
            _ if has_only_frames => Runs::User,
            Engine::Bpf => Runs::Bpf,
            Engine::Kernel => Runs::Kernel,
            Engine::Auto if is_on(Side::Kernel) => Runs::KernelIfThere,
            Engine::Auto | Engine::User(_) => Runs::User,
        };
        let engine = match plan.engine() {
            Engine::User(engine) => Some(engine),
            Engine::Auto if is_on(Side::User) => Some(UserEngine::BEST),
            Engine::Auto | Engine::Bpf | Engine::Kernel => None,
        };
        let used = (0..plan.buses().len()).map(BusIndex).filter(|bus| plan.uses(*bus));
        Self {
            runs,
            engine,
            is_named: matches!(plan.engine(), Engine::User(_)),
            realtime: plan.realtime().clone(),
            has_arbitration: plan.has_arbitration(),
            hops: plan.routes().iter().filter_map(|route| route.hop_limit).max().unwrap_or_default(),
            interfaces: Some(used.map(|bus| Wanted::of(plan, bus)).collect()),
            traffic: (!plan.traffic().is_empty()).then(|| Arc::new(plan.clone())),
        }
    }

    /// Real-time priority of the threads; `None` without threads.
    pub(super) fn priority(&self) -> Option<RtPriority> {
        self.engine.and(self.realtime.sched)?.priority()
    }

    pub(super) fn spins(&self) -> bool {
        self.engine.is_some_and(|engine| engine.receiver().spins())
    }

    /// The CPUs of `online` that may run the threads.
    pub(super) fn cpus(&self, online: &[Cpu]) -> Vec<Cpu> {
        let cpus = &self.realtime.cpus;
        online.iter().copied().filter(|cpu| cpus.is_empty() || cpus.contains(cpu)).collect()
    }
}

impl Wanted {
    fn of(plan: &Plan, index: BusIndex) -> Self {
        let into = || plan.routes().iter().filter(|route| route.to == index);
        let composed = || plan.frames().iter().filter(|frame| frame.to == index);
        let sends_fd = |formats, send_as: Option<SendAs>| match (send_as, formats) {
            (Some(send_as), _) => send_as.format() == FrameFormat::Fd,
            (None, formats) => formats == Formats::Only(FrameFormat::Fd),
        };
        Self {
            bus: plan.bus(index).clone(),
            is_destination: into().next().is_some() || composed().next().is_some(),
            wants_fd: into().any(|route| sends_fd(route.formats, route.send_as))
                || composed().any(|frame| frame.format == FrameFormat::Fd),
        }
    }
}
