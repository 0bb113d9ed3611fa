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
//! (reported as [`Notice::ReceiveOverflow`]), and CAN_RAW receivers get frames after the kernel's own listeners.
//!
//! When an interface goes away, its sockets stay, deaf and dumb: frames to it are dropped, and all other routes go on.
//! When an interface of that name is there again, the supervisor puts a new socket into the place of the old one, and the
//! threads open anew what is their own; so nothing is looked up or locked for a frame.

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

pub(crate) use config::EngineConfig;
pub use error::UserError;
pub(crate) use reload::Prepared;

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

/// Threads that forward frames until this value is gone.
#[derive(Debug)]
pub(crate) struct UserGateway {
    config: EngineConfig,
    program: Arc<Program>,
    /// What the program was made of.
    jobs: Arc<[Job]>,
    orders: Arc<Orders>,
    threads: Vec<Thread>,
    for_threads: ForThreads,
    /// What others know of this process; `None` where the kernel's part has it, or where this user has no place to say it.
    entry: Option<Entry>,
}

/// A gateway whose threads wait for their beginning.
#[derive(Debug)]
pub(crate) struct Ready {
    gated: Gated,
    gateway: UserGateway,
}

impl Ready {
    /// Has frames be forwarded.
    pub(crate) fn begin(self) -> UserGateway {
        let Self { gated, mut gateway } = self;
        gateway.threads = gated.begin();
        gateway
    }
}

impl UserGateway {
    /// Opens and starts what is needed for jobs that nobody else runs: that has been looked at, and `entry` tells others.
    pub(crate) fn open(
        plan: &Plan,
        config: EngineConfig,
        jobs: Arc<[Job]>,
        interfaces: &Interfaces,
        entry: Option<Entry>,
    ) -> Result<Ready, UserError> {
        let program = Self::first_program(plan, config, &jobs, interfaces);
        let program = Arc::new(program.inspect_err(|_error| entry.iter().for_each(Entry::forget))?);
        let orders = Arc::new(Orders::default());
        // From here on dropping the value forgets the entry.
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

    /// Starts threads for these buses of a program, which wait for their beginning.
    fn start(&self, program: &Arc<Program>, sources: &[BusIndex]) -> Result<Gated, UserError> {
        start::start(
            self.config.engine,
            &ThreadSpec { orders: &self.orders, for_threads: &self.for_threads, program, sources },
        )
    }

    /// Has others know of this process by a new entry of the run directory.
    pub(crate) fn announce(&mut self, entry: Entry) {
        self.entry.replace(entry).iter().for_each(Entry::forget);
    }

    /// Somebody else has others know of this process.
    pub(crate) fn forget_entry(&mut self) {
        self.entry.take().iter().for_each(Entry::forget);
    }

    /// Looks for threads that ended, and gives interfaces that came back their sockets.
    pub(crate) fn check(&mut self, interfaces: &Interfaces) -> Result<Vec<Notice>, UserError> {
        for thread in &mut self.threads {
            if thread.state.has_ended() {
                thread.join()?;
            }
        }
        // Before sockets are exchanged, because each counts its own losses.
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

    /// By job, in the order of the plan.
    pub(crate) fn counters(&self) -> Vec<RouteCounters> {
        self.program.read()
    }

    /// By bus that a job uses, in the order of the plan.
    pub(crate) fn buses(&self, plan: &Plan, interfaces: &Interfaces) -> Vec<BusCounters> {
        let by_job = self.counters();
        let of_bus = |(bus, port): (BusIndex, &Arc<Port>)| {
            port.accounting.count_socket(&port.socket);
            let jobs = port.accounting.with_earlier(self.job_sums(bus, &by_job));
            let name = plan.bus(bus).name.clone();
            port.accounting.read().counters(name, interfaces.link(bus).name.clone(), jobs)
        };
        self.program.used_ports().map(of_bus).collect()
    }

    /// What the jobs of this program have counted that begin or end at a bus.
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

    /// The last counters by job and by bus, and how it ended.
    pub(crate) fn stop(
        mut self,
        plan: &Plan,
        interfaces: &Interfaces,
    ) -> Result<(Vec<RouteCounters>, Ended), UserError> {
        self.end()?;
        let mut notices = self.notices(interfaces);
        let buses = self.buses(plan, interfaces);
        notices.extend(buses.iter().filter_map(|bus| bus.contradiction().map(Notice::CountersInconsistent)));
        Ok((self.counters(), Ended { buses, notices, ..Ended::default() }))
    }

    /// Ends all threads; gives the first failure among them.
    fn end(&mut self) -> Result<(), UserError> {
        self.orders.end();
        let mut outcome = Ok(());
        for thread in &mut self.threads {
            // Every thread is joined, also after one that failed.
            let ended = thread.join();
            outcome = outcome.and(ended);
        }
        self.forget_entry();
        outcome
    }

    /// Has all threads look, and waits until each has or has ended.
    fn sync_threads(&self) -> Result<(), UserError> {
        let order = self.orders.request_check();
        self.threads.iter().try_for_each(Thread::wake)?;
        self.threads.iter().try_for_each(|thread| thread.has_seen(order))
    }
}

/// By bus of the plan: itself if a job uses it.
fn used_buses<'a>(plan: &Plan, jobs: &'a [Job]) -> impl Iterator<Item = Option<BusIndex>> + use<'a> {
    let is_used = |bus: &BusIndex| jobs.iter().any(|job| [job.from, job.to].contains(bus));
    (0..plan.buses().len()).map(move |bus| Some(BusIndex(bus)).filter(is_used))
}

impl Drop for UserGateway {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}
