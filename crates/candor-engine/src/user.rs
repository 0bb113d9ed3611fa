//! Gateways in user space: every receiver with every sender of the 2014 report, and newer ones.
//!
//! ```text
//!  one thread for each bus that frames come from:
//!
//!   Receive ─▶ RuleSet ─▶ Outlets ─ a queue and a sender for each bus that its routes lead to
//!   receive/   program     outlets   send/
//! ```
//!
//! The pair is chosen once ([`start`]); from then on a frame costs no dynamic call.
//!
//! Where it differs from can-gw: hops and time stamps are not kept, a slow moment loses frames in the socket's queue
//! (told as [`Notice::ReceiveOverflow`]), and CAN_RAW receivers get frames after the kernel's own listeners.
//!
//! When an interface goes away, its sockets stay, deaf and dumb: frames to it are dropped, and all other routes go on.
//! When an interface of that name is there again, the supervisor puts a new socket into the place of the old one, and the
//! threads open anew what is their own; so nothing is looked up or locked for a frame.

mod age;
mod filters;
mod outlets;
mod port;
mod program;
mod queue;
mod receive;
mod send;
mod start;
mod wanted;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use candor_core::engine::UserEngine;
use candor_core::job::Job;
use candor_core::plan::{BusIndex, Plan};
use candor_io::signal::{self, WakeUp};

use crate::counters::RouteCounters;
use crate::ended::Ended;
use crate::error::GatewayError;
use crate::notice::Notice;
use crate::preflight::Interfaces;
use crate::realtime::ForThreads;
use crate::run_dir::Entry;
use port::Port;
use program::{JobCounts, Program};
use worker::{Orders, State, Stopped};

/// How long to wait between two wake-ups of a thread that is to look.
const WAKE_INTERVAL: Duration = Duration::from_millis(1);

/// Threads that forward frames until this value is gone.
#[derive(Debug)]
pub(crate) struct UserGateway {
    program: Arc<Program>,
    orders: Arc<Orders>,
    threads: Vec<Thread>,
    for_threads: ForThreads,
    /// What others know of this process; `None` where the kernel's part has it, or where this user has no place to say it.
    entry: Option<Entry>,
}

#[derive(Debug)]
struct Thread {
    bus: BusIndex,
    wake_up: WakeUp,
    state: Arc<State>,
    /// `None` after it has been joined.
    handle: Option<JoinHandle<Result<Stopped, GatewayError>>>,
}

impl UserGateway {
    /// Starts the threads for jobs that nobody else runs: that has been looked at, and `entry` tells others.
    pub(crate) fn start(
        plan: &Plan,
        engine: UserEngine,
        jobs: &[&Job],
        interfaces: &Interfaces,
        entry: Option<Entry>,
    ) -> Result<Self, GatewayError> {
        let jobs: Vec<Job> = jobs.iter().copied().cloned().collect();
        let program = Self::prepare(plan, engine, &jobs, interfaces);
        let program = Arc::new(program.inspect_err(|_error| entry.iter().for_each(Entry::forget))?);
        let orders = Arc::new(Orders::default());
        // From here on dropping the value ends the threads that have been started.
        let for_threads = ForThreads::of(plan.realtime());
        let mut gateway = Self { program, orders, threads: Vec::new(), for_threads, entry };
        start::start(engine, &mut gateway)?;
        Ok(gateway)
    }

    fn prepare(
        plan: &Plan,
        engine: UserEngine,
        jobs: &[Job],
        interfaces: &Interfaces,
    ) -> Result<Program, GatewayError> {
        signal::allow_wake_ups()
            .map_err(|source| GatewayError::System { what: "Setting the handler of SIGUSR2", source })?;
        let ports =
            (0..plan.buses().len()).map(|bus| Port::open_if_used(plan, engine, BusIndex(bus), jobs, interfaces));
        Ok(Program::new(plan, jobs, ports.collect::<Result<_, _>>()?))
    }

    /// Has others know of this process by a new entry of the run directory.
    pub(crate) fn announce(&mut self, entry: Entry) {
        self.entry.replace(entry).iter().for_each(Entry::forget);
    }

    /// Looks for threads that ended, and gives interfaces that came back their sockets.
    pub(crate) fn check(&mut self, interfaces: &Interfaces) -> Result<Vec<Notice>, GatewayError> {
        for position in 0..self.threads.len() {
            if self.threads[position].state.has_ended() {
                self.join(position)?;
            }
        }
        // Before sockets are exchanged, because each counts its own losses.
        let notices = self.notices(interfaces);
        let mut moved = false;
        for (bus, port) in self.program.used_ports() {
            moved |= port.follow(interfaces.present(bus))?;
        }
        if moved {
            let order = self.orders.look_again();
            self.have_seen(order)?;
        }
        Ok(notices)
    }

    fn notices(&self, interfaces: &Interfaces) -> Vec<Notice> {
        self.program.used_ports().flat_map(|(bus, port)| port.notices(&interfaces.link(bus).name)).collect()
    }

    /// By job, in the order of the plan.
    pub(crate) fn counters(&self) -> Vec<RouteCounters> {
        self.program.counters.iter().map(JobCounts::read).collect()
    }

    /// The last counters by job, and how it ended.
    pub(crate) fn stop(mut self, interfaces: &Interfaces) -> Result<(Vec<RouteCounters>, Ended), GatewayError> {
        self.end()?;
        Ok((self.counters(), Ended { notices: self.notices(interfaces), ..Ended::default() }))
    }

    /// Ends all threads; gives the first failure among them.
    fn end(&mut self) -> Result<(), GatewayError> {
        self.orders.end();
        let mut outcome = Ok(());
        for position in 0..self.threads.len() {
            // Every thread is joined, also after one that failed.
            let ended = self.join(position);
            outcome = outcome.and(ended);
        }
        if let Some(entry) = self.entry.take() {
            entry.forget();
        }
        outcome
    }

    /// Wakes the threads until each has carried out this order or has ended.
    fn have_seen(&self, order: u32) -> Result<(), GatewayError> {
        for thread in &self.threads {
            // A wake-up just before the thread blocks has no effect, so one is not enough.
            while !thread.state.has_seen(order) && !thread.state.has_ended() {
                thread.wake()?;
                std::thread::sleep(WAKE_INTERVAL);
            }
        }
        Ok(())
    }

    /// Wakes a thread until it ends.
    fn join(&mut self, position: usize) -> Result<(), GatewayError> {
        let thread = &mut self.threads[position];
        let Some(handle) = thread.handle.take() else { return Ok(()) };
        while !handle.is_finished() {
            thread.wake()?;
            std::thread::sleep(WAKE_INTERVAL);
        }
        let panicked = || GatewayError::ThreadPanicked { interface: self.program.port(thread.bus).interface.clone() };
        handle.join().map_err(|_panic| panicked())?.map(|Stopped| ())
    }
}

impl Thread {
    fn wake(&self) -> Result<(), GatewayError> {
        self.wake_up.wake().map_err(|source| GatewayError::System { what: "Waking a thread", source })
    }
}

impl Drop for UserGateway {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}
