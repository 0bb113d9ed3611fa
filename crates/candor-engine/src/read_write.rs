//! The read-write engine: the papers' simplest user-space gateway.
//!
//! One CAN_RAW socket for each interface, one thread for each bus that frames come from: a blocking `read()`, the
//! compiled rules, a `send()` that never waits for each job that sends. Needs no privilege.
//!
//! Where it differs from can-gw: hops and time stamps are not kept, a slow moment loses frames in the socket's queue
//! (told as [`Notice::ReceiveOverflow`]), and frames reach it only after the kernel's own listeners.
//!
//! When an interface goes away, its socket stays, deaf and dumb: the thread of that bus waits in `read()`, frames to it
//! are dropped, and all other routes go on. When an interface of that name is there again, the supervisor puts a new
//! socket into the place of the old one; the threads never notice, so nothing is looked up or locked for a frame.

mod filters;
mod shared;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use candor_core::job::Job;
use candor_core::plan::{BusIndex, Plan};
use candor_core::ruleset::RuleSet;
use candor_io::signal::{self, WakeUp};

use crate::counters::RouteCounters;
use crate::ended::Ended;
use crate::error::GatewayError;
use crate::notice::Notice;
use crate::preflight::Interfaces;
use crate::run_dir::Entry;
use shared::{Port, Shared};
use worker::Stopped;

/// How long to wait between two wake-ups of a thread that is to end.
const WAKE_INTERVAL: Duration = Duration::from_millis(1);

/// Threads that forward frames until this value is gone.
#[derive(Debug)]
pub(crate) struct ReadWriteGateway {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    /// What others know of this process; `None` where the kernel's part has it, or where this user has no place to say it.
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
    /// Starts the threads for jobs that nobody else runs: that has been looked at, and `entry` tells others.
    pub(crate) fn start(
        plan: &Plan,
        jobs: &[&Job],
        interfaces: &Interfaces,
        entry: Option<Entry>,
    ) -> Result<Self, GatewayError> {
        let jobs: Vec<Job> = jobs.iter().copied().cloned().collect();
        let shared = Self::prepare(plan, &jobs, interfaces);
        let shared = Arc::new(shared.inspect_err(|_error| entry.iter().for_each(Entry::forget))?);
        let sources = (0..plan.buses().len()).map(BusIndex).filter(|bus| jobs.iter().any(|job| job.from == *bus));
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

    fn prepare(plan: &Plan, jobs: &[Job], interfaces: &Interfaces) -> Result<Shared, GatewayError> {
        signal::allow_wake_ups()
            .map_err(|source| GatewayError::System { what: "Setting the handler of SIGUSR2", source })?;
        let ports = (0..plan.buses().len()).map(|bus| Port::open_if_used(plan, BusIndex(bus), jobs, interfaces));
        Ok(Shared::new(RuleSet::compile(jobs, plan.buses().len()), ports.collect::<Result<_, _>>()?, jobs.len()))
    }

    /// Has others know of this process by a new entry of the run directory.
    pub(crate) fn announce(&mut self, entry: Entry) {
        self.entry.replace(entry).iter().for_each(Entry::forget);
    }

    /// Looks for threads that ended, and gives interfaces that came back their sockets.
    pub(crate) fn check(&mut self, interfaces: &Interfaces) -> Result<Vec<Notice>, GatewayError> {
        for position in 0..self.workers.len() {
            if self.workers[position].ended.load(Ordering::Acquire) {
                self.join(position)?;
            }
        }
        // Before sockets are exchanged, because each counts its own losses.
        let notices = self.shared.notices(interfaces);
        for (bus, port) in self.shared.ports() {
            if port.follow(interfaces.present(bus))?
                && let Some(worker) = self.workers.iter().find(|worker| worker.bus == bus)
            {
                // It may wait in a call on the old socket.
                worker.wake_up.wake().map_err(|source| GatewayError::System { what: "Waking a thread", source })?;
            }
        }
        Ok(notices)
    }

    /// By job, in the order of the plan.
    pub(crate) fn counters(&self) -> Vec<RouteCounters> {
        self.shared.counters.iter().map(shared::JobCounts::read).collect()
    }

    /// The last counters by job, and how it ended.
    pub(crate) fn stop(mut self, interfaces: &Interfaces) -> Result<(Vec<RouteCounters>, Ended), GatewayError> {
        self.end()?;
        Ok((self.counters(), Ended { notices: self.shared.notices(interfaces), ..Ended::default() }))
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

impl Drop for ReadWriteGateway {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}
