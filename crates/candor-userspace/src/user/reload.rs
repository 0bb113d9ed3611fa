//! Replacing the program of running threads without losing, duplicating or mixing the treatment of frames.
//!
//! First everything that can fail is opened: sockets of new buses, senders, and threads of new sources; filters of
//! remaining sockets are extended to the union of both programs. Then each thread switches between two frames; frames
//! still in a kernel queue are treated by the new program. Finally, what only the old program needed is closed.

use std::sync::Arc;

use candor_config::plan::{BusIndex, Plan};
use candor_core::job::Job;

use super::accounting::JobSums;
use super::error::UserError;
use super::exchange::NextProgram;
use super::port::{Port, Transition};
use super::program::Program;
use super::thread::Gated;
use super::{UserGateway, used_buses};
use crate::counters::{BusCounters, RouteCounters};
use crate::preflight::Interfaces;

/// A program that is ready to start.
#[derive(Debug)]
pub struct Prepared {
    program: Arc<Program>,
    jobs: Arc<[Job]>,
    /// Ports used by both programs.
    staying: Vec<(Arc<Port>, Transition)>,
    new_threads: Gated,
}

/// Final counters of the old program.
#[derive(Debug)]
pub struct Replaced {
    /// By job of the old plan.
    pub jobs: Vec<RouteCounters>,
    /// Buses that are no longer used.
    pub buses: Vec<BusCounters>,
}

impl UserGateway {
    /// Opens everything for the jobs of another plan. Forwarding does not change before [`exchange`](Self::exchange).
    pub fn prepare(&self, plan: &Plan, jobs: Arc<[Job]>, interfaces: &Interfaces) -> Result<Prepared, UserError> {
        let mut staying = Vec::new();
        let outcome = self.prepare_with(plan, &jobs, interfaces, &mut staying);
        match outcome {
            Ok((program, new_threads)) => Ok(Prepared { program, jobs, staying, new_threads }),
            Err(error) => {
                self.take_back(&staying)?;
                Err(error)
            }
        }
    }

    fn prepare_with(
        &self,
        plan: &Plan,
        jobs: &[Job],
        interfaces: &Interfaces,
        staying: &mut Vec<(Arc<Port>, Transition)>,
    ) -> Result<(Arc<Program>, Gated), UserError> {
        let mut ports: Vec<Option<Arc<Port>>> = Vec::new();
        for bus in used_buses(plan, jobs) {
            let port = match bus {
                None => None,
                Some(bus) => Some(self.port_for(plan, bus, jobs, interfaces, staying)?),
            };
            ports.push(port);
        }
        let program = Arc::new(Program::new(plan, jobs, ports.into(), self.config.latency));
        if staying.iter().any(|(_, transition)| transition.widens()) {
            self.sync_threads()?;
            staying.iter().try_for_each(|(port, _)| port.has_followed())?;
        }
        let renewed = staying.iter().filter(|(_, transition)| transition.renews_senders());
        let renewed = renewed.map(|(port, _)| Arc::clone(port)).collect();
        let successors = self.program.successors(&program).into();
        let successor = NextProgram { program: Arc::clone(&program), successors, renewed };
        for thread in &self.threads {
            let old = self.program.bus_of(&thread.port).expect("threads are for ports of the program");
            match program.bus_of(&thread.port).filter(|from| program.sources().any(|source| source == *from)) {
                Some(from) => {
                    let prepared = thread.slot.prepare((&self.program, old), &successor, from);
                    prepared.map_err(|error| thread.port.failed(error))?;
                }
                None => thread.slot.prepare_end(),
            }
        }
        let has_thread =
            |bus: &BusIndex| self.threads.iter().any(|thread| Arc::ptr_eq(&thread.port, program.port(*bus)));
        let new_sources: Vec<_> = program.sources().filter(|bus| !has_thread(bus)).collect();
        let new_threads = self.start(&program, &new_sources)?;
        Ok((program, new_threads))
    }

    /// The existing port on the interface of this bus, or a new one.
    fn port_for(
        &self,
        plan: &Plan,
        bus: BusIndex,
        jobs: &[Job],
        interfaces: &Interfaces,
        staying: &mut Vec<(Arc<Port>, Transition)>,
    ) -> Result<Arc<Port>, UserError> {
        let same = self.program.used_ports().find(|(_, port)| port.index() == interfaces.index(bus));
        let Some((old, port)) = same else {
            return Port::open(plan, self.config, bus, jobs, interfaces).map(Arc::new);
        };
        // The destination does not matter for receiving.
        let earlier = self.jobs.iter().filter(|job| job.from == old);
        let earlier: Vec<Job> = earlier.map(|job| Job { from: bus, ..job.clone() }).collect();
        let transition = port.begin(plan, self.config, bus, jobs, &earlier, interfaces)?;
        staying.push((Arc::clone(port), transition));
        Ok(Arc::clone(port))
    }

    pub fn abandon(&self, prepared: Prepared) -> Result<(), UserError> {
        let Prepared { staying, new_threads, .. } = prepared;
        drop(new_threads);
        self.take_back(&staying)
    }

    fn take_back(&self, staying: &[(Arc<Port>, Transition)]) -> Result<(), UserError> {
        self.threads.iter().for_each(|thread| thread.slot.clear());
        staying.iter().for_each(|(port, transition)| port.take_back(transition));
        if staying.iter().any(|(_, transition)| transition.widens()) {
            self.sync_threads()?;
            // A receiver with too wide a filter is harmless.
            staying.iter().for_each(|(port, _)| drop(port.has_followed()));
        }
        Ok(())
    }

    /// Switches all threads to the prepared program. `plan` and `interfaces` are the old ones.
    ///
    /// # Errors
    /// A thread failed: the gateway cannot continue.
    pub fn exchange(
        &mut self,
        prepared: Prepared,
        plan: &Plan,
        interfaces: &Interfaces,
    ) -> Result<Replaced, UserError> {
        let Prepared { program, jobs, staying, new_threads } = prepared;
        self.sync_threads()?;
        for thread in &mut self.threads {
            if thread.state.has_ended() {
                thread.join()?;
            }
        }
        self.threads.retain(|thread| thread.handle.is_some());
        self.threads.extend(new_threads.begin());

        // No thread uses the old program any more.
        let counted = self.counters();
        for (bus, port) in self.program.used_ports() {
            port.accounting.keep(self.job_sums(bus, &counted));
        }
        let gone = |(_, port): &(BusIndex, &Arc<Port>)| program.bus_of(port).is_none();
        let of_bus = |(bus, port): (BusIndex, &Arc<Port>)| {
            port.accounting.count_socket(&port.socket);
            let job_sums = port.accounting.with_earlier(JobSums::default());
            port.accounting.read().counters(plan.bus(bus).name.clone(), interfaces.link(bus).name.clone(), job_sums)
        };
        let buses = self.program.used_ports().filter(gone).map(of_bus).collect();
        (self.program, self.jobs) = (program, jobs);
        // Closes what the threads returned.
        self.threads.iter().for_each(|thread| thread.slot.clear());
        for (port, transition) in &staying {
            port.settle(transition)?;
        }
        if staying.iter().any(|(_, transition)| transition.narrows()) {
            self.sync_threads()?;
            staying.iter().for_each(|(port, _)| drop(port.has_followed()));
        }
        Ok(Replaced { jobs: counted, buses })
    }
}
