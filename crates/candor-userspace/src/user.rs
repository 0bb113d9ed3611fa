//! User-space engines: all receiver and sender pairs of the 2014 report, and newer ones.
//!
//! ```text
//!  one thread for each bus that frames come from:
//!
//!   Receive ─▶ RuleSet ─▶ Outlets ─ a queue and a sender for each bus that its routes lead to
//!   receive/   program     outlets   send/
//! ```
//!
//! The pair is chosen once (`start.rs`); from then on a frame costs no dynamic dispatch.
//!
//! Differences from can-gw: hops and timestamps are not preserved, a slow moment loses frames in the receive buffer
//! ([`Notice::ReceiveOverflow`]), and CAN_RAW receivers get frames after the kernel's own listeners.
//!
//! If an interface disappears, its sockets stay open but carry no traffic: frames to it are dropped, and all other
//! routes continue. When an interface of that name appears again, the supervisor replaces the socket and the threads
//! reopen their own; so nothing is looked up or locked for a frame.

mod accounting;
mod age;
mod config;
mod count;
mod disposition;
mod error;
mod exchange;
mod filters;
mod outlets;
mod port;
mod program;
mod queue;
mod queued;
mod receive;
mod reload;
mod send;
mod start;
mod thread;
mod wanted;
mod worker;

pub use config::EngineConfig;
pub use count::Count;
pub use disposition::Disposition;
pub use error::UserError;
pub use port::{ErrnoSet, is_gone, is_passing, not_of_this_process};
pub use reload::{Prepared, Replaced};

use std::sync::Arc;

use candor_config::plan::{BusIndex, Plan};
use candor_core::job::Job;
use candor_io::signal;

use crate::counters::{BusCounters, RouteCounters};
use crate::ended::Ended;
use crate::notice::Notice;
use crate::preflight::Interfaces;
use crate::realtime::ForThreads;
use crate::run_dir::Entry;
use crate::system_error::SystemError;
use accounting::JobSums;
use port::Port;
use program::Program;
use start::ThreadSpec;
use thread::{Gated, Thread};
use worker::Orders;

/// Forwarding threads, which end when this is dropped.
#[derive(Debug)]
pub struct UserGateway {
    config: EngineConfig,
    program: Arc<Program>,
    jobs: Arc<[Job]>,
    orders: Arc<Orders>,
    threads: Vec<Thread>,
    for_threads: ForThreads,
    /// The ownership record of this process; `None` if the kernel part holds it, or if there is no usable run
    /// directory.
    entry: Option<Entry>,
}

/// A gateway whose threads wait for the start.
#[derive(Debug)]
pub struct Ready {
    gated: Gated,
    gateway: UserGateway,
}

impl Ready {
    pub fn begin(self) -> UserGateway {
        let Self { gated, mut gateway } = self;
        gateway.threads = gated.begin();
        gateway
    }
}

impl UserGateway {
    /// Opens sockets and threads for jobs that no other candor runs, which was checked; `entry` records them.
    pub fn open(
        plan: &Plan,
        config: EngineConfig,
        jobs: Arc<[Job]>,
        interfaces: &Interfaces,
        entry: Option<Entry>,
    ) -> Result<Ready, UserError> {
        let program = Self::first_program(plan, config, &jobs, interfaces);
        let program = Arc::new(program.inspect_err(|_error| entry.iter().for_each(Entry::forget))?);
        let orders = Arc::new(Orders::default());
        // From here on, dropping the value removes the ownership record.
        let for_threads = ForThreads::of(plan.realtime());
        let gateway = Self { config, program, jobs, orders, threads: Vec::new(), for_threads, entry };
        let sources: Vec<BusIndex> = gateway.program.sources().collect();
        let gated = gateway.start(&gateway.program, &sources)?;
        Ok(Ready { gated, gateway })
    }

    fn first_program(
        plan: &Plan,
        config: EngineConfig,
        jobs: &[Job],
        interfaces: &Interfaces,
    ) -> Result<Program, UserError> {
        signal::allow_wake_ups().map_err(SystemError::while_doing("Setting the handler of SIGUSR2"))?;
        let open = |bus| Port::open(plan, config, bus, jobs, interfaces).map(Arc::new);
        let ports = used_buses(plan, jobs).map(|bus| bus.map(open).transpose());
        Ok(Program::new(plan, jobs, ports.collect::<Result<_, _>>()?, config.latency))
    }

