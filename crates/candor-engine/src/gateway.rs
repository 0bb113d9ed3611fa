//! One front for both engines, which run side by side if a plan leaves that to candor.

mod bus_off;
mod reload;

pub use reload::{GoneRoute, Reload, Reloaded};

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_config::engine::UserEngine;
use candor_config::placement::{Placement, Side};
use candor_config::plan::{BusIndex, Plan};
use candor_core::causes::in_full;
use candor_core::job::Job;
use candor_io::netlink::LinkWatch;
use candor_netlink::client::Client;

use crate::counters::{BusCounters, RouteCounters};
use crate::ended::Ended;
use crate::error::GatewayError;
use crate::kernel::{self, KernelError, KernelGateway};
use crate::latency::MeasureLatency;
use crate::notice::Notice;
use crate::owner::Owner;
use crate::placement;
use crate::preflight::{self, Interfaces};
use crate::realtime::{self, Held};
use crate::run_dir::{Entry, OwnedJob, RunDir, RunDirError};
use crate::system_error::SystemError;
use crate::user::{EngineConfig, Ready, UserGateway};
use bus_off::BusOff;
use candor_io::machine::Machine;

/// How soon to look again for what does not announce itself: a module that comes back, a lock that is given up.
const SOON: Duration = Duration::from_secs(1);

/// A running gateway. Ends when it is dropped, also by a panic; [`stop`](Self::stop) says what was done.
#[derive(Debug)]
pub struct Gateway {
    plan: Plan,
    jobs: Arc<[Job]>,
    placement: Placement,
    /// By route: what it had counted under earlier plans; empty if there was none.
    earlier: Vec<RouteCounters>,
    interfaces: Interfaces,
    bus_off: BusOff,
    client: Client,
    watch: LinkWatch,
    /// Whether others know of this process.
    announced: Announced,
    /// Whether the last look failed, and has been told to have.
    check_fails: bool,
    /// What runs the routes of user space, if there are any.
    user_engine: Option<UserEngine>,
    latency: MeasureLatency,
    /// In front of the kernel's part, so that it ends first.
    user: Option<UserGateway>,
    kernel: Option<KernelGateway>,
    /// Until all threads have ended.
    held: Held,
}

/// What others know of this process by the run directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announced {
    /// What it runs.
    Now,
    /// Nothing: this user has no place to say it.
    Never,
    /// What it ran before an interface got another number.
    Once,
}

impl Gateway {
    /// As [`start_with`](Self::start_with), with all that there is to tell at the end.
    ///
    /// # Errors
    /// [`GatewayError`] with the reason and what to type.
    pub fn start(plan: Plan) -> Result<(Self, Vec<Notice>), GatewayError> {
        let mut notices = Vec::new();
        let gateway = Self::start_with(plan, MeasureLatency::No, &mut |notice| notices.push(notice))?;
        Ok((gateway, notices))
    }

