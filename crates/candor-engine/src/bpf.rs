//! The engine `"bpf"`: routes as eBPF programs of traffic control at the ingress of their interfaces.
//!
//! The programs see a frame before the CAN stack does: before can-gw, before sockets. A copy of it leaves, or the frame itself
//! if its route is exclusive ([`filters`]).
//!
//! # Kernel
//! Linux 7.0 with `CONFIG_NET_CLS_BPF`, `CONFIG_NET_ACT_MIRRED` and `CONFIG_NET_SCH_INGRESS`; CAP_BPF and CAP_NET_ADMIN.

mod error;
mod filters;
mod label;
mod listeners;
mod load;
mod present;
mod probe;

pub use error::BpfError;
pub(crate) use listeners::deaf;
pub use listeners::deaf_sockets;
pub(crate) use present::{InProgram, remove_of, routes_on};
pub use probe::no_programs;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use candor_bpf::gateway::{self, Action, Filters, Generation, How, Kind};
use candor_config::plan::{BusIndex, Plan, RouteIndex};
use candor_core::job::Job;
use candor_egress::netlink::program::{self, Ingress};
use candor_io::can::{CanSocket, InterfaceIndex, Options, Stamps};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::fights::Fights;
use candor_userspace::counters::RouteCounters;
use candor_userspace::latency::{LATENCY_BOUNDS, MeasureLatency};
use candor_userspace::notice::Notice;
use candor_userspace::owner::Owner;
use candor_userspace::preflight::Interfaces;
use candor_userspace::run_dir::{Entry, RunDir};
use filters::{Installed, Prepared, Source, Wanted, is_gone};
use label::Digest;
use load::OwnCounter;
use present::{add, on};

/// Attached programs, removed when this is dropped, unless they are those of an applied file.
#[derive(Debug)]
pub(crate) struct BpfGateway {
    client: Client,
    /// The process with which the programs end; `None` for those of an applied file, which stay.
    process: Option<u32>,
    /// Jobs of the routes in programs.
    jobs: Vec<Job>,
    /// Names by route of the plan.
    routes: Vec<String>,
    exclusive: Vec<bool>,
    /// Buses whose interfaces also need a place for filters of `[egress]`.
    both_ways: Vec<BusIndex>,
    installed: Vec<Installed>,
    own_counters: Vec<OwnCounter>,
    /// The interfaces for which they were made.
    fitted: Ends,
    /// Counters of filters that are gone, by name of the route.
    past: HashMap<String, RouteCounters>,
    entry: Option<Entry>,
    fights: Fights,
    /// Frames that went round, at the last check.
    looping: u64,
    latency: MeasureLatency,
    /// While it is open, the kernel gives each frame a receive timestamp.
    stamps: Option<CanSocket>,
}

/// The programs from one bus.
struct FromBus {
    source: Source,
    made_from: Digest,
    /// Of the generation to attach.
    filters: Filters,
    /// This machine may have sent what arrives there.
    goes_round: bool,
}

/// Final counters by route, the number of removed filters, and what is to be said.
pub(crate) type Stopped = (Vec<(RouteIndex, RouteCounters)>, usize, Vec<Notice>);

/// What a change does with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Added,
    /// Its counters continue.
    Changed,
    Kept,
}

impl FromBus {
    /// How frames of a job are sent.
    fn hows<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = How> + 'a {
        self.filters.filters.iter().filter_map(|filter| match filter.action {
            Action::Send { route, to, how } if route == job.route && to == job.to => Some(how),
            _ => None,
        })
    }
}

/// A change that is prepared in the kernel, and runs for no frame yet.
#[derive(Debug)]
pub(crate) struct Change {
    prepared: Vec<Prepared>,
    /// Where nothing is wanted any more.
    unwanted: Vec<Source>,
    /// The interfaces for which it was made, if all of them were there.
    fitted: Option<Ends>,
}

