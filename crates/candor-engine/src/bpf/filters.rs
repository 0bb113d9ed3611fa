//! The filters of candor at the ingress of one interface, for frames of one kind.
//!
//! ```text
//!  frame ─▶ first filter: notes the steps of the frame ─▶ filters of further steps, each run if it was noted
//!           preference 0xCA0C (FD: 0xCA0D, XL: 0xCA0E)    preference 0xCA1C (FD: 0xCA1D, XL: 0xCA1E), of one generation
//! ```
//!
//! In front of them, on interfaces that receive what this machine sends, a filter ends frames that go round (0xC90C to 0xC90E).
//!
//! Rules change between two frames: the further filters of the next generation are attached beside those of the last one, the
//! first filter is replaced, which the kernel does at once, and after the last frame has left the old ones they are removed. A
//! route keeps its action, and so its counters, over this.

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
use std::time::Duration;

use candor_bpf::gateway::{self, Action, Filter, Filters, Generation, How, Kind};
use candor_core::job::{BusIndex, Job, RouteIndex};
use candor_egress::filter::{ETH_P_CAN, ETH_P_CANFD, ETH_P_CANXL};
use candor_egress::netlink::program::{self, Act, Attached, Ingress, OURS, Place};
use candor_egress::netlink::{QdiscStats, TcError};
use candor_io::bpf;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::{Client, Errno};

use super::error::BpfError;
use super::label::{Digest, Label};
use super::load::{DeletedFrames, Loaded, MeasuredLatencies, OwnCounter, load, load_one};
use candor_userspace::counters::{Drops, RouteCounters};

const GUARD: u16 = 0xC900;
const FIRST: u16 = 0xCA00;
const FURTHER: u16 = 0xCA10;
const _: () = assert!(GUARD | ETH_P_CAN == 51468 && FURTHER | ETH_P_CANXL == 51742, "named in an error");
/// Handle of the first filter.
const HEAD: u32 = 1;
/// Handles of a generation, the most that it needs: a filter for each step, one that restores its frames, and one at the end.
const OF_GENERATION: u32 = 1 << 7;
/// Handle of a filter that runs for no frame, and keeps an action until its counters are read.
const KEEPER: u32 = 1 << 9;
/// Waited if the kernel cannot say when frames have left a filter.
const LONGER_THAN_A_FRAME: Duration = Duration::from_millis(50);

/// Where frames of a kind arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Source {
    pub(super) interface: InterfaceIndex,
    pub(super) kind: Kind,
}

impl Source {
    const fn protocol(self) -> u16 {
        match self.kind {
            Kind::Classic => ETH_P_CAN,
            Kind::Fd => ETH_P_CANFD,
            Kind::Xl => ETH_P_CANXL,
        }
    }

    const fn place(self, preference: u16, handle: u32) -> Place {
        Place { preference: preference | self.protocol(), protocol: self.protocol(), handle }
    }

    const fn head(self) -> Place {
        self.place(FIRST, HEAD)
    }

    const fn guard(self) -> Place {
        self.place(GUARD, HEAD)
    }

    const fn further(self, generation: Generation, number: u32) -> Place {
        let start = match generation {
            Generation::Even => 1,
            Generation::Odd => OF_GENERATION + 1,
        };
        self.place(FURTHER, start + number)
    }

    /// The filters of candor here, of whichever process.
    pub(super) fn ours(self, all: &[Attached]) -> impl Iterator<Item = &Attached> {
        let preferences = [GUARD, FIRST, FURTHER].map(|preference| preference | self.protocol());
        all.iter().filter(move |found| preferences.contains(&found.place.preference) && found.name.starts_with(OURS))
    }
}

/// An attached filter with an action that sends.
#[derive(Clone, Debug)]
struct Sending {
    place: Place,
    /// Name of the route.
    route: String,
    to: InterfaceIndex,
    how: How,
    /// Number of the action, which may be older than the filter.
    action: u32,
    /// When the filter was attached.
    before: Counted,
    now: Counted,
    /// Whether `to` was up at the last reading; `None` if that is not known.
    is_up: Option<bool>,
    /// Frames that could not be sent, as far as the reason is known.
    drops: Drops,
}

impl Sending {
    fn is(&self, route: &str, to: InterfaceIndex, how: How) -> bool {
        self.route == route && self.to == to && self.how == how
    }

