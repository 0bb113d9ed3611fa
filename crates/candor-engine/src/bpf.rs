//! The engine `"bpf"`: routes as eBPF programs of traffic control at the ingress of their interfaces.
//!
//! The programs see a frame before the CAN stack does: before can-gw, before sockets. A copy of it leaves, or the frame itself
//! if its route is exclusive ([`filters`]).
//!
//! # Kernel
//! Linux 7.0 with `CONFIG_NET_CLS_BPF`, `CONFIG_NET_ACT_MIRRED` and `CONFIG_NET_SCH_INGRESS`; CAP_BPF and CAP_NET_ADMIN.

mod error;
mod filters;
mod probe;

pub use error::BpfError;
pub use probe::no_programs;

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use candor_bpf::gateway::{self, Filters, Generation};
use candor_config::plan::{BusIndex, Plan, RouteIndex};
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_egress::netlink::program::{self, Ingress};
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::counters::RouteCounters;
use crate::fights::Fights;
use crate::notice::Notice;
use crate::preflight::Interfaces;
use crate::run_dir::{Entry, OwnedJob, RunDir};
use filters::{Installed, Label, Source, Wanted, is_gone};

const FORMATS: [FrameFormat; 2] = [FrameFormat::Classic, FrameFormat::Fd];

/// Attached programs, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct BpfGateway {
    client: Client,
    /// Jobs of the routes in programs.
    jobs: Vec<Job>,
    /// Names by route of the plan.
    routes: Vec<String>,
    exclusive: Vec<bool>,
    /// Buses whose interfaces also need a place for filters of `[egress]`.
    both_ways: Vec<BusIndex>,
    installed: Vec<Installed>,
    /// The interfaces for which they were made.
    fitted: BTreeMap<BusIndex, InterfaceIndex>,
    /// Counters of filters that are gone, by name of the route.
    past: HashMap<String, RouteCounters>,
    entry: Option<Entry>,
    fights: Fights,
}

/// The programs from one bus.
struct FromBus {
    source: Source,
    /// Of the generation [`Generation::Even`].
    rules: Filters,
    /// Of the generation to attach.
    filters: Filters,
}

