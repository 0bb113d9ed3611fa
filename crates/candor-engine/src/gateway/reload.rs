//! Switching a running gateway to another plan.

use std::collections::HashMap;
use std::sync::Arc;

use candor_config::engine::UserEngine;
use candor_config::placement::{Placement, Side};
use candor_config::plan::{Plan, RouteIndex};
use candor_core::job::Job;

use super::{Announced, Gateway, composed, for_threads, of_side, owned, shared};
use crate::bpf::{BpfError, BpfGateway};
use crate::composed::{self as frames, ComposedFrames};
use crate::error::GatewayError;
use crate::kernel::KernelGateway;
use crate::placement;
use crate::refused_program::without_refused;
use candor_userspace::counters::{BusCounters, RouteCounters};
use candor_userspace::notice::Notice;
use candor_userspace::owner::Owner;
use candor_userspace::preflight::{self, Interfaces};
use candor_userspace::realtime::Held;
use candor_userspace::run_dir::{Entry, OwnedJob, RunDir};
use candor_userspace::user::{EngineConfig, Prepared, Ready, UserGateway};

#[derive(Debug)]
#[non_exhaustive]
pub enum Reload {
    /// The new plan runs.
    Done(Reloaded),
    /// The old plan continues.
    Refused(GatewayError),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Names of new routes; they count from 0.
    pub new_routes: Vec<String>,
    pub gone_routes: Vec<GoneRoute>,
    /// Buses that user space no longer uses, with final counters.
    pub gone_buses: Vec<BusCounters>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneRoute {
    pub name: String,
    pub counters: RouteCounters,
}

/// A checked plan; nothing is changed yet.
struct Draft {
    plan: Plan,
    jobs: Arc<[Job]>,
    placement: Placement,
    interfaces: Interfaces,
    user_engine: Option<UserEngine>,
    frames: Option<frames::Prepared>,
    run_dir: Option<RunDir>,
    owned: Vec<OwnedJob>,
}

/// The next user-space part.
enum Next {
    /// Running threads switch programs.
    Exchanged(Prepared),
    /// There was none before.
    New(Ready),
    None,
}

impl Gateway {
    /// Switches to another plan. In user space this happens between two frames, and none is lost, duplicated or treated
    /// by a mix of both plans. can-gw cannot exchange several jobs atomically, so a frame between two requests may not
    /// be forwarded.
    ///
    /// Routes that keep their names keep their counters. All checks of the start are repeated. The current mode goes on if the
    /// plan has it, with the time that is left.
    ///
    /// # Errors
    /// The gateway cannot continue, as for [`check`](Self::check). A plan that cannot run here is [`Reload::Refused`].
    pub fn reload(&mut self, plan: Plan, notify: &mut dyn FnMut(Notice)) -> Result<Reload, GatewayError> {
        let (plan, before) = (self.in_current_mode(plan), self.plan.mode().cloned());
        let outcome = self.exchange(plan, notify)?;
        if let Reload::Done(_) = outcome {
            self.mode_goes_on(before.as_ref());
        }
        Ok(outcome)
    }

    /// As [`reload`](Self::reload), with the mode of the plan.
    pub(super) fn exchange(&mut self, mut plan: Plan, notify: &mut dyn FnMut(Notice)) -> Result<Reload, GatewayError> {
        fn program(outcome: &Result<Reload, GatewayError>) -> Option<&BpfError> {
            if let Ok(Reload::Refused(GatewayError::Bpf(error))) = outcome { Some(error) } else { None }
        }
        plan.go_on_from(&self.plan);
        without_refused(&mut plan, notify, program, |plan, notify| self.attempt_reload(plan.clone(), notify))
    }

    fn attempt_reload(&mut self, plan: Plan, notify: &mut dyn FnMut(Notice)) -> Result<Reload, GatewayError> {
        let draft = match self.draw_up(plan, notify) {
            Ok(draft) => draft,
            Err(error) => return Ok(Reload::Refused(error)),
        };
        self.carry_out(draft, notify)
    }