    /// Starts threads for these source buses, which wait at the gate.
    fn start(&self, program: &Arc<Program>, sources: &[BusIndex]) -> Result<Gated, UserError> {
        start::start(
            self.config.engine,
            &ThreadSpec { orders: &self.orders, for_threads: &self.for_threads, program, sources },
        )
    }

    pub fn announce(&mut self, entry: Entry) {
        self.entry.replace(entry).iter().for_each(Entry::forget);
    }

    /// Drops the ownership record, which another part now holds.
    pub fn forget_entry(&mut self) {
        self.entry.take().iter().for_each(Entry::forget);
    }

    /// Detects ended threads, and rebinds sockets of interfaces that came back.
    pub fn check(&mut self, interfaces: &Interfaces) -> Result<Vec<Notice>, UserError> {
        for thread in &mut self.threads {
            if thread.state.has_ended() {
                thread.join()?;
            }
        }
        // Before sockets are replaced, because each has its own drop counter.
        let notices = self.notices(interfaces);
        let mut moved = false;
        for (bus, port) in self.program.used_ports() {
            moved |= port.follow(interfaces.present(bus))?;
        }
        if moved {
            self.sync_threads()?;
        }
        Ok(notices)
    }

    fn notices(&self, interfaces: &Interfaces) -> Vec<Notice> {
        self.program.used_ports().flat_map(|(bus, port)| port.notices(&interfaces.link(bus).name)).collect()
    }

    /// By job, in plan order.
    pub fn counters(&self) -> Vec<RouteCounters> {
        self.program.read()
    }

    /// By used bus, in plan order.
    pub fn buses(&self, plan: &Plan, interfaces: &Interfaces) -> Vec<BusCounters> {
        let by_job = self.counters();
        let of_bus = |(bus, port): (BusIndex, &Arc<Port>)| {
            port.accounting.count_socket(&port.socket);
            let jobs = port.accounting.with_earlier(self.job_sums(bus, &by_job));
            let name = plan.bus(bus).name.clone();
            port.accounting.read().counters(name, interfaces.link(bus).name.clone(), jobs)
        };
        self.program.used_ports().map(of_bus).collect()
    }

    /// Sums over the jobs that begin or end at a bus.
    fn job_sums(&self, bus: BusIndex, by_job: &[RouteCounters]) -> JobSums {
        let mut sum = JobSums::default();
        for (job, counted) in self.jobs.iter().zip(by_job) {
            if job.from == bus {
                sum.matches += counted.matched.unwrap_or_default() + counted.deleted;
            }
            if job.to == bus {
                sum.sent += counted.handled;
                sum.refused += counted.dropped;
            }
        }
        sum
    }

    /// Final counters by job, and by bus.
    pub fn stop(mut self, plan: &Plan, interfaces: &Interfaces) -> Result<(Vec<RouteCounters>, Ended), UserError> {
        self.end()?;
        let mut notices = self.notices(interfaces);
        let buses = self.buses(plan, interfaces);
        notices.extend(buses.iter().filter_map(|bus| bus.contradiction().map(Notice::CountersInconsistent)));
        Ok((self.counters(), Ended { buses, notices, ..Ended::default() }))
    }

    /// Ends all threads; returns the first error.
    fn end(&mut self) -> Result<(), UserError> {
        self.orders.end();
        let mut outcome = Ok(());
        for thread in &mut self.threads {
            // All threads are joined, even after an error.
            let ended = thread.join();
            outcome = outcome.and(ended);
        }
        self.forget_entry();
        outcome
    }

    /// Makes all threads execute an order, and waits until each has done so or has ended.
    fn sync_threads(&self) -> Result<(), UserError> {
        let order = self.orders.request_check();
        self.threads.iter().try_for_each(Thread::wake)?;
        self.threads.iter().try_for_each(|thread| thread.has_seen(order))
    }
}

/// By bus of the plan: `Some` if a job uses it.
fn used_buses<'a>(plan: &Plan, jobs: &'a [Job]) -> impl Iterator<Item = Option<BusIndex>> + use<'a> {
    let is_used = |bus: &BusIndex| jobs.iter().any(|job| [job.from, job.to].contains(bus));
    (0..plan.buses().len()).map(move |bus| Some(BusIndex(bus)).filter(is_used))
}

impl Drop for UserGateway {
    fn drop(&mut self) {
        // There is no caller to report an error to.
        let _ = self.end();
    }
}