impl BpfGateway {
    /// Attaches the programs of these jobs, all or none. Filters of dead processes are replaced or removed. `entry` records the
    /// jobs, unless can-gw's part has it.
    pub(crate) fn start(
        plan: &Plan,
        jobs: &[&Job],
        interfaces: &Interfaces,
        (run_dir, entry): (Option<&RunDir>, Option<Entry>),
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, BpfError> {
        let mut gateway = Self {
            client: Client::open().map_err(BpfError::Netlink)?,
            jobs: Vec::new(),
            routes: Vec::new(),
            exclusive: Vec::new(),
            both_ways: Vec::new(),
            installed: Vec::new(),
            fitted: BTreeMap::new(),
            past: HashMap::new(),
            entry,
            fights: Fights::default(),
        };
        gateway.take(plan, jobs);
        if let Some(run_dir) = run_dir {
            refuse_others(plan, jobs, interfaces, run_dir)?;
        }
        gateway.installed = left_over(&mut gateway.client, run_dir, notify)?;
        gateway.fit(interfaces)?;
        gateway.past.clear();
        Ok(gateway)
    }

    fn take(&mut self, plan: &Plan, jobs: &[&Job]) {
        self.jobs = jobs.iter().copied().cloned().collect();
        self.routes = plan.routes().iter().map(|route| route.name.clone()).collect();
        self.exclusive = plan.routes().iter().map(|route| route.is_exclusive).collect();
        self.both_ways = plan.egress().iter().map(|egress| egress.bus).collect();
    }

    pub(crate) fn announce(&mut self, entry: Entry) {
        if let Some(before) = self.entry.replace(entry) {
            before.forget();
        }
    }

    pub(crate) fn forget_entry(&mut self) {
        if let Some(entry) = self.entry.take() {
            entry.forget();
        }
    }

    /// By route, since the start or the last exchange, as of the last check.
    pub(crate) fn counters(&self) -> Vec<(RouteIndex, RouteCounters)> {
        let mut by_name = self.past.clone();
        add(&mut by_name, &self.installed);
        let named = self.routes.iter().enumerate().map(|(at, name)| (RouteIndex(at), name));
        named.filter_map(|(route, name)| Some((route, by_name.remove(name)?))).collect()
    }

    /// Attaches what is missing: after interfaces have come back, or another program has removed filters. Call it after the
    /// interfaces were refreshed.
    pub(crate) fn mend(
        &mut self,
        interfaces: &Interfaces,
        now: Instant,
        notices: &mut Vec<Notice>,
    ) -> Result<(), BpfError> {
        let mut gone = Vec::new();
        for at in (0..self.installed.len()).rev() {
            if self.installed[at].read(&mut self.client)? {
                continue;
            }
            let interface = self.installed[at].source.interface;
            let name = interfaces.there().find(|(_, link)| link.index == interface).map(|(_, link)| link.name.clone());
            add(&mut self.past, std::slice::from_ref(&self.installed[at]));
            let torn = self.installed.swap_remove(at);
            if let Some(name) = name {
                gone.push(name);
                // What is left of it, with what the next attempt replaces.
                let all = program::attached(&mut self.client, interface).unwrap_or_default();
                self.installed.extend(Installed::left_over(torn.source, &all));
            }
        }
        gone.sort();
        gone.dedup();
        for interface in gone {
            if self.fights.note(now) {
                return Err(BpfError::Contested { interface });
            }
            notices.push(Notice::FiltersPutBack { interface });
            self.fitted.clear();
        }
        // Otherwise nothing has changed since.
        if there(interfaces) == self.fitted { Ok(()) } else { self.fit(interfaces) }
    }

    /// Changes the programs to those of another plan, and returns the final counters of the old ones, by name. After an error
    /// they are as before.
    pub(crate) fn exchange(
        &mut self,
        plan: &Plan,
        jobs: &[&Job],
        interfaces: &Interfaces,
        run_dir: Option<&RunDir>,
    ) -> Result<HashMap<String, RouteCounters>, BpfError> {
        if let Some(run_dir) = run_dir {
            refuse_others(plan, jobs, interfaces, run_dir)?;
        }
        let before = (self.jobs.clone(), self.routes.clone(), self.exclusive.clone(), self.both_ways.clone());
        self.take(plan, jobs);
        if let Err(error) = self.fit(interfaces) {
            (self.jobs, self.routes, self.exclusive, self.both_ways) = before;
            self.fit(interfaces)?;
            return Err(error);
        }
        Ok(std::mem::take(&mut self.past))
    }

    /// Undoes an exchange, which returned these counters.
    pub(crate) fn exchange_back(
        &mut self,
        plan: &Plan,
        jobs: &[&Job],
        interfaces: &Interfaces,
        counted: HashMap<String, RouteCounters>,
    ) -> Result<(), BpfError> {
        let between = self.exchange(plan, jobs, interfaces, None)?;
        self.past = counted;
        between.into_iter().for_each(|(route, counted)| *self.past.entry(route).or_default() += counted);
        Ok(())
    }

    /// Attaches, exchanges and removes filters until they are those of the jobs.
    fn fit(&mut self, interfaces: &Interfaces) -> Result<(), BpfError> {
        let wanted = self.wanted(interfaces)?;
        let buses = there(interfaces);
        self.fitted.clear();
        let mut is_complete = true;
        for FromBus { source, rules, filters } in &wanted {
            let needs_both = self.both_ways.iter().any(|bus| buses.get(bus) == Some(&source.interface));
            let to = |bus: BusIndex| buses.get(&bus).copied().unwrap_or(source.interface);
            let route = |RouteIndex(at): RouteIndex| self.routes[at].clone();
            let ingress = if needs_both { Ingress::Both } else { Ingress::Plain };
            let wanted = Wanted { filters, rules, to: &to, route: &route, pid: std::process::id(), ingress };
            let at = self.installed.iter().position(|installed| installed.source == *source);
            if at.is_some_and(|at| self.installed[at].runs(&wanted)) {
                continue;
            }
            let mut before = at.map(|at| self.installed.swap_remove(at));
            match Installed::exchange(&mut self.client, *source, &mut before, &wanted) {
                Ok(installed) => {
                    add(&mut self.past, before.as_slice());
                    self.installed.push(installed);
                }
                Err(error) => {
                    self.installed.extend(before);
                    // If an interface has gone meanwhile, the next check sees it. A kernel without a classifier says the same.
                    let is_gone = matches!(&error, BpfError::Attach(error) if is_gone(error));
                    if !is_gone || self.are_there(buses.values().copied())? {
                        return Err(error);
                    }
                    is_complete = false;
                }
            }
        }
        for at in (0..self.installed.len()).rev() {
            if wanted.iter().all(|wanted| wanted.source != self.installed[at].source) {
                let gone = self.installed.swap_remove(at).remove(&mut self.client)?;
                add(&mut self.past, gone.as_slice());
            }
        }
        if is_complete {
            self.fitted = buses;
        }
        Ok(())
    }

    /// True if all these interfaces exist now.
    fn are_there(&mut self, mut interfaces: impl Iterator<Item = InterfaceIndex>) -> Result<bool, BpfError> {
        let links = link::list(&mut self.client).map_err(BpfError::List)?;
        Ok(interfaces.all(|index| links.iter().any(|link| link.index == index)))
    }

    /// The filters of the jobs whose interfaces are there.
    fn wanted(&self, interfaces: &Interfaces) -> Result<Vec<FromBus>, BpfError> {
        let there = there(interfaces);
        let is_possible = |job: &&Job| there.contains_key(&job.from) && there.contains_key(&job.to);
        let jobs: Vec<Job> = self.jobs.iter().filter(is_possible).cloned().collect();
        let mut wanted = Vec::new();
        for (from, link) in interfaces.there() {
            for format in FORMATS {
                let source = Source::new(link.index, format);
                let before = self.installed.iter().find(|installed| installed.source == source);
                let generation = Installed::next_generation(before);
                let is_exclusive = |RouteIndex(route): RouteIndex| self.exclusive[route];
                let compile = |generation| {
                    gateway::compile(&jobs, from, format, generation, is_exclusive)
                        .map_err(|source| BpfError::Compile { interface: link.name.clone(), source })
                };
                let rules = compile(Generation::Even)?;
                if !rules.filters.is_empty() {
                    let filters = if generation == Generation::Even { rules.clone() } else { compile(generation)? };
                    wanted.push(FromBus { source, rules, filters });
                }
            }
        }
        Ok(wanted)
    }

    /// Removes the programs. Final counters by route, and the number of removed filters.
    pub(crate) fn stop(mut self) -> Result<(Vec<(RouteIndex, RouteCounters)>, usize), BpfError> {
        let removed = self.installed.iter().map(Installed::len).sum();
        for installed in std::mem::take(&mut self.installed) {
            let gone = installed.remove(&mut self.client)?;
            add(&mut self.past, gone.as_slice());
        }
        Ok((self.counters(), removed))
    }
}

impl Drop for BpfGateway {
    fn drop(&mut self) {
        for installed in std::mem::take(&mut self.installed) {
            // The next candor run removes what is left.
            let _ = installed.remove(&mut self.client);
        }
        self.forget_entry();
    }
}

/// The interfaces that exist, by bus.
fn there(interfaces: &Interfaces) -> BTreeMap<BusIndex, InterfaceIndex> {
    interfaces.there().map(|(bus, link)| (bus, link.index)).collect()
}

fn add(sum: &mut HashMap<String, RouteCounters>, installed: &[Installed]) {
    for (route, counted) in installed.iter().flat_map(Installed::counters) {
        *sum.entry(route.to_owned()).or_default() += counted;
    }
}

/// Fails if another candor has programs on one of the interfaces that frames come from.
fn refuse_others(plan: &Plan, jobs: &[&Job], interfaces: &Interfaces, run_dir: &RunDir) -> Result<(), BpfError> {
    for other in run_dir.others(None).filter(|other| other.pid() != Some(std::process::id())) {
        let busy = jobs.iter().find(|job| {
            let name = &interfaces.link(job.from).name;
            other.all_jobs().any(|owned| owned.is_bpf() && owned.from == *name)
        });
        if let Some(job) = busy {
            let interface = plan.bus(job.from).interface.clone();
            return Err(BpfError::Busy { interface, owner: other.owner.clone() });
        }
    }
    Ok(())
}

/// Filters of processes that are gone.
fn left_over(
    client: &mut Client,
    run_dir: Option<&RunDir>,
    notify: &mut dyn FnMut(Notice),
) -> Result<Vec<Installed>, BpfError> {
    let mut found = Vec::new();
    for link in link::list(client).map_err(BpfError::List)?.into_iter().filter(|link| link.can.is_some()) {
        let all = program::attached(client, link.index).map_err(BpfError::List)?;
        let owners = run_dir.into_iter().flat_map(|run_dir| run_dir.others(None));
        let is_owned =
            owners.flat_map(|owner| owner.all_jobs()).any(|job: &OwnedJob| job.is_bpf() && job.from == link.name);
        if is_owned {
            continue;
        }
        for format in FORMATS {
            let source = Source::new(link.index, format);
            let Some(installed) = Installed::left_over(source, &all) else { continue };
            let pid = source.ours(&all).find_map(|found| Label::of(&found.name)).map_or(0, |label| label.pid);
            notify(Notice::LeftoverFilters { filters: installed.len(), interface: link.name.clone(), pid });
            found.push(installed);
        }
    }
    Ok(found)
}

/// Removes filters of processes that are gone, and returns their number; for a gateway without programs. Leaves them if this
/// process may not remove them.
pub(crate) fn remove_leftovers(run_dir: Option<&RunDir>, notify: &mut dyn FnMut(Notice)) -> Result<usize, BpfError> {
    let mut client = Client::open().map_err(BpfError::Netlink)?;
    let mut removed = 0;
    for installed in left_over(&mut client, run_dir, notify)? {
        let (interface, filters) = (installed.source.interface, installed.len());
        match installed.remove(&mut client) {
            Err(error) if error.is_privilege() => {
                let name = link::list(&mut client).map_err(BpfError::List)?.into_iter();
                let name = name.filter(|link| link.index == interface).map(|link| link.name).collect();
                notify(Notice::FiltersStay { interface: name });
            }
            result => {
                result?;
                removed += filters;
            }
        }
    }
    Ok(removed)
}