    /// Checks everything that can be known before the first change.
    fn draw_up(&mut self, plan: Plan, notify: &mut dyn FnMut(Notice)) -> Result<Draft, GatewayError> {
        if plan.engine() != self.plan.engine() {
            let (runs, wanted) = (self.plan.engine().name(), plan.engine().name());
            return Err(GatewayError::NeedsRestart {
                what: format!("the engine ({runs} is running, the file has {wanted})"),
            });
        }
        if plan.realtime() != self.plan.realtime() {
            return Err(GatewayError::NeedsRestart { what: "[realtime], which has changed".into() });
        }
        preflight::may_restart(&plan).map_err(|_error| GatewayError::NeedsRestart {
            what: "`restart-after`, because candor dropped the privileges that it needs".into(),
        })?;
        let (interfaces, notices) = self.interfaces.find_again(&mut self.client, &plan)?;
        let mut jobs = candor_config::lower(&plan);
        let placement = placement::place(&plan, &mut jobs, &mut self.client, &interfaces, notify)?;
        let user_engine = match self.user_engine {
            _ if for_threads(&plan, &jobs, &placement).is_empty() => None,
            Some(engine) => Some(engine),
            None => {
                preflight::can_raw_is_there()?;
                Some(placement::user_engine(&plan)?)
            }
        };
        let frames = composed(&plan, &interfaces, self.frames.as_ref())?;
        self.claims.open(&plan, &interfaces)?;
        let has_threads = self.user_engine.is_some() || self.frames.is_some();
        if !has_threads && (user_engine.is_some() || frames.is_some()) {
            self.held = Held::take(plan.realtime(), true)?;
        }
        // Unreadable records and a missing run directory were reported at the start.
        let silent = &mut |_notice| {};
        let run_dir = if !of_side(&jobs, &placement, Side::Kernel).is_empty()
            || !of_side(&jobs, &placement, Side::Bpf).is_empty()
            || self.kernel.is_some()
            || self.bpf.is_some()
        {
            Some(RunDir::open(silent)?)
        } else {
            RunDir::open_where_possible(silent)?
        };
        let owned = owned(&plan, &jobs, &placement, &interfaces);
        if let Some(run_dir) = &run_dir {
            let me = Owner::Process { pid: std::process::id(), engine: self.plan.engine() };
            run_dir.refuse_twins(&owned, Some(&me))?;
            if let Some((route, other)) = run_dir.first_circle(&owned, Some(&me)) {
                notify(Notice::MayCircle { route, other });
            }
        }
        notices.into_iter().for_each(notify);
        let jobs = jobs.into();
        Ok(Draft { plan, jobs, placement, interfaces, user_engine, frames, run_dir, owned })
    }