    /// Takes the counters, and whether the interface is up now, if that is known. The kernel's action has one number for all that
    /// could not be sent: it sends nothing to an interface that is down, and the queue of one that is up may refuse the frame. A
    /// change of the interface causes a reading.
    ///
    /// # Source
    /// [`tcf_mirred_to_dev()`](https://github.com/torvalds/linux/blob/v7.0/net/sched/act_mirred.c).
    fn count(&mut self, now: Counted, is_up: Option<bool>) {
        let failed = u64::from(now.failed.wrapping_sub(self.now.failed));
        let is_up = is_up.or(self.is_up);
        match (self.is_up, is_up) {
            (None, _) => {}
            (Some(true), Some(true)) => self.drops.full += failed,
            _ => self.drops.down += failed,
        }
        (self.now, self.is_up) = (now, is_up);
    }
}

/// Attached filters.
#[derive(Debug)]
pub(super) struct Installed {
    pub(super) source: Source,
    generation: Generation,
    pub(super) made_ingress: bool,
    sending: Vec<Sending>,
    /// All of them.
    places: Vec<Place>,
    deleted: Option<DeletedFrames>,
    latencies: Option<MeasuredLatencies>,
    /// Frames that went round, at the last reading.
    ended: u64,
    /// The default if they are replaced in any case.
    pub(super) made_from: Digest,
}

/// Filters of the next generation that are attached, and run for no frame yet.
#[derive(Debug)]
pub(super) struct Prepared {
    next: Installed,
    before: Option<Installed>,
    loaded: Loaded,
    /// Name and action of the first filter.
    head: (String, Option<Act>),
}

/// What could not be attached, and the filters that still run.
pub(super) type Refused = Box<(BpfError, Option<Installed>)>;

/// What a filter has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    /// Frames of its action.
    frames: u64,
    /// Those of them that could not be sent; wraps.
    failed: u32,
}

/// What is attached instead.
pub(super) struct Wanted<'a> {
    pub(super) filters: &'a Filters,
    pub(super) counters: (&'a [Job], &'a [OwnCounter]),
    pub(super) made_from: Digest,
    pub(super) to: &'a dyn Fn(BusIndex) -> InterfaceIndex,
    pub(super) route: &'a dyn Fn(RouteIndex) -> String,
    /// Process id; 0 for an applied file.
    pub(super) pid: u32,
    pub(super) ingress: Ingress,
    /// The interfaces that are up.
    pub(super) up: &'a [InterfaceIndex],
    /// Frames may go round.
    pub(super) needs_guard: bool,
}

impl Wanted<'_> {
    fn route_of(&self, filter: &Filter) -> String {
        if let Action::Send { route, .. } = filter.action { (self.route)(route) } else { String::new() }
    }
}

impl Installed {
    /// What is attached, of whichever process, as far as filters show it.
    pub(super) fn find(source: Source, all: &[Attached]) -> Option<Self> {
        let ours: Vec<_> = source.ours(all).collect();
        let first = ours.iter().find(|found| found.place == source.head()).or_else(|| ours.first())?;
        let label = |found: &Attached| Label::of(&found.name);
        let made_from = label(first).map(|label| label.made_from).unwrap_or_default();
        // After an exchange that was interrupted, both generations are there.
        let is_odd = |found: &&&Attached| (OF_GENERATION + 1..KEEPER).contains(&found.place.handle);
        let runs = |found: &Attached| label(found).is_some_and(|label| label.made_from == made_from);
        let sending = ours.iter().filter_map(|found| {
            let Some(Act::Send { to, is_copy, action }) = found.act else { return None };
            // Others are left over from an exchange that was interrupted.
            let label = label(found).filter(|label| label.made_from == made_from && !label.route.is_empty())?;
            let how = if is_copy { How::Mirror } else { How::Redirect };
            let (before, now) = (Counted::default(), Counted::of(&found.stats));
            let (place, route, drops) = (found.place, label.route, Drops::default());
            Some(Sending { place, route, to, how, action, before, now, is_up: None, drops })
        });
        Some(Self {
            source,
            generation: if ours.iter().filter(is_odd).any(|found| runs(found)) {
                Generation::Odd
            } else {
                Generation::Even
            },
            made_ingress: label(first).is_some_and(|label| label.made_ingress),
            sending: sending.collect(),
            places: ours.iter().map(|found| found.place).collect(),
            deleted: None,
            latencies: None,
            ended: 0,
            made_from,
        })
    }

    /// With counters that start at 0.
    pub(super) fn counting_from_0(mut self) -> Self {
        self.sending.iter_mut().for_each(|sending| sending.before = sending.now);
        self
    }

    /// The generation of what is attached next.
    pub(super) fn next_generation(before: Option<&Self>) -> Generation {
        before.map_or(Generation::Even, |before| before.generation.next())
    }

