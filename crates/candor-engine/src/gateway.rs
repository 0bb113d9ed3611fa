//! The gateway: all engines behind one interface.

mod bus_off;
mod claims;
mod guards;
mod modes;
mod reload;

pub use guards::{GuardEvent, GuardFinding, Guards, Recurring, Told};
pub use modes::{ModeCause, ModeChange, ModeOutcome};
pub use reload::{GoneRoute, Reload, Reloaded};

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_config::engine::UserEngine;
use candor_config::placement::{Placement, Side};
use candor_config::plan::{BusIndex, Plan, RouteIndex};
use candor_core::causes::in_full;
use candor_core::job::Job;
use candor_io::netlink::LinkWatch;
use candor_netlink::client::Client;

use crate::bpf::{self, BpfError, BpfGateway};
use crate::composed::{self, ComposedFrames, FrameStatus};
use crate::error::GatewayError;
use crate::kernel::{self, KernelError, KernelGateway};
use crate::placement;
use crate::refused_program::without_refused;
use bus_off::BusOff;
use candor_io::machine::Machine;
use candor_userspace::counters::{BusCounters, FrameCounters, RouteCounters};
use candor_userspace::ended::Ended;
use candor_userspace::latency::MeasureLatency;
use candor_userspace::notice::Notice;
use candor_userspace::owner::Owner;
use candor_userspace::preflight::{self, Interfaces};
use candor_userspace::realtime::{self, Held};
use candor_userspace::run_dir::{Entry, OwnedJob, RunDir, RunDirError};
use candor_userspace::system_error::SystemError;
use candor_userspace::user::{EngineConfig, Ready, UserGateway};
use claims::Listeners;
use modes::Modes;

/// Interval of checks while waiting for something without notification: a module that is reloaded, a lock that is
/// released.
const SOON: Duration = Duration::from_secs(1);

/// A running gateway. Dropping it ends it, also during a panic; [`stop`](Self::stop) also reports the final counters.
#[derive(Debug)]
pub struct Gateway {
    plan: Plan,
    jobs: Arc<[Job]>,
    placement: Placement,
    /// By route: counters under earlier plans; empty if there were none.
    earlier: Vec<RouteCounters>,
    interfaces: Interfaces,
    bus_off: BusOff,
    claims: Listeners,
    guards: Guards,
    modes: Modes,
    client: Client,
    watch: LinkWatch,
    announced: Announced,
    /// The last check failed, which was reported.
    check_fails: bool,
    /// The engine of the routes in user space, if any.
    user_engine: Option<UserEngine>,
    latency: MeasureLatency,
    frames: Option<ComposedFrames>,
    /// Before `bpf` and `kernel`, so that it is dropped first.
    user: Option<UserGateway>,
    bpf: Option<BpfGateway>,
    kernel: Option<KernelGateway>,
    /// Dropped last, after all threads have ended.
    held: Held,
}

/// State of the ownership record in the run directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announced {
    Now,
    /// None: there is no usable run directory.
    Never,
    /// Outdated, because an interface index has changed.
    Once,
}

impl Gateway {
    /// As [`start_with`](Self::start_with), with the notices of the start as a list.
    ///
    /// # Errors
    /// [`GatewayError`] with the reason and what to type.
    pub fn start(plan: Plan) -> Result<(Self, Vec<Notice>), GatewayError> {
        let mut notices = Vec::new();
        let gateway = Self::start_with(plan, MeasureLatency::No, &mut |notice| notices.push(notice))?;
        Ok((gateway, notices))
    }

