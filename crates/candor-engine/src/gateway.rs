//! One front for both engines.

use candor_core::job::{self, Job};
use candor_core::plan::{Engine, Plan};
use candor_io::netlink::LinkWatch;
use candor_netlink::client::Client;

use crate::counters::RouteCounters;
use crate::ended::Ended;
use crate::error::GatewayError;
use crate::kernel::KernelGateway;
use crate::notice::Notice;
use crate::preflight::Interfaces;
use crate::read_write::ReadWriteGateway;

/// A running gateway. Ends when it is dropped, also by a panic; [`stop`](Self::stop) says what was done.
#[derive(Debug)]
pub struct Gateway {
    plan: Plan,
    jobs: Vec<Job>,
    interfaces: Interfaces,
    client: Client,
    watch: LinkWatch,
    engine: Running,
}

#[derive(Debug)]
enum Running {
    Kernel(KernelGateway),
    ReadWrite(ReadWriteGateway),
}

impl Gateway {
    /// As [`start_and_tell`](Self::start_and_tell), with all that there is to tell at the end.
    ///
    /// # Errors
    /// [`GatewayError`] with the reason and what to type.
    pub fn start(plan: Plan) -> Result<(Self, Vec<Notice>), GatewayError> {
        let mut notices = Vec::new();
        let gateway = Self::start_and_tell(plan, &mut |notice| notices.push(notice))?;
        Ok((gateway, notices))
    }

    /// Starts the engine that the plan names; nothing is left behind if it cannot start.
    ///
    /// Waits some seconds for another candor that is starting, or until an ending signal that is blocked has come. The
    /// read-write engine interrupts its threads by SIGUSR2.
    ///
    /// # Errors
    /// [`GatewayError`] with the reason and what to type.
    pub fn start_and_tell(plan: Plan, tell: &mut dyn FnMut(Notice)) -> Result<Self, GatewayError> {
        let mut client = Client::open().map_err(GatewayError::Links)?;
        let watch = LinkWatch::start()
            .map_err(|source| GatewayError::System { what: "Watching the network interfaces", source })?;
        let (interfaces, notices) = Interfaces::find(&mut client, &plan)?;
        notices.into_iter().for_each(&mut *tell);
        let jobs = job::lower(&plan);
        let engine = match plan.engine() {
            Engine::Auto | Engine::Kernel => Running::Kernel(KernelGateway::start(&plan, &jobs, &interfaces, tell)?),
            Engine::ReadWrite => Running::ReadWrite(ReadWriteGateway::start(&plan, &jobs, &interfaces, tell)?),
        };
        Ok(Self { plan, jobs, interfaces, client, watch, engine })
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

    /// Looks whether all is well; to be called now and then, and whenever the process is nudged
    /// ([`candor_io::signal`]): the gateway does that when an interface changes or a thread ends.
    ///
    /// # Errors
    /// [`GatewayError`] if the gateway cannot go on: an interface or the jobs are gone, a thread failed.
    pub fn check(&mut self) -> Result<Vec<Notice>, GatewayError> {
        self.watch.drain();
        let mut notices = self.interfaces.look(&mut self.client, &self.plan)?;
        match &mut self.engine {
            Running::Kernel(engine) => engine.check(&self.plan)?,
            Running::ReadWrite(engine) => notices.extend(engine.check()?),
        }
        Ok(notices)
    }

    /// What every route had counted at the last [`check`](Self::check) since the start, in the order of the plan. The
    /// read-write engine counts up to now.
    #[must_use]
    pub fn counters(&self) -> Vec<RouteCounters> {
        let by_job = match &self.engine {
            Running::Kernel(engine) => engine.counters(),
            Running::ReadWrite(engine) => engine.counters(),
        };
        by_route(&self.plan, &self.jobs, by_job)
    }

    /// Ends the gateway and takes its jobs out of the kernel.
    ///
    /// # Errors
    /// [`GatewayError`] if jobs could not be removed or a thread had failed.
    pub fn stop(self) -> Result<Ended, GatewayError> {
        let (by_job, ended) = match self.engine {
            Running::Kernel(engine) => engine.stop(&self.plan)?,
            Running::ReadWrite(engine) => engine.stop()?,
        };
        Ok(Ended { counters: by_route(&self.plan, &self.jobs, by_job), ..ended })
    }
}

/// Adds up what the jobs of each route have counted.
fn by_route(plan: &Plan, jobs: &[Job], by_job: Vec<RouteCounters>) -> Vec<RouteCounters> {
    let mut by_route = vec![RouteCounters::default(); plan.routes().len()];
    for (job, counters) in jobs.iter().zip(by_job) {
        by_route[job.route.0] += counters;
    }
    by_route
}