    /// Attaches filters beside earlier ones, which work as before, until [`Prepared::commit`] replaces them.
    pub(super) fn prepare(
        client: &mut Client,
        source: Source,
        before: Option<Self>,
        wanted: &Wanted<'_>,
    ) -> Result<Prepared, Refused> {
        let loaded = match load(wanted.filters, wanted.counters, |filter| wanted.route_of(filter)) {
            Ok(loaded) => loaded,
            Err(error) => return Err(Box::new((error, before))),
        };
        let mut next = Self {
            source,
            generation: Self::next_generation(before.as_ref()),
            made_ingress: before.as_ref().is_some_and(|before| before.made_ingress),
            sending: Vec::new(),
            places: Vec::new(),
            deleted: None,
            latencies: None,
            ended: 0,
            made_from: wanted.made_from,
        };
        match next.attach(client, before.as_ref(), wanted, &loaded) {
            Ok(head) => Ok(Prepared { next, before, loaded, head }),
            Err(error) => {
                next.take_back(client, before.as_ref());
                Err(Box::new((error, before)))
            }
        }
    }

    /// Attaches all but the first filter, and returns the name and action of that.
    fn attach(
        &mut self,
        client: &mut Client,
        before: Option<&Self>,
        wanted: &Wanted<'_>,
        loaded: &Loaded,
    ) -> Result<(String, Option<Act>), BpfError> {
        let Source { interface, .. } = self.source;
        if program::make_ingress(client, interface, wanted.ingress).map_err(BpfError::attaching)? {
            self.made_ingress = true;
        }
        // Whichever filters of candor go last take it along.
        if !self.made_ingress {
            let all = program::attached(client, interface).map_err(BpfError::List)?;
            let mut labels = all.iter().filter_map(|found| Label::of(&found.name));
            self.made_ingress = labels.any(|label| label.made_ingress);
        }
        let (made_ingress, pid) = (self.made_ingress, wanted.pid);
        let label = |made_from, route| Label { pid, made_ingress, made_from, route }.text();
        // What only helps says nothing about the programs that run.
        let helper = label(Digest::default(), String::new());
        let label = |route| label(self.made_from, route);
        let head = self.source.head();
        if !before.is_some_and(|before| before.places.contains(&head)) {
            // Without it, the further filters would take what others left in a buffer for steps.
            attach_idle(client, interface, (head, &helper), loaded, None)?;
        }
        self.places.push(head);
        let mut of_head = (label(String::new()), None);
        if wanted.needs_guard {
            let place = self.source.guard();
            let program = load_one(&gateway::guard(), String::new(), |_no_map| 0)?;
            program::attach(client, interface, (place, &helper), program.as_fd(), Some(Act::End))
                .map_err(BpfError::attaching)?;
            self.places.push(place);
        }
        // The kernel puts a new filter in front of the others, so the last one is attached first.
        let numbered = (0_u32..).zip(&wanted.filters.filters).zip(&loaded.programs);
        for ((number, filter), program) in numbered.collect::<Vec<_>>().into_iter().rev() {
            let act = self.act(before, wanted, filter);
            let name = label(wanted.route_of(filter));
            let place = if number == 0 { head } else { self.source.further(self.generation, number) };
            if let (Action::Send { how, .. }, &Some(Act::Send { to, action, .. })) = (filter.action, &act) {
                let (route, before, now) = (wanted.route_of(filter), Counted::default(), Counted::default());
                let (is_up, drops) = (Some(wanted.up.contains(&to)), Drops::default());
                self.sending.push(Sending { place, route, to, how, action, before, now, is_up, drops });
            }
            if number == 0 {
                of_head = (name, act);
            } else {
                program::attach(client, interface, (place, &name), program.as_fd(), act)
                    .map_err(BpfError::attaching)?;
                self.places.push(place);
            }
        }
        // The counters of the first filter's action are read after it was replaced, so another filter keeps the action until then.
        if let Some(kept) = before.and_then(|before| before.sending.iter().find(|sending| sending.place == head)) {
            let act = Act::Send { to: kept.to, is_copy: kept.how == How::Mirror, action: kept.action };
            let keeper = self.source.place(FURTHER, KEEPER);
            attach_idle(client, interface, (keeper, &helper), loaded, Some(act))?;
        }
        Ok(of_head)
    }