impl BpfGateway {
    /// Attaches the programs of these jobs, all or none. Filters of dead processes are replaced or removed. `entry` records the
    /// jobs, unless can-gw's part has it.
    pub(crate) fn start(
        plan: &Plan,
        jobs: &[&Job],
        interfaces: &Interfaces,
        (run_dir, who, entry): (Option<&RunDir>, Option<&Owner>, Option<Entry>),
        latency: MeasureLatency,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, BpfError> {
        let refused = run_dir.map_or(Ok(()), |run_dir| refuse_others(plan, jobs, interfaces, (run_dir, who)));
        if refused.is_err() {
            entry.iter().for_each(Entry::forget);
        }
        refused?;
        let process = (Some(std::process::id()), entry);
        let mut gateway = Self::adopt(plan, jobs, (run_dir, who), process, notify)?;
        gateway.latency = latency;
        gateway.fit(interfaces)?;
        gateway.past.clear();
        // A gateway that runs already may have sockets of its own.
        if who.is_none() {
            let in_program: BTreeSet<_> = candor_core::order::set(jobs.iter().map(|job| job.route));
            deaf(plan, |route| in_program.contains(&route)).into_iter().for_each(notify);
        }
        Ok(gateway)
    }

    /// The programs that an owner has, and those of dead processes, before they are changed to those of these jobs.
    pub(crate) fn adopt(
        plan: &Plan,
        jobs: &[&Job],
        (run_dir, who): (Option<&RunDir>, Option<&Owner>),
        (process, entry): (Option<u32>, Option<Entry>),
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, BpfError> {
        let mut gateway = Self {
            client: Client::open().map_err(BpfError::Netlink)?,
            process,
            jobs: Vec::new(),
            routes: Vec::new(),
            exclusive: Vec::new(),
            both_ways: Vec::new(),
            installed: Vec::new(),
            own_counters: Vec::new(),
            fitted: BTreeMap::new(),
            past: HashMap::new(),
            entry,
            fights: Fights::default(),
            looping: 0,
            latency: MeasureLatency::No,
            stamps: None,
        };
        gateway.take(plan, jobs);
        gateway.installed = left_over(&mut gateway.client, (run_dir, who), notify)?;
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
        let up = up(interfaces);
        for at in (0..self.installed.len()).rev() {
            if self.installed[at].read(&mut self.client, Some(&up))? {
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
                self.installed.extend(Installed::find(torn.source, &all).map(Installed::counting_from_0));
            }
        }
        candor_core::order::sort(&mut gone);
        gone.dedup();
        for interface in gone {
            if self.fights.note(now) {
                return Err(BpfError::Contested { interface });
            }
            notices.push(Notice::FiltersPutBack { interface });
            self.fitted.clear();
        }
        let looping = self.installed.iter().map(Installed::ended).sum();
        if looping > self.looping {
            notices.push(Notice::Looping { frames: looping - self.looping });
        }
        self.looping = looping;
        // Otherwise nothing has changed since.
        if ends(interfaces) == self.fitted { Ok(()) } else { self.fit(interfaces) }
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
            refuse_others(plan, jobs, interfaces, (run_dir, run_dir.me()))?;
        }
        let before = (self.jobs.clone(), self.routes.clone(), self.exclusive.clone(), self.both_ways.clone());
        self.take(plan, jobs);
        if let Err(error) = self.fit(interfaces) {
            (self.jobs, self.routes, self.exclusive, self.both_ways) = before;
            // If an interface has changed already, the next check changes it back, with the interfaces of these jobs.
            self.fitted.clear();
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
        let change = self.prepare(interfaces)?;
        self.commit(change)
    }

    /// Attaches what is missing, so that no frame meets it yet. After an error, nothing is left.
    pub(crate) fn prepare(&mut self, interfaces: &Interfaces) -> Result<Change, BpfError> {
        let buses = there(interfaces);
        if self.latency == MeasureLatency::Yes
            && self.stamps.is_none()
            && let Some(&interface) = buses.values().next()
        {
            let options = Options { filters: &[], stamps: Stamps::On, ..Options::default() };
            self.stamps = Some(CanSocket::open(interface, &options).map_err(BpfError::Stamps)?);
        }
        let to = |from: Source| {
            let buses = &buses;
            move |bus: BusIndex| buses.get(&bus).copied().unwrap_or(from.interface)
        };
        let (routes, pid, up) = (self.routes.clone(), self.process.unwrap_or_default(), up(interfaces));
        let route = |RouteIndex(at): RouteIndex| routes[at].clone();
        let wanted = self.wanted(interfaces, to, route)?;
        self.fitted.clear();
        OwnCounter::make_for(&self.jobs, &mut self.own_counters)?;
        let is_unwanted = |source: &Source| wanted.iter().all(|wanted| wanted.source != *source);
        let unwanted = self.installed.iter().map(|installed| installed.source).filter(is_unwanted).collect();
        let mut change = Change { prepared: Vec::new(), unwanted, fitted: Some(ends(interfaces)) };
        for FromBus { source, made_from, filters, goes_round } in &wanted {
            let (source, made_from) = (*source, *made_from);
            let needs_both = self.both_ways.iter().any(|bus| buses.get(bus) == Some(&source.interface));
            let ingress = if needs_both { Ingress::Both } else { Ingress::Plain };
            let to = to(source);
            let needs_guard = *goes_round;
            let at = self.installed.iter().position(|installed| installed.source == source);
            if at.is_some_and(|at| self.installed[at].runs(made_from, filters, *goes_round)) {
                continue;
            }
            let before = at.map(|at| self.installed.swap_remove(at));
            let counters = (&*self.jobs, &*self.own_counters);
            let wanted =
                Wanted { filters, counters, made_from, to: &to, route: &route, pid, ingress, up: &up, needs_guard };
            let prepared = Installed::prepare(&mut self.client, source, before, &wanted);
            match prepared {
                Ok(prepared) => change.prepared.push(prepared),
                Err(refused) => {
                    change.fitted = None;
                    if let Err(error) = self.unless_gone(*refused, buses.values().copied()) {
                        self.take_back(change);
                        return Err(error);
                    }
                }
            }
        }
        Ok(change)
    }

    /// Carries out a prepared change, between two frames on each interface.
    pub(crate) fn commit(&mut self, change: Change) -> Result<(), BpfError> {
        let Change { mut prepared, unwanted, mut fitted } = change;
        let interfaces: Vec<_> = prepared.iter().flat_map(Prepared::interfaces).collect();
        while let Some(next) = prepared.pop() {
            match next.commit(&mut self.client) {
                Ok((installed, before)) => {
                    add(&mut self.past, before.as_slice());
                    self.installed.push(installed);
                }
                Err(refused) => {
                    fitted = None;
                    if let Err(error) = self.unless_gone(*refused, interfaces.iter().copied()) {
                        self.take_back(Change { prepared, unwanted, fitted });
                        return Err(error);
                    }
                }
            }
        }
        for source in unwanted {
            if let Some(at) = self.installed.iter().position(|installed| installed.source == source) {
                let gone = self.installed.swap_remove(at).remove(&mut self.client)?;
                add(&mut self.past, gone.as_slice());
            }
        }
        self.own_counters.iter().for_each(OwnCounter::hand_over);
        self.own_counters.retain(|own| self.jobs.iter().any(|job| own.is_of(job)));
        self.fitted = fitted.unwrap_or_default();
        Ok(())
    }

    /// Undoes a prepared change.
    pub(crate) fn take_back(&mut self, change: Change) {
        for prepared in change.prepared {
            self.installed.extend(prepared.take_back(&mut self.client));
        }
    }

    /// If an interface has gone meanwhile, the next check sees it, so it is no error. A kernel without a classifier says the same.
    fn unless_gone(
        &mut self,
        (error, before): (BpfError, Option<Installed>),
        interfaces: impl Iterator<Item = InterfaceIndex>,
    ) -> Result<(), BpfError> {
        self.installed.extend(before);
        let is_gone = matches!(&error, BpfError::Attach(error) if is_gone(error));
        if is_gone && !self.are_there(interfaces)? { Ok(()) } else { Err(error) }
    }

    /// What a change would do: with each job, and to how many interfaces and kinds of frames.
    pub(crate) fn fates(&self, interfaces: &Interfaces) -> Result<(Vec<Fate>, usize), BpfError> {
        let buses = there(interfaces);
        let to = |from: Source| {
            let buses = &buses;
            move |bus: BusIndex| buses.get(&bus).copied().unwrap_or(from.interface)
        };
        let route = |RouteIndex(at): RouteIndex| self.routes[at].clone();
        let wanted = self.wanted(interfaces, to, route)?;
        let installed = |source: Source| self.installed.iter().find(move |installed| installed.source == source);
        let is_kept = |FromBus { source, made_from, filters, goes_round }: &FromBus| {
            installed(*source).is_some_and(|now| now.runs(*made_from, filters, *goes_round))
        };
        let fate = |job: &Job| {
            let source = Source { interface: interfaces.index(job.from), kind: Kind::of(job) };
            let wanted = wanted.iter().find(|wanted| wanted.source == source);
            match (installed(source), wanted) {
                // Nothing is wanted of it here.
                _ if !has_room(interfaces, job) => Fate::Kept,
                (_, Some(wanted)) if is_kept(wanted) => Fate::Kept,
                (Some(now), Some(wanted))
                    if wanted.hows(job).any(|how| now.sends(&route(job.route), to(source)(job.to), how)) =>
                {
                    Fate::Changed
                }
                _ => Fate::Added,
            }
        };
        let is_unwanted = |now: &&Installed| wanted.iter().all(|wanted| wanted.source != now.source);
        let changes =
            wanted.iter().filter(|wanted| !is_kept(wanted)).count() + self.installed.iter().filter(is_unwanted).count();
        Ok((self.jobs.iter().map(fate).collect(), changes))
    }

    /// True if all these interfaces exist now.
    fn are_there(&mut self, mut interfaces: impl Iterator<Item = InterfaceIndex>) -> Result<bool, BpfError> {
        let links = link::list(&mut self.client).map_err(BpfError::List)?;
        Ok(interfaces.all(|index| links.iter().any(|link| link.index == index)))
    }

    /// The filters of the jobs whose interfaces are there.
    fn wanted<To: Fn(BusIndex) -> InterfaceIndex>(
        &self,
        interfaces: &Interfaces,
        to: impl Fn(Source) -> To,
        route: impl Fn(RouteIndex) -> String,
    ) -> Result<Vec<FromBus>, BpfError> {
        let there = there(interfaces);
        let is_possible =
            |job: &&Job| there.contains_key(&job.from) && there.contains_key(&job.to) && has_room(interfaces, job);
        let jobs: Vec<Job> = self.jobs.iter().filter(is_possible).cloned().collect();
        let bounds = LATENCY_BOUNDS.map(|bound| u32::try_from(bound.as_nanos()).unwrap_or(u32::MAX));
        let bounds: &[u32] = if self.latency == MeasureLatency::Yes { &bounds } else { &[] };
        let mut wanted = Vec::new();
        for (from, link) in interfaces.there() {
            for kind in Kind::ALL {
                let source = Source { interface: link.index, kind };
                let before = self.installed.iter().find(|installed| installed.source == source);
                let generation = Installed::next_generation(before);
                let is_exclusive = |RouteIndex(route): RouteIndex| self.exclusive[route];
                let compile = |generation| {
                    gateway::compile(&jobs, from, kind, generation, is_exclusive, bounds)
                        .map_err(|source| BpfError::Compile { interface: link.name.clone(), source })
                };
                let rules = compile(Generation::Even)?;
                if !rules.filters.is_empty() {
                    let made_from = Digest::of(&rules, to(source), &route);
                    let filters = if generation == Generation::Even { rules } else { compile(generation)? };
                    let goes_round = link.kind.as_deref() == Some("vxcan");
                    wanted.push(FromBus { source, made_from, filters, goes_round });
                }
            }
        }
        Ok(wanted)
    }

    /// True if frames may go round, which no message of the kernel tells.
    pub(crate) fn guards(&self) -> bool {
        self.installed.iter().any(Installed::has_guard)
    }

    /// Removes the programs.
    pub(crate) fn stop(mut self) -> Result<Stopped, BpfError> {
        let removed = self.installed.iter().map(Installed::len).sum();
        let mut looping = 0;
        for installed in std::mem::take(&mut self.installed) {
            let gone = installed.remove(&mut self.client)?;
            looping += gone.iter().map(Installed::ended).sum::<u64>();
            add(&mut self.past, gone.as_slice());
        }
        self.own_counters.iter().for_each(OwnCounter::hand_over);
        let frames = looping.saturating_sub(self.looping);
        let notices = (frames > 0).then_some(Notice::Looping { frames }).into_iter().collect();
        Ok((self.counters(), removed, notices))
    }
}

impl Drop for BpfGateway {
    fn drop(&mut self) {
        if self.process.is_none() {
            return;
        }
        for installed in std::mem::take(&mut self.installed) {
            // The next candor run removes what is left.
            let _ = installed.remove(&mut self.client);
        }
        self.forget_entry();
    }
}

/// The interfaces that exist, with their MTU in bytes.
type Ends = BTreeMap<BusIndex, (InterfaceIndex, u32)>;

fn ends(interfaces: &Interfaces) -> Ends {
    candor_core::order::map(interfaces.there().map(|(bus, link)| (bus, (link.index, link.mtu))))
}

fn up(interfaces: &Interfaces) -> Vec<InterfaceIndex> {
    interfaces.there().filter(|(_, link)| link.up).map(|(_, link)| link.index).collect()
}

/// True if the outgoing interface takes the frames of a job. `mirred` does not ask, and a driver for classic frames does not expect
/// others: `can_send()` keeps them away.
fn has_room(interfaces: &Interfaces, job: &Job) -> bool {
    interfaces.link(job.to).mtu >= Kind::of(job).least_mtu()
}

/// The interfaces that exist, by bus.
fn there(interfaces: &Interfaces) -> BTreeMap<BusIndex, InterfaceIndex> {
    candor_core::order::map(interfaces.there().map(|(bus, link)| (bus, link.index)))
}

/// Fails if another owner has programs on one of the interfaces that frames come from.
pub(crate) fn refuse_others(
    plan: &Plan,
    jobs: &[&Job],
    interfaces: &Interfaces,
    (run_dir, who): (&RunDir, Option<&Owner>),
) -> Result<(), BpfError> {
    for other in run_dir.others(who) {
        let busy = jobs.iter().find(|job| other.has_programs_on(interfaces.index(job.from)));
        if let Some(job) = busy {
            let interface = plan.bus(job.from).interface.clone();
            return Err(BpfError::Busy { interface, owner: other.owner.clone() });
        }
    }
    Ok(())
}

/// Filters of this owner, and of processes that are gone.
fn left_over(
    client: &mut Client,
    (run_dir, who): (Option<&RunDir>, Option<&Owner>),
    notify: &mut dyn FnMut(Notice),
) -> Result<Vec<Installed>, BpfError> {
    let mut found = Vec::new();
    for link in link::list(client).map_err(BpfError::List)?.into_iter().filter(|link| link.can.is_some()) {
        let mut owners = run_dir.into_iter().flat_map(|run_dir| run_dir.others(None));
        let owner = owners.find(|owner| owner.has_programs_on(link.index)).map(|owner| &owner.owner);
        if owner.is_some() && owner != who {
            continue;
        }
        let mut here = on(client, link.index)?;
        if owner.is_none() && !here.is_empty() {
            here.iter_mut().for_each(|installed| installed.made_from = Digest::default());
            let filters = here.iter().map(Installed::len).sum();
            notify(Notice::LeftoverFilters { filters, interface: link.name });
        }
        found.extend(here);
    }
    Ok(found)
}

/// Removes filters of processes that are gone, and returns their number; for a gateway without programs. Leaves them if this
/// process may not remove them.
pub(crate) fn remove_leftovers(run_dir: Option<&RunDir>, notify: &mut dyn FnMut(Notice)) -> Result<usize, BpfError> {
    let mut client = Client::open().map_err(BpfError::Netlink)?;
    let mut removed = 0;
    for installed in left_over(&mut client, (run_dir, None), notify)? {
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
