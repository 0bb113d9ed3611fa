//! The read-write engine: the papers' simplest user-space gateway.
//!
//! One CAN_RAW socket for each interface, one thread for each bus that frames come from: a blocking `read()`, the
//! compiled rules, a `send()` that never waits for each job that sends. Needs no privilege.
//!
//! Where it differs from can-gw: hops and time stamps are not kept, a slow moment loses frames in the socket's queue
//! (told as [`Notice::ReceiveOverflow`]), and frames reach it only after the kernel's own listeners.

mod filters;
mod shared;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use candor_core::job::Job;
use candor_core::placement::Side;
use candor_core::plan::{BusIndex, Engine, Plan};
use candor_core::ruleset::RuleSet;
use candor_io::signal::{self, WakeUp};

use crate::counters::RouteCounters;
use crate::ended::Ended;
use crate::error::GatewayError;
use crate::notice::Notice;
use crate::preflight::{self, Interfaces};
use crate::run_dir::{Entry, OwnedJob, RunDir};
use shared::{Port, Shared};
use worker::Stopped;

/// How long to wait between two wake-ups of a thread that is to end.
const WAKE_INTERVAL: Duration = Duration::from_millis(1);

/// Threads that forward frames until this value is gone.
#[derive(Debug)]
pub(crate) struct ReadWriteGateway {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    /// What others know of this process; `None` where this user has no place to say it.
    entry: Option<Entry>,
}

#[derive(Debug)]
struct Worker {
    bus: BusIndex,
    wake_up: WakeUp,
    /// Set by the thread just before it is gone.
    ended: Arc<AtomicBool>,
    /// `None` after it has been joined.
    thread: Option<JoinHandle<Result<Stopped, GatewayError>>>,
}

impl ReadWriteGateway {
    pub(crate) fn start(
        plan: &Plan,
        jobs: &[Job],
        interfaces: &Interfaces,
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Self, GatewayError> {
        preflight::read_write_can_do(plan, jobs)?;
        signal::allow_wake_ups()
            .map_err(|source| GatewayError::System { what: "Setting the handler of SIGUSR2", source })?;
        let ports = (0..plan.buses().len()).map(|bus| Port::open_if_used(plan, BusIndex(bus), jobs, interfaces));
        let shared = Arc::new(Shared::new(
            RuleSet::compile(jobs, plan.buses().len()),
            ports.collect::<Result<_, _>>()?,
            jobs.len(),
        ));
        let sources = (0..plan.buses().len()).map(BusIndex).filter(|bus| jobs.iter().any(|job| job.from == *bus));
        let entry = announce(plan, jobs, interfaces, tell)?;
        // From here on dropping the value ends the threads that have been started.
        let mut gateway = Self { shared, workers: Vec::new(), entry };
        for bus in sources {
            let wake_up = WakeUp::new();
            let ended = Arc::new(AtomicBool::new(false));
            let (shared, target, tells_end) = (Arc::clone(&gateway.shared), wake_up.clone(), Arc::clone(&ended));
            let thread = std::thread::Builder::new()
                .name(format!("route-{}", interfaces.link(bus).name))
                .spawn(move || worker::run(&shared, bus, &target, &tells_end))
                .map_err(|source| GatewayError::System { what: "Starting a thread", source })?;
            gateway.workers.push(Worker { bus, wake_up, ended, thread: Some(thread) });
        }
        Ok(gateway)
    }

    pub(crate) fn check(&mut self) -> Result<Vec<Notice>, GatewayError> {
        for position in 0..self.workers.len() {
            if self.workers[position].ended.load(Ordering::Acquire) {
                self.join(position)?;
            }
        }
        Ok(self.shared.notices())
    }

    /// By job, in the order of the plan.
    pub(crate) fn counters(&self) -> Vec<RouteCounters> {
        self.shared.counters.iter().map(shared::JobCounts::read).collect()
    }

    /// The last counters by job, and how it ended.
    pub(crate) fn stop(mut self) -> Result<(Vec<RouteCounters>, Ended), GatewayError> {
        self.end()?;
        Ok((self.counters(), Ended { notices: self.shared.notices(), ..Ended::default() }))
    }

    /// Ends all threads; gives the first failure among them.
    fn end(&mut self) -> Result<(), GatewayError> {
        self.shared.stop.store(true, Ordering::Release);
        let mut outcome = Ok(());
        for position in 0..self.workers.len() {
            // Every thread is joined, also after one that failed.
            let ended = self.join(position);
            outcome = outcome.and(ended);
        }
        if let Some(entry) = self.entry.take() {
            entry.forget();
        }
        outcome
    }

    /// Wakes a thread until it ends.
    fn join(&mut self, position: usize) -> Result<(), GatewayError> {
        let worker = &mut self.workers[position];
        let Some(thread) = worker.thread.take() else { return Ok(()) };
        while !thread.is_finished() {
            worker.wake_up.wake().map_err(|source| GatewayError::System { what: "Waking a thread", source })?;
            std::thread::sleep(WAKE_INTERVAL);
        }
        let panicked = || GatewayError::ThreadPanicked { interface: self.shared.port(worker.bus).interface.clone() };
        thread.join().map_err(|_panic| panicked())?.map(|Stopped| ())
    }
}

/// Makes sure that nobody else runs the same and tells others that this process does.
///
/// The kernel hides from a socket only what this very socket sent: two processes with the same routes in both
/// directions would forward each other's frames for ever.
fn announce(
    plan: &Plan,
    jobs: &[Job],
    interfaces: &Interfaces,
    tell: &mut dyn FnMut(Notice),
) -> Result<Option<Entry>, GatewayError> {
    let Some(run_dir) = RunDir::open_where_possible(tell)? else { return Ok(None) };
    let wanted = OwnedJob::list(plan, interfaces, jobs, |_job| Side::User);
    run_dir.refuse_twins(&wanted, None)?;
    if let Some((route, other)) = run_dir.first_circle(&wanted, None) {
        tell(Notice::MayCircle { route, other });
    }
    run_dir.announce(Engine::ReadWrite, wanted).map(Some)
}

impl Drop for ReadWriteGateway {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}