    /// The action of a filter: that of an earlier filter of the same route, if there is one.
    fn act(&self, before: Option<&Self>, wanted: &Wanted<'_>, filter: &Filter) -> Option<Act> {
        match filter.action {
            Action::End => Some(Act::End),
            Action::Nothing => None,
            Action::Send { to, how, route } => {
                let (to, route) = ((wanted.to)(to), (wanted.route)(route));
                // A route of several steps has an action for each.
                let is_free = |action: u32| self.sending.iter().all(|sending| sending.action != action);
                let same = |sending: &&Sending| sending.is(&route, to, how) && is_free(sending.action);
                let action = before.and_then(|before| before.sending.iter().find(same)).map_or(0, |same| same.action);
                Some(Act::Send { to, is_copy: how == How::Mirror, action })
            }
        }
    }

    /// Removes what a failed attempt has attached, except in places that were in use before.
    fn take_back(&self, client: &mut Client, before: Option<&Self>) {
        let is_shared = |place: &&Place| before.is_some_and(|before| before.places.contains(place));
        let new = self.places.iter().filter(|place| !is_shared(place)).copied();
        remove(client, self.source, new.chain([self.source.place(FURTHER, KEEPER)]));
        if before.is_none() {
            self.remove_ingress(client);
        }
    }

    /// Detaches everything, and returns it with its final counters.
    pub(super) fn remove(self, client: &mut Client) -> Result<Option<Self>, BpfError> {
        let source = self.source;
        let nothing = Filters { filters: Vec::new(), maps: Vec::new() };
        let (to, route) = (|_bus| source.interface, |_route| String::new());
        let (made_from, ingress) = (Digest::default(), Ingress::Plain);
        let wanted = Wanted {
            filters: &nothing,
            counters: (&[], &[]),
            made_from,
            to: &to,
            route: &route,
            pid: 0,
            ingress,
            up: &[],
            needs_guard: false,
        };
        let prepared = Self::prepare(client, source, Some(self), &wanted);
        let (idle, before) = match prepared.and_then(|prepared| prepared.commit(client)) {
            Ok(done) => done,
            Err(refused) => match *refused {
                // The interface is gone, with its filters.
                (BpfError::Attach(error), before) if is_gone(&error) => return Ok(before),
                (error, _) => return Err(error),
            },
        };
        remove(client, source, [source.head()].into_iter());
        idle.remove_ingress(client);
        Ok(before)
    }

    /// Notes the numbers of new actions.
    fn number(&mut self, all: &[Attached]) {
        for sending in self.sending.iter_mut().filter(|sending| sending.action == 0) {
            sending.action = all.iter().find(|found| found.place == sending.place).map_or(0, |found| found.action);
        }
    }

    /// Removes the place for filters if candor made it and nobody uses it.
    fn remove_ingress(&self, client: &mut Client) {
        let Source { interface, .. } = self.source;
        if self.made_ingress && program::ingress_is_empty(client, interface).unwrap_or(false) {
            // Another program may have removed it.
            let _ = program::remove_ingress(client, interface);
        }
    }

    /// Reads the counters; returns true if all filters are there. `up` are the interfaces that are up, if that is known.
    ///
    /// # Errors
    /// The filters cannot be listed now.
    pub(super) fn read(&mut self, client: &mut Client, up: Option<&[InterfaceIndex]>) -> Result<bool, BpfError> {
        let all = program::attached(client, self.source.interface).map_err(BpfError::List)?;
        self.number(&all);
        for sending in &mut self.sending {
            if let Some(found) = all.iter().find(|found| found.action == sending.action && found.action != 0) {
                let is_up = up.map(|up| up.contains(&sending.to));
                sending.count(Counted::of(&found.stats), is_up);
            }
        }
        if let Some(guard) = all.iter().find(|found| found.place == self.source.guard()) {
            self.ended = guard.stats.frames;
        }
        if let Some(DeletedFrames { map, steps }) = &mut self.deleted
            && let Ok(bytes) = map.get(&[0; 4])
        {
            let (numbers, _) = bytes.as_chunks::<8>();
            steps.iter_mut().zip(numbers).for_each(|((_, frames), now)| *frames = u64::from_ne_bytes(*now));
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.read();
            // If a clock cannot be read, the times stay as they were.
            let _ = latencies.tell_time();
        }
        Ok(self.places.iter().all(|place| all.iter().any(|found| found.place == *place)))
    }