    /// Starts the engine that the plan names, or both, each with the routes that are its own; nothing is left behind if
    /// one of them cannot start.
    ///
    /// Waits some seconds for another candor that is starting, or until an ending signal that is blocked has come. The
    /// read-write engine interrupts its threads by SIGUSR2.
    ///
    /// # Errors
    /// [`GatewayError`] with the reason and what to type.
    pub fn start_with(
        plan: Plan,
        latency: MeasureLatency,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, GatewayError> {
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
        let for_user = of_side(&jobs, &placement, Side::User);
        let user_engine = if for_user.is_empty() {
            None
        } else {
            preflight::can_raw_is_there()?;
            Some(placement::user_engine(&plan)?)
        };

        if latency == MeasureLatency::Yes && !user_engine.is_some_and(|engine| engine.receiver().has_stamps()) {
            notify(Notice::NoLatency { engine: user_engine });
        }

        // What the machine refuses is known before anything is changed.
        let held = Held::take(plan.realtime(), user_engine.is_some())?;
        let hazard =
            user_engine.and_then(|engine| realtime::hazards(plan.realtime(), engine, &for_user, &Machine::here()));
        hazard.into_iter().for_each(&mut *notify);

        // Held until both parts run, so that no other candor gets in between.
        let mut run_dir =
            if for_kernel.is_empty() { RunDir::open_where_possible(notify)? } else { Some(RunDir::open(notify)?) };
        let owned = owned(&plan, &jobs, &placement, &interfaces);
        if let Some(run_dir) = &run_dir {
            run_dir.refuse_twins(&owned, None)?;
            if let Some((route, other)) = run_dir.first_circle(&owned, None) {
                notify(Notice::MayCircle { route, other });
            }
        }
        // The kernel's part comes first: it takes away the jobs of dead candors, which may be for routes that are in user
        // space by now and would double their frames. No route is on both sides, so a frame that comes between the two
        // starts is forwarded by the routes that run already, and for the others it came too early. From its first frame
        // on no route loses any. What can be known to fail in user space was looked at above; if it fails nevertheless,
        // dropping the kernel's part takes its jobs out again.
        if let (Some(run_dir), true) = (&mut run_dir, for_kernel.is_empty()) {
            kernel::remove_leftovers(run_dir, notify)?;
        }
        let entry = run_dir.as_ref().map(|run_dir| run_dir.announce(plan.engine(), owned)).transpose()?;
        let announced = if entry.is_some() { Announced::Now } else { Announced::Never };
        let (kernel, entry) = match (&mut run_dir, entry) {
            (Some(run_dir), Some(entry)) if !for_kernel.is_empty() => {
                (Some(KernelGateway::start(&plan, &for_kernel, &interfaces, run_dir, entry, notify)?), None)
            }
            (_, entry) => (None, entry),
        };
        let user = user_engine.map(|engine| {
            let for_user = shared(&jobs, &for_user);
            UserGateway::open(&plan, EngineConfig::new(engine, latency), for_user, &interfaces, entry)
        });
        let user = user.transpose()?.map(Ready::begin);
        drop(run_dir);
        Ok(Self {
            earlier: Vec::new(),
            plan,
            jobs,
            placement,
            interfaces,
            bus_off: BusOff::default(),
            client,
            watch,
            announced,
            check_fails: false,
            user_engine,
            latency,
            user,
            kernel,
            held,
        })
    }

    /// What it runs.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The jobs of the plan, in the order of its routes.
    #[must_use]
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Where each route runs, and why.
    #[must_use]
    pub const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The engine that runs the routes of user space; `None` if there are none.
    #[must_use]
    pub const fn user_engine(&self) -> Option<UserEngine> {
        self.user_engine
    }

    /// Looks whether all is well and mends what can be mended: routes of interfaces that come back go on, jobs that
    /// somebody deleted are put back. To be called now and then, and whenever the process is nudged
    /// ([`candor_io::signal`]): the gateway does that when an interface changes or a thread ends.
    ///
    /// # Errors
    /// [`GatewayError`] if the gateway cannot go on: somebody deletes its jobs again and again, a thread failed.
    pub fn check(&mut self) -> Result<Vec<Notice>, GatewayError> {
        self.watch.drain();
        let mut notices = Vec::new();
        match self.check_kernel(&mut notices) {
            Ok(()) => self.check_fails = false,
            // Forwarding does not depend on looking.
            Err(error) if error.is_temporary() => {
                let told_already = std::mem::replace(&mut self.check_fails, true);
                notices.extend((!told_already).then(|| Notice::CheckFailed { why: in_full(&error) }));
            }
            Err(error) => return Err(error),
        }
        if let Some(user) = &mut self.user {
            notices.extend(user.check(&self.interfaces)?);
        }
        Ok(notices)
    }

    /// Looks at jobs and interfaces and mends the kernel's part.
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
            // Others know of the jobs before the first is added, as at the start.
            let is_announced = self.announced != Announced::Once;
            kernel.mend(&self.plan, is_there, &self.interfaces, is_announced, Instant::now(), notices)?;
        }
        Ok(())
    }

    /// Tells others what this process runs now that interfaces have other numbers. If somebody holds the run directory, or
    /// the process is to end, it is tried again at the next look.
    fn keep_announced(&mut self, moved: bool) -> Result<(), GatewayError> {
        match (self.announced, moved) {
            (Announced::Never, _) | (Announced::Now, false) => return Ok(()),
            (Announced::Now, true) | (Announced::Once, _) => self.announced = Announced::Once,
        }
        // Odd files were told of at the start.
        let notify = &mut |_notice| {};
        let run_dir =
            if self.kernel.is_some() { RunDir::open(notify).map(Some) } else { RunDir::open_where_possible(notify) };
        let run_dir = match run_dir {
            Ok(Some(run_dir)) => run_dir,
            Ok(None) | Err(RunDirError::Interrupted | RunDirError::Locked { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let owned = owned(&self.plan, &self.jobs, &self.placement, &self.interfaces);
        // Somebody may have started when the interface came back, before this process could say that it waits for it. Of
        // two that forward the same frames one has to end.
        let me = Owner::Process { pid: std::process::id(), engine: self.plan.engine() };
        run_dir.refuse_twins(&owned, Some(&me))?;
        let entry: Entry = run_dir.announce(self.plan.engine(), owned)?;
        match (&mut self.kernel, &mut self.user) {
            (Some(kernel), _) => kernel.announce(entry),
            (None, Some(user)) => user.announce(entry),
            (None, None) => entry.forget(),
        }
        self.announced = Announced::Now;
        Ok(())
    }

    /// How soon to look again although nobody nudges; `None` while nothing is waited for that would not announce itself.
    #[must_use]
    pub fn check_within(&self) -> Option<Duration> {
        let waits = self.check_fails
            || self.announced == Announced::Once
            || self.kernel.as_ref().is_some_and(KernelGateway::waits);
        waits.then_some(SOON).into_iter().chain(self.bus_off.due_within(Instant::now())).min()
    }

    /// What every route had counted at the last [`check`](Self::check) since the start, in the order of the plan. The
    /// read-write engine counts up to now.
    #[must_use]
    pub fn counters(&self) -> Vec<RouteCounters> {
        let kernel = self.kernel.as_ref().map(KernelGateway::counters);
        let user = self.user.as_ref().map(UserGateway::counters);
        self.by_route(kernel, user)
    }

    /// What has come to and gone from every bus that user space uses, in the order of the plan.
    #[must_use]
    pub fn buses(&self) -> Vec<BusCounters> {
        self.user.as_ref().map(|user| user.buses(&self.plan, &self.interfaces)).unwrap_or_default()
    }

    /// Ends the gateway and takes its jobs out of the kernel.
    ///
    /// # Errors
    /// [`GatewayError`] if jobs could not be removed or a thread had failed.
    pub fn stop(mut self) -> Result<Ended, GatewayError> {
        let user = self.user.take().map(|user| user.stop(&self.plan, &self.interfaces));
        // The jobs are removed also if a thread failed.
        let kernel = self.kernel.take().map(|kernel| kernel.stop(&self.plan)).transpose()?;
        let user = user.transpose()?;
        let (kernel, removed) = kernel.unzip();
        let (user, threads) = user.unzip();
        let counters = self.by_route(kernel, user);
        let (removed, threads) = (removed.unwrap_or_default(), threads.unwrap_or_default());
        let named = self.plan.routes().iter().zip(&counters);
        let wrong =
            named.filter_map(|(route, counted)| counted.contradiction(&route.name).map(Notice::CountersInconsistent));
        let notices = threads.notices.into_iter().chain(wrong).collect();
        Ok(Ended { counters, buses: threads.buses, notices, ..removed })
    }

    /// Adds up what the jobs of each route have counted; each side counts in the order of the plan.
    fn by_route(&self, kernel: Option<Vec<RouteCounters>>, user: Option<Vec<RouteCounters>>) -> Vec<RouteCounters> {
        let mut by_route = self.earlier.clone();
        by_route.resize(self.plan.routes().len(), RouteCounters::default());
        let (mut kernel, mut user) = (kernel.unwrap_or_default().into_iter(), user.unwrap_or_default().into_iter());
        for job in self.jobs.iter() {
            let counted = match self.placement.side(job.route) {
                Side::Kernel => kernel.next(),
                Side::User => user.next(),
            };
            by_route[job.route.0] += counted.unwrap_or_default();
        }
        by_route
    }
}

/// How many frames all routes to a bus have handed over.
fn handed_over(plan: &Plan, counters: &[RouteCounters], bus: BusIndex) -> u64 {
    plan.routes().iter().zip(counters).filter(|(route, _)| route.to == bus).map(|(_, counted)| counted.handled).sum()
}

/// The jobs of one side, in the order of the plan.
fn of_side<'a>(jobs: &'a [Job], placement: &Placement, side: Side) -> Vec<&'a Job> {
    jobs.iter().filter(|job| placement.side(job.route) == side).collect()
}

/// Some of the jobs, for a part that keeps them. All of them are kept once: a rule has half a kilobyte.
fn shared(all: &Arc<[Job]>, some: &[&Job]) -> Arc<[Job]> {
    if some.len() == all.len() { Arc::clone(all) } else { some.iter().copied().cloned().collect() }
}

/// The jobs as others are told of them.
fn owned(plan: &Plan, jobs: &[Job], placement: &Placement, interfaces: &Interfaces) -> Vec<OwnedJob> {
    OwnedJob::list(plan, interfaces, jobs, |job| placement.side(job.route))
}