    /// Starts the engine of the plan, or both, each with its routes. If one cannot start, nothing is left behind.
    ///
    /// Waits up to 10 s for another candor that is starting, or until a blocked ending signal is pending. The
    /// user-space engines interrupt their threads with SIGUSR2.
    ///
    /// # Errors
    /// [`GatewayError`] with the reason and what to type.
    pub fn start_with(
        mut plan: Plan,
        latency: MeasureLatency,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, GatewayError> {
        fn program(outcome: &Result<Gateway, GatewayError>) -> Option<&BpfError> {
            if let Err(GatewayError::Bpf(error)) = outcome { Some(error) } else { None }
        }
        without_refused(&mut plan, notify, program, |plan, notify| Self::attempt(plan.clone(), latency, notify))
    }

    fn attempt(plan: Plan, latency: MeasureLatency, notify: &mut dyn FnMut(Notice)) -> Result<Self, GatewayError> {
        let mut client = Client::open().map_err(KernelError::Netlink)?;
        let watch = LinkWatch::start().map_err(SystemError::while_doing("Watching the network interfaces"))?;
        preflight::can_is_there()?;
        preflight::may_restart(&plan)?;
        let (interfaces, notices) = Interfaces::find(&mut client, &plan)?;
        notices.into_iter().for_each(&mut *notify);
        let mut jobs = candor_config::lower(&plan);
        let placement = placement::place(&plan, &mut jobs, &mut client, &interfaces, notify)?;
        let jobs: Arc<[Job]> = jobs.into();
        let for_kernel = of_side(&jobs, &placement, Side::Kernel);
        let for_bpf = of_side(&jobs, &placement, Side::Bpf);
        let for_user = for_threads(&plan, &jobs, &placement);
        let user_engine = if for_user.is_empty() {
            None
        } else {
            preflight::can_raw_is_there()?;
            Some(placement::user_engine(&plan)?)
        };
        let frames = composed(&plan, &interfaces, None)?;
        let mut claims = Listeners::default();
        claims.open(&plan, &interfaces)?;

        let has_stamps = user_engine.map_or(!for_bpf.is_empty(), |engine| engine.receiver().has_stamps());
        if latency == MeasureLatency::Yes && !has_stamps {
            notify(Notice::NoLatency { engine: user_engine });
        }

        // Checked before anything is changed.
        let held = Held::take(plan.realtime(), user_engine.is_some() || frames.is_some())?;
        let hazard =
            user_engine.and_then(|engine| realtime::hazards(plan.realtime(), engine, &for_user, &Machine::here()));
        hazard.into_iter().for_each(&mut *notify);

        // Locked until both parts run, so that no other candor interferes.
        let mut run_dir = if for_kernel.is_empty() && for_bpf.is_empty() {
            RunDir::open_where_possible(notify)?
        } else {
            Some(RunDir::open(notify)?)
        };
        let owned = owned(&plan, &jobs, &placement, &interfaces);
        if let Some(run_dir) = &run_dir {
            run_dir.refuse_twins(&owned, None)?;
            if let Some((route, other)) = run_dir.first_circle(&owned, None) {
                notify(Notice::MayCircle { route, other });
            }
        }
        // The kernel part first: it removes jobs of dead candors, whose routes may run in user space now and would be
        // duplicated. No route is in both parts, so a frame that arrives between the two starts is forwarded by the
        // routes that already run. From its first frame on, no route loses any. Everything that can be checked in user
        // space was checked above; if it fails nevertheless, dropping the kernel part removes its jobs.
        if let (Some(run_dir), true) = (&mut run_dir, for_kernel.is_empty()) {
            kernel::remove_leftovers(run_dir, notify)?;
        }
        if for_bpf.is_empty() {
            bpf::remove_leftovers(run_dir.as_ref(), notify)?;
        }
        let entry = run_dir.as_ref().map(|run_dir| run_dir.announce(plan.engine(), owned)).transpose()?;
        let announced = if entry.is_some() { Announced::Now } else { Announced::Never };
        let (kernel, mut entry) = match (&mut run_dir, entry) {
            (Some(run_dir), Some(entry)) if !for_kernel.is_empty() => {
                (Some(KernelGateway::start(&plan, &for_kernel, &interfaces, run_dir, entry, notify)?), None)
            }
            (_, entry) => (None, entry),
        };
        let mut bpf = None;
        if !for_bpf.is_empty() {
            bpf = Some(BpfGateway::start(
                &plan,
                &for_bpf,
                &interfaces,
                (run_dir.as_ref(), None, entry.take()),
                latency,
                notify,
            )?);
        }
        let user = user_engine.map(|engine| {
            let for_user = shared(&jobs, &for_user);
            UserGateway::open(&plan, EngineConfig::new(engine, latency), for_user, &interfaces, entry.take())
        });
        let user = user.transpose()?.map(Ready::begin);
        let frames = frames.map(|prepared| ComposedFrames::begin(&plan, prepared, None)).transpose()?;
        let mut frames = frames.map(|(frames, _none_before)| frames);
        let mut modes = Modes::default();
        match (&mut frames, entry) {
            (Some(frames), Some(entry)) => frames.announce(entry),
            (_, entry) => modes.idle.announce(entry),
        }
        drop(run_dir);
        Ok(Self {
            earlier: Vec::new(),
            plan,
            jobs,
            placement,
            interfaces,
            bus_off: BusOff::default(),
            claims,
            guards: Guards::default(),
            modes,
            client,
            watch,
            announced,
            check_fails: false,
            user_engine,
            latency,
            frames,
            user,
            bpf,
            kernel,
            held,
        })
    }

    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The jobs of the plan, in the order of its routes.
    #[must_use]
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The side of each route, and why.
    #[must_use]
    pub const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Checks the gateway and repairs what it can: continues routes of returning interfaces, reinstalls deleted jobs.
    /// Call it at least every 30 s and whenever the process is woken ([`candor_io::signal`]), which happens when an
    /// interface changes or a thread ends.
    ///
    /// # Errors
    /// [`GatewayError`] if the gateway cannot continue: another program keeps deleting its jobs, or a thread failed.
    pub fn check(&mut self) -> Result<Vec<Notice>, GatewayError> {
        self.watch.drain();
        let mut notices = Vec::new();
        match self.check_kernel(&mut notices) {
            Ok(()) => self.check_fails = false,
            // Forwarding does not depend on the check.
            Err(error) if error.is_temporary() => {
                let told_already = std::mem::replace(&mut self.check_fails, true);
                notices.extend((!told_already).then(|| Notice::CheckFailed { why: in_full(&error) }));
            }
            Err(error) => return Err(error),
        }
        if let Some(user) = &mut self.user {
            notices.extend(user.check(&self.interfaces)?);
        }
        if let Some(frames) = &mut self.frames {
            notices.extend(frames.check(&self.interfaces)?);
        }
        self.claims.follow(&self.plan, &self.interfaces)?;
        Ok(notices)
    }

    /// Checks jobs and interfaces and repairs the kernel part.
    fn check_kernel(&mut self, notices: &mut Vec<Notice>) -> Result<(), GatewayError> {
        let is_there = self.kernel.as_mut().map(KernelGateway::presence).transpose()?;
        let (news, moved) = self.interfaces.refresh(&mut self.client, &self.plan)?;
        notices.extend(news);
        if self.bus_off.has_work(&self.interfaces) {
            let counters = self.counters();
            let Self { plan, interfaces, bus_off, client, .. } = self;
            let handed_over = |bus| handed_over(plan, &counters, bus);
            bus_off.check((plan, interfaces), handed_over, client, Instant::now(), notices);
        }
        self.keep_announced(moved)?;
        if let (Some(kernel), Some(is_there)) = (&mut self.kernel, is_there) {
            // The ownership record precedes the first job, as at the start.
            let is_announced = self.announced != Announced::Once;
            kernel.mend(&self.plan, is_there, &self.interfaces, is_announced, Instant::now(), notices)?;
        }
        if let Some(bpf) = &mut self.bpf {
            bpf.mend(&self.interfaces, Instant::now(), notices)?;
        }
        Ok(())
    }

    /// Updates the ownership record after interface indexes have changed. If the run directory is locked or the process
    /// is to end, the next check retries.
    fn keep_announced(&mut self, moved: bool) -> Result<(), GatewayError> {
        match (self.announced, moved) {
            (Announced::Never, _) | (Announced::Now, false) => return Ok(()),
            (Announced::Now, true) | (Announced::Once, _) => self.announced = Announced::Once,
        }
        // Unreadable records were reported at the start.
        let notify = &mut |_notice| {};
        let run_dir = if self.kernel.is_some() || self.bpf.is_some() {
            RunDir::open(notify).map(Some)
        } else {
            RunDir::open_where_possible(notify)
        };
        let run_dir = match run_dir {
            Ok(Some(run_dir)) => run_dir,
            Ok(None) | Err(RunDirError::Interrupted | RunDirError::Locked { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let owned = owned(&self.plan, &self.jobs, &self.placement, &self.interfaces);
        // Another candor may have started when the interface came back, before this process could record that it waits
        // for it. One of two that forward the same frames must end.
        let me = Owner::Process { pid: std::process::id(), engine: self.plan.engine() };
        run_dir.refuse_twins(&owned, Some(&me))?;
        let entry: Entry = run_dir.announce(self.plan.engine(), owned)?;
        match (&mut self.kernel, &mut self.bpf, &mut self.user) {
            (Some(kernel), ..) => kernel.announce(entry),
            (None, Some(bpf), _) => bpf.announce(entry),
            (None, None, Some(user)) => user.announce(entry),
            (None, None, None) => match &mut self.frames {
                Some(frames) => frames.announce(entry),
                None => self.modes.idle.announce(Some(entry)),
            },
        }
        self.announced = Announced::Now;
        Ok(())
    }

    /// Time until [`look_at_guards`](Self::look_at_guards) is due; `None` without guards.
    #[must_use]
    pub fn guards_due_within(&self) -> Option<Duration> {
        self.guards.due_within(&self.plan, Instant::now())
    }

    /// What the guards of the routes found since the last look.
    pub fn look_at_guards(&mut self) -> Vec<GuardEvent> {
        let Self { claims, guards, plan, interfaces, .. } = self;
        claims.hear(plan);
        guards.look(plan, Instant::now(), |alarm| guards::send(&alarm.frame, alarm.to, interfaces))
    }

    /// Time until the next check is due without an event; `None` if nothing needs polling.
    #[must_use]
    pub fn check_within(&self) -> Option<Duration> {
        let waits = self.check_fails
            || self.announced == Announced::Once
            || self.kernel.as_ref().is_some_and(KernelGateway::waits)
            || self.bpf.as_ref().is_some_and(BpfGateway::guards);
        waits.then_some(SOON).into_iter().chain(self.bus_off.due_within(Instant::now())).min()
    }

    /// Counters of each route in plan order: of the kernel as of the last [`check`](Self::check), of user space up to
    /// now.
    #[must_use]
    pub fn counters(&self) -> Vec<RouteCounters> {
        let kernel = self.kernel.as_ref().map(KernelGateway::counters);
        let bpf = self.bpf.as_ref().map(BpfGateway::counters);
        let user = self.user.as_ref().map(UserGateway::counters);
        let (_, timed) = self.split_counters(self.frames.as_ref().map(ComposedFrames::counters).unwrap_or_default());
        self.by_route(kernel, bpf, user, &timed)
    }

    /// Counters of the composed frames, in plan order.
    #[must_use]
    pub fn frame_counters(&self) -> Vec<FrameCounters> {
        self.split_counters(self.frames.as_ref().map(ComposedFrames::counters).unwrap_or_default()).0
    }

    /// The counters of composed frames, and those of the routes with a timing.
    fn split_counters(&self, mut all: Vec<FrameCounters>) -> (Vec<FrameCounters>, Vec<(RouteIndex, RouteCounters)>) {
        let (frames, watched) = (self.plan.frames().len(), self.plan.watched().len());
        let timed = all.split_off((frames + watched).min(all.len()));
        all.truncate(frames);
        let routes = composed::timed_routes(&self.plan);
        let counters = |FrameCounters { sent, drops, .. }: FrameCounters| RouteCounters {
            handled: sent,
            dropped: drops.total(),
            drops,
            ..RouteCounters::default()
        };
        (all, routes.zip(timed.into_iter().map(counters)).collect())
    }

    /// The composed frames as they are now, in plan order, and then the watched messages.
    ///
    /// # Errors
    /// [`GatewayError`] if their thread cannot be woken.
    pub fn frame_statuses(&self) -> Result<Vec<FrameStatus>, GatewayError> {
        Ok(self.frames.as_ref().map(ComposedFrames::status).transpose()?.unwrap_or_default())
    }

    /// Counters of each bus that user space uses, in plan order.
    #[must_use]
    pub fn buses(&self) -> Vec<BusCounters> {
        self.user.as_ref().map(|user| user.buses(&self.plan, &self.interfaces)).unwrap_or_default()
    }

    /// Ends the gateway and removes its jobs from the kernel.
    ///
    /// # Errors
    /// [`GatewayError`] if jobs could not be removed or a thread had failed.
    pub fn stop(mut self) -> Result<Ended, GatewayError> {
        self.end_mode();
        let frames = self.frames.take().map(ComposedFrames::stop);
        let user = self.user.take().map(|user| user.stop(&self.plan, &self.interfaces));
        // The jobs are removed even if a thread failed.
        let bpf = self.bpf.take().map(BpfGateway::stop).transpose();
        let kernel = self.kernel.take().map(|kernel| kernel.stop(&self.plan)).transpose()?;
        let (bpf, removed_filters, circles) = match bpf? {
            Some((counters, removed, notices)) => (Some(counters), removed, notices),
            None => (None, 0, Vec::new()),
        };
        let (user, frames) = (user.transpose()?, frames.transpose()?.unwrap_or_default());
        let (kernel, removed) = kernel.unzip();
        let (user, threads) = user.unzip();
        let (frames, timed) = self.split_counters(frames);
        let counters = self.by_route(kernel, bpf, user, &timed);
        let (removed, threads) = (removed.unwrap_or_default(), threads.unwrap_or_default());
        let named = self.plan.routes().iter().zip(&counters);
        let wrong =
            named.filter_map(|(route, counted)| counted.contradiction(&route.name).map(Notice::CountersInconsistent));
        let notices = threads.notices.into_iter().chain(circles).chain(wrong).collect();
        Ok(Ended { counters, frames, buses: threads.buses, notices, removed_filters, ..removed })
    }

    /// Sums the counters of each route; can-gw and user space count by job, in plan order.
    fn by_route(
        &self,
        kernel: Option<Vec<RouteCounters>>,
        bpf: Option<Vec<(RouteIndex, RouteCounters)>>,
        user: Option<Vec<RouteCounters>>,
        timed: &[(RouteIndex, RouteCounters)],
    ) -> Vec<RouteCounters> {
        let mut by_route = self.earlier.clone();
        by_route.resize(self.plan.routes().len(), RouteCounters::default());
        let (mut kernel, mut user) = (kernel.unwrap_or_default().into_iter(), user.unwrap_or_default().into_iter());
        for (route, counted) in bpf.unwrap_or_default().into_iter().chain(timed.iter().cloned()) {
            by_route[route.0] += counted;
        }
        for job in self.jobs.iter() {
            let counted = match self.placement.side(job.route) {
                Side::Bpf => None,
                Side::Kernel => kernel.next(),
                Side::User if self.plan.route(job.route).timing.is_some() => None,
                Side::User => user.next(),
            };
            by_route[job.route.0] += counted.unwrap_or_default();
        }
        by_route
    }
}

/// Sockets for the composed frames of a plan, if it has any. Those of `running` are kept.
fn composed(
    plan: &Plan,
    interfaces: &Interfaces,
    running: Option<&ComposedFrames>,
) -> Result<Option<composed::Prepared>, GatewayError> {
    if !composed::is_needed(plan) {
        return Ok(None);
    }
    preflight::can_raw_is_there()?;
    Ok(Some(ComposedFrames::prepare(plan, interfaces, running)?))
}

/// Number of frames accepted by a bus for all routes.
fn handed_over(plan: &Plan, counters: &[RouteCounters], bus: BusIndex) -> u64 {
    plan.routes().iter().zip(counters).filter(|(route, _)| route.to == bus).map(|(_, counted)| counted.handled).sum()
}

/// The jobs of one side, in plan order.
fn of_side<'a>(jobs: &'a [Job], placement: &Placement, side: Side) -> Vec<&'a Job> {
    jobs.iter().filter(|job| placement.side(job.route) == side).collect()
}

/// The jobs of the forwarding threads, in plan order: those of user space that have no timing.
fn for_threads<'a>(plan: &Plan, jobs: &'a [Job], placement: &Placement) -> Vec<&'a Job> {
    let mut jobs = of_side(jobs, placement, Side::User);
    jobs.retain(|job| plan.route(job.route).timing.is_none());
    jobs
}

/// Shares the list if it contains all jobs: a rule has half a kilobyte.
fn shared(all: &Arc<[Job]>, some: &[&Job]) -> Arc<[Job]> {
    if some.len() == all.len() { Arc::clone(all) } else { some.iter().copied().cloned().collect() }
}

/// The jobs for the ownership record.
fn owned(plan: &Plan, jobs: &[Job], placement: &Placement, interfaces: &Interfaces) -> Vec<OwnedJob> {
    OwnedJob::list(plan, interfaces, jobs, |job| placement.side(job.route))
}