    fn carry_out(&mut self, draft: Draft, notify: &mut dyn FnMut(Notice)) -> Result<Reload, GatewayError> {
        let Draft { plan, jobs, placement, interfaces, user_engine, frames, mut run_dir, owned } = draft;
        let announce = |run_dir: &Option<RunDir>, jobs: Vec<OwnedJob>| {
            run_dir.as_ref().map(|run_dir| run_dir.announce(plan.engine(), jobs)).transpose()
        };
        // If this process dies now, its successor must know the jobs of both plans.
        let before = super::owned(&self.plan, &self.jobs, &self.placement, &self.interfaces);
        let in_kernel = before.iter().filter(|job| job.side == Side::Kernel);
        let both = owned.iter().chain(in_kernel).cloned().collect();
        let entry = match announce(&run_dir, both) {
            Ok(entry) => entry,
            Err(error) => return Ok(Reload::Refused(error.into())),
        };

        let for_user = for_threads(&plan, &jobs, &placement);
        let next = match (&self.user, user_engine) {
            (_, None) => Ok(Next::None),
            (Some(user), Some(_)) => user.prepare(&plan, shared(&jobs, &for_user), &interfaces).map(Next::Exchanged),
            (None, Some(engine)) => {
                let config = EngineConfig::new(engine, self.latency);
                UserGateway::open(&plan, config, shared(&jobs, &for_user), &interfaces, None).map(Next::New)
            }
        };
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                entry.iter().for_each(Entry::forget);
                return Ok(Reload::Refused(error.into()));
            }
        };
        // Programs and kernel jobs first, because they may be refused; the prepared user-space part cannot be.
        let mut entry = entry;
        let for_bpf = of_side(&jobs, &placement, Side::Bpf);
        let (mut bpf_counted, mut new_bpf) = (None, None);
        let outcome = match &mut self.bpf {
            Some(bpf) => {
                bpf.exchange(&plan, &for_bpf, &interfaces, run_dir.as_ref()).map(|counted| bpf_counted = Some(counted))
            }
            None if !for_bpf.is_empty() => BpfGateway::start(
                &plan,
                &for_bpf,
                &interfaces,
                (run_dir.as_ref(), run_dir.as_ref().and_then(RunDir::me), None),
                self.latency,
                notify,
            )
            .map(|started| new_bpf = Some(started)),
            None => Ok(()),
        };
        if let Err(error) = outcome {
            return self.refuse_reload(error.into(), next, entry.as_ref(), run_dir.is_some());
        }
        let for_kernel = of_side(&jobs, &placement, Side::Kernel);
        let of_kernel: Vec<_> = owned.iter().filter(|job| job.side == Side::Kernel).cloned().collect();
        let (mut kernel_counted, mut new_kernel) = (None, None);
        let outcome = match (&mut self.kernel, run_dir.as_mut()) {
            (Some(kernel), Some(run_dir)) => {
                entry.take().into_iter().for_each(|entry| kernel.announce(entry));
                let exchanged = kernel.exchange(&for_kernel, of_kernel, &interfaces, run_dir, notify);
                exchanged.map(|counted| kernel_counted = Some(counted))
            }
            (None, Some(run_dir)) if !for_kernel.is_empty() => {
                let entry = entry.take().expect("there is a run directory, so there is an entry");
                let started = KernelGateway::start(&plan, &for_kernel, &interfaces, run_dir, entry, notify);
                started.map(|kernel| new_kernel = Some(kernel))
            }
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            if let (Some(bpf), Some(counted)) = (&mut self.bpf, bpf_counted) {
                let before = of_side(&self.jobs, &self.placement, Side::Bpf);
                bpf.exchange_back(&self.plan, &before, &self.interfaces, counted)?;
            }
            return self.refuse_reload(error.into(), next, entry.as_ref(), run_dir.is_some());
        }

        let mut reloaded = Reloaded::default();
        let mut user_counted = None;
        match (self.user.take(), next) {
            (Some(mut user), Next::Exchanged(prepared)) => {
                let replaced = user.exchange(prepared, &self.plan, &self.interfaces)?;
                (user_counted, reloaded.gone_buses) = (Some(replaced.jobs), replaced.buses);
                self.user = Some(user);
            }
            (Some(user), _) => {
                let (counted, ended) = user.stop(&self.plan, &self.interfaces)?;
                ended.notices.into_iter().for_each(&mut *notify);
                (user_counted, reloaded.gone_buses) = (Some(counted), ended.buses);
            }
            (None, Next::New(ready)) => self.user = Some(ready.begin()),
            (None, _) => {}
        }
        let running = self.frames.take();
        let (frames, counted) = match frames {
            Some(prepared) => {
                let (frames, counted) = ComposedFrames::begin(&plan, prepared, running)?;
                (Some(frames), counted)
            }
            None => (None, running.map(ComposedFrames::stop).transpose()?.unwrap_or_default()),
        };
        let (_, timed) = self.split_counters(counted);
        self.frames = frames;
        let counted = self.by_route(kernel_counted, None, user_counted, &timed);
        let earlier = self.plan.routes().iter().map(|route| route.name.clone()).zip(counted);
        let mut earlier: HashMap<String, RouteCounters> = earlier.collect();
        for (route, counted) in bpf_counted.unwrap_or_default() {
            *earlier.entry(route).or_default() += counted;
        }