    /// Counters of each route since the filters were attached, at the last reading. A route may come several times.
    pub(super) fn counters(&self) -> impl Iterator<Item = (&str, RouteCounters)> {
        let sent = self.sending.iter().map(|Sending { route, before, now, drops, .. }| {
            let frames = now.frames.saturating_sub(before.frames);
            let dropped = u64::from(now.failed.wrapping_sub(before.failed)).min(frames);
            let drops = if drops.total() > dropped { Drops::default() } else { *drops };
            (route.as_str(), RouteCounters { handled: frames - dropped, dropped, drops, ..RouteCounters::default() })
        });
        let deleted = self.deleted.iter().flat_map(|deleted| &deleted.steps);
        let deleted = deleted
            .map(|(route, frames)| (route.as_str(), RouteCounters { deleted: *frames, ..RouteCounters::default() }));
        let latencies = self.latencies.iter().flat_map(|measured| &measured.steps).map(|(route, latencies)| {
            (route.as_str(), RouteCounters { latencies: Some(Box::new(*latencies)), ..RouteCounters::default() })
        });
        sent.chain(deleted).chain(latencies)
    }

    /// True if frames of a route have such an action.
    pub(super) fn sends(&self, route: &str, to: InterfaceIndex, how: How) -> bool {
        self.sending.iter().any(|sending| sending.is(route, to, how))
    }

    /// True if this is what is wanted: all of it, and nothing else.
    pub(super) fn runs(&self, made_from: Digest, filters: &Filters, needs_guard: bool) -> bool {
        let further = (1..).take(filters.filters.len().saturating_sub(1));
        let further = further.map(|number| self.source.further(self.generation, number));
        let guard = needs_guard.then(|| self.source.guard());
        let wanted: BTreeSet<_> = candor_core::order::set(further.chain([self.source.head()]).chain(guard));
        self.made_from == made_from && wanted == candor_core::order::set(self.places.iter().copied())
    }

    pub(super) fn has_guard(&self) -> bool {
        self.places.contains(&self.source.guard())
    }

    /// Frames that went round and were ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// Number of filters.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

impl Prepared {
    /// Replaces the first filter, which the kernel does between two frames. Returns what runs now, and what ran before, with
    /// its final counters.
    pub(super) fn commit(self, client: &mut Client) -> Result<(Installed, Option<Installed>), Refused> {
        let Self { mut next, mut before, loaded, head: (name, act) } = self;
        let source = next.source;
        let program = loaded.programs.first().unwrap_or(&loaded.idle).as_fd();
        if let Err(error) = program::attach(client, source.interface, (source.head(), &name), program, act) {
            next.take_back(client, before.as_ref());
            return Err(Box::new((BpfError::attaching(error), before)));
        }
        // The kernel numbers new actions. Without an answer, the next reading finds the numbers.
        next.number(&program::attached(client, source.interface).unwrap_or_default());
        (next.deleted, next.latencies) = (loaded.deleted, loaded.latencies);
        leave();
        if let Some(before) = &mut before {
            // Without an answer, the counters stay those of the last reading.
            let _ = before.read(client, None);
            for sending in &mut next.sending {
                if let Some(same) = before.sending.iter().find(|same| same.action == sending.action) {
                    (sending.before, sending.now) = (same.now, same.now);
                }
            }
            let gone = before.places.iter().filter(|place| !next.places.contains(place)).copied();
            remove(client, source, gone.chain([source.place(FURTHER, KEEPER)]));
        }
        Ok((next, before))
    }

    /// Where frames come from and go to.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = InterfaceIndex> {
        [self.next.source.interface].into_iter().chain(self.next.sending.iter().map(|sending| sending.to))
    }

    /// Removes the filters that were attached. Returns those that run.
    pub(super) fn take_back(self, client: &mut Client) -> Option<Installed> {
        self.next.take_back(client, self.before.as_ref());
        self.before
    }
}

impl Counted {
    fn of(stats: &QdiscStats) -> Self {
        Self { frames: stats.frames, failed: stats.overlimits }
    }
}

/// Attaches a filter that runs for no frame.
fn attach_idle(
    client: &mut Client,
    interface: InterfaceIndex,
    place: (Place, &str),
    loaded: &Loaded,
    act: Option<Act>,
) -> Result<(), BpfError> {
    program::attach(client, interface, place, loaded.idle.as_fd(), act).map_err(BpfError::attaching)
}

/// Waits until no frame is inside a filter that was replaced.
fn leave() {
    if bpf::wait_for_readers().is_err() {
        std::thread::sleep(LONGER_THAN_A_FRAME);
    }
}

/// Removes filters, as far as they exist.
fn remove(client: &mut Client, source: Source, places: impl Iterator<Item = Place>) {
    for place in places {
        let _ = program::detach(client, source.interface, place);
    }
}

/// True if the interface, or its ingress, does not exist any more.
pub(super) fn is_gone(error: &TcError) -> bool {
    matches!(error.errno(), Some(Errno::ENODEV | Errno::ENOENT))
}