        if for_bpf.is_empty() {
            self.bpf = None;
        } else if new_bpf.is_some() {
            self.bpf = new_bpf;
        }
        if for_kernel.is_empty() {
            // It has no jobs, so dropping it removes none.
            self.kernel = None;
        } else if new_kernel.is_some() {
            self.kernel = new_kernel;
        }
        self.keep_counters(&plan, &placement, earlier, &mut reloaded);
        let last = announce(&run_dir, owned);
        (self.plan, self.jobs, self.placement) = (plan, jobs, placement);
        (self.interfaces, self.user_engine) = (interfaces, user_engine);
        match last {
            Ok(Some(last)) => {
                entry.iter().for_each(Entry::forget);
                let mut idle = None;
                match (&mut self.kernel, &mut self.bpf, &mut self.user) {
                    (Some(kernel), bpf, user) => {
                        kernel.announce(last);
                        bpf.iter_mut().for_each(BpfGateway::forget_entry);
                        user.iter_mut().for_each(UserGateway::forget_entry);
                    }
                    (None, Some(bpf), user) => {
                        bpf.announce(last);
                        user.iter_mut().for_each(UserGateway::forget_entry);
                    }
                    (None, None, Some(user)) => user.announce(last),
                    (None, None, None) => match &mut self.frames {
                        Some(frames) => frames.announce(last),
                        None => idle = Some(last),
                    },
                }
                self.modes.idle.announce(idle);
                self.announced = Announced::Now;
            }
            Ok(None) => {}
            Err(_tried_again) => self.announced = Announced::Once,
        }
        Ok(Reload::Done(reloaded))
    }

    /// The old plan continues.
    fn refuse_reload(
        &mut self,
        error: GatewayError,
        next: Next,
        entry: Option<&Entry>,
        has_run_dir: bool,
    ) -> Result<Reload, GatewayError> {
        if let (Some(user), Next::Exchanged(prepared)) = (&self.user, next) {
            user.abandon(prepared)?;
        }
        entry.into_iter().for_each(Entry::forget);
        // The record lists more than is installed, until the next check updates it.
        if has_run_dir {
            self.announced = Announced::Once;
        }
        Ok(Reload::Refused(error))
    }

    /// Carries over the counters of remaining routes.
    fn keep_counters(
        &mut self,
        plan: &Plan,
        placement: &Placement,
        mut earlier: HashMap<String, RouteCounters>,
        reloaded: &mut Reloaded,
    ) {
        let mut kept = Vec::new();
        for (at, route) in plan.routes().iter().enumerate() {
            let Some(counters) = earlier.remove(&route.name).or_else(|| self.modes.resting.remove(&route.name)) else {
                reloaded.new_routes.push(route.name.clone());
                kept.push(RouteCounters::default());
                continue;
            };
            kept.push(match placement.side(RouteIndex(at)) {
                // The kernel does not count these.
                Side::Bpf => RouteCounters { matched: None, handled_bytes: None, ..counters },
                Side::Kernel => RouteCounters { matched: None, handled_bytes: None, latencies: None, ..counters },
                Side::User => {
                    let matched = Some(counters.matched.unwrap_or(counters.handled + counters.dropped));
                    RouteCounters { matched, ..counters }
                }
            });
        }
        // In the order of the old plan.
        let gone = self.plan.routes().iter().filter_map(|route| {
            let (name, counters) = earlier.remove_entry(&route.name)?;
            Some(GoneRoute { name, counters })
        });
        reloaded.gone_routes = gone.collect();
        // A mode that is entered again counts on.
        let resting = reloaded.gone_routes.iter().filter(|gone| plan.has_in_a_mode(&gone.name));
        self.modes.resting.extend(resting.map(|gone| (gone.name.clone(), gone.counters.clone())));
        self.modes.resting.retain(|name, _| plan.has_in_a_mode(name));
        self.earlier = kept;
    }
}
