//! A validated gateway: what `candor check` accepts and engines run.
//!
//! Only [`crate::config::load`] makes a [`Plan`]. Indices are in range, names are unique, only a route with
//! [`Incoming::Allowed`] leads back to its own bus, no frame matches two selections of a route, every operand fits the
//! outgoing format of its route, and the engine can run every route on some kernel.

mod link;
mod modes;
mod traffic;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

pub use crate::engine::{Engine, UserEngine};
use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MAX_DLEN, Frame, FrameFormat, RawId};
use candor_core::job::Compute;
pub use candor_core::job::{BusIndex, Computed, Echo, Incoming, RouteIndex, SendAs, Timestamp};
use candor_core::payload::PayloadPattern;
use candor_core::realtime::Realtime;
use candor_core::rule::{Checksums, Modifications};
use candor_core::units::BitRate;
use candor_e2e::Check;
pub use candor_egress::policy::{Egress, Queueing};
use candor_guard::{Claimed, Form, Pace, Rule, Shape, Tally};
use candor_secoc::SyncSource;
use candor_signals::compose::{self, Composition, Filter as ValueFilter, SendRule, TimeoutAction, Trigger, Value};
use candor_signals::{Codec, Database, SendMode};
pub use link::{LINK_END, Link, LinkBand, LinkProtocol, LinkTls};
pub(crate) use modes::Modes;
pub use modes::{Announcement, Mode, ModeFrame};
pub use traffic::{Sending, Traffic};

/// A CAN network and its interface on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    pub name: String,
    /// 1 to 15 bytes (`IFNAMSIZ`).
    pub interface: String,
    /// Expected nominal bit rate. candor compares it and does not set it.
    pub bitrate: Option<BitRate>,
    /// Data-phase bit rate of CAN FD frames with bit-rate switch.
    pub data_bitrate: Option<BitRate>,
    /// The bus at the other end of a vxcan pair; that bus has this one as its peer.
    pub vxcan_peer: Option<BusIndex>,
    /// Delay between bus-off and restart of the controller by candor; `None`: candor does not restart it.
    pub restart_after: Option<Duration>,
}

impl Bus {
    /// A bus with the name of its interface, and no other settings.
    pub fn on(interface: &str) -> Self {
        let (name, interface) = (interface.to_owned(), interface.to_owned());
        Self { name, interface, bitrate: None, data_bitrate: None, vxcan_peer: None, restart_after: None }
    }
}

/// Policy for frames when the queue of the outgoing interface is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// Drops the frame that does not fit, like can-gw.
    #[default]
    DropNewest,
    /// candor queues up to 64 frames, then drops the oldest.
    DropOldest,
    /// candor stops reading from the source bus, for at most `limit`, then drops the frame.
    Block { limit: Duration },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Formats {
    /// CAN CC and CAN FD, with two can-gw jobs.
    Any,
    Only(FrameFormat),
    /// CAN XL, in eBPF programs only.
    Xl,
}

impl Formats {
    /// The formats of frames that can-gw and user space know, classic before FD.
    pub const fn list(&self) -> &[FrameFormat] {
        match self {
            Self::Any => &[FrameFormat::Classic, FrameFormat::Fd],
            Self::Only(format) => std::slice::from_ref(format),
            Self::Xl => &[],
        }
    }
}

/// Identifiers that a route matches, and their change: one can-gw filter. No frame matches two selections of a route,
/// because can-gw would forward it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selection {
    pub filter: Filter,
    /// `to-id`.
    pub id: Option<IdChange>,
}

impl Selection {
    /// Every data and remote frame, unchanged.
    pub const ALL: Self = Self { filter: Filter::ALL, id: None };
}

/// Change of the whole `can_id` by operations of can-gw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdChange {
    /// Replaces the identifier.
    Set(u32),
    /// AND, then OR: the low bits stay.
    Move { and: u32, or: u32 },
}

/// When the frames of a route are sent, each identifier by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Interval at which the newest frame is sent.
    pub cycle: Option<Duration>,
    /// The least time between two frames that are sent because of a reception; 0 for none.
    pub min_delay: Duration,
    /// Bits of the payload whose change causes a frame to be sent; `None`: every frame is.
    pub on_change: Option<Vec<u8>>,
    /// What happens without a reception for this long.
    pub timeout: Option<(Duration, OnTimeout)>,
}

impl Timing {
    /// The frames of one identifier as a composition with one source, whose payload is taken as a whole.
    #[must_use]
    pub fn composition(&self) -> Composition {
        let sends_events = self.cycle.is_none() || self.on_change.is_some() || !self.min_delay.is_zero();
        let mode = match (self.cycle, sends_events) {
            (None, _) => SendMode::Direct,
            (Some(_), true) => SendMode::Mixed,
            (Some(_), false) => SendMode::Periodic,
        };
        let timeout = self.timeout.as_ref().map(|(after, action)| compose::Timeout {
            first: None,
            later: *after,
            action: match action {
                OnTimeout::Keep => TimeoutAction::Keep,
                OnTimeout::Stop => TimeoutAction::Stop,
                OnTimeout::Substitute(payload) => TimeoutAction::SubstitutePayload(payload.as_slice().into()),
            },
        });
        let mask = self.on_change.clone().unwrap_or_default();
        let input = compose::Input {
            source: 0,
            value: Value::Payload { max_len: CANFD_MAX_DLEN, mask: mask.into() },
            filter: ValueFilter::Always,
            trigger: if self.on_change.is_some() { Trigger::OnChange } else { Trigger::Always },
            repeats: false,
            // Nothing is known of a frame that was not received.
            required: true,
            timeout,
            group: None,
        };
        let send = SendRule { mode, cycle: self.cycle, min_delay: self.min_delay, ..SendRule::NEVER };
        Composition { initial: Box::default(), inputs: [input].into(), send }
    }
}

/// What happens when no frame was received for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// The last frame is sent further on.
    Keep,
    /// Nothing is sent before the next reception.
    Stop,
    /// This payload is sent.
    Substitute(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub name: String,
    pub from: BusIndex,
    /// The same as `from` only with [`Incoming::Allowed`].
    pub to: BusIndex,
    /// The mode in which it exists; `None`: it always exists.
    pub mode: Option<String>,
    /// Disjoint, never empty.
    pub selections: Vec<Selection>,
    pub formats: Formats,
    /// One pattern must match; empty: any payload. User space only.
    pub payload: Vec<PayloadPattern>,
    /// The comparisons of signals that `payload` is made of, as written.
    pub condition: Option<String>,
    /// Format conversion. User space only.
    pub send_as: Option<SendAs>,
    /// Changed signals and their expressions, as written: they are in `computed` or in `modifications`.
    pub signals: Vec<(String, String)>,
    /// Change of signals, before the conversion. User space only.
    pub computed: Option<Computed>,
    /// Checks of received frames, in this order. User space only.
    pub checks: Vec<Computed>,
    /// `guard`, `check` and `protect` in words.
    pub told: Vec<(&'static str, String)>,
    /// What is done about frames that one of the `checks` of `guard` refuses or misses.
    pub guard: Option<Guard>,
    pub modifications: Modifications,
    /// Computed after the modifications. Empty without a modification, as in the kernel.
    pub checksums: Checksums,
    /// Checksum and counter, written last. User space only.
    pub protected: Option<Computed>,
    pub echo: Echo,
    /// Limit of gateway hops, this one included, 1 to 6 (`cangw -l`).
    pub hop_limit: Option<u8>,
    pub timestamp: Timestamp,
    pub incoming: Incoming,
    /// Nobody else on this machine needs its frames. Only eBPF programs take them away.
    pub is_exclusive: bool,
    /// The kernel of this machine has refused its program.
    pub(crate) is_refused: bool,
    /// Maximum age since reception when a frame is sent. User space only.
    pub max_age: Option<Duration>,
    /// User space only, except [`WhenFull::DropNewest`].
    pub when_full: WhenFull,
    /// When its frames are sent, if not on reception. User space only.
    pub timing: Option<Timing>,
    /// `CGW_MOD_UID` (`cangw -u`), by which can-gw finds the job to update its modifications.
    pub uid: Option<NonZeroU32>,
    /// Keys whose text only people read, such as `comment`, and their text, which is one line.
    pub notes: Vec<(&'static str, String)>,
}

impl Route {
    /// A route that forwards every frame unchanged, with the defaults of can-gw.
    pub fn new(name: String, from: BusIndex, to: BusIndex) -> Self {
        Self {
            name,
            from,
            to,
            mode: None,
            selections: vec![Selection::ALL],
            formats: Formats::Any,
            payload: Vec::new(),
            condition: None,
            send_as: None,
            signals: Vec::new(),
            computed: None,
            checks: Vec::new(),
            told: Vec::new(),
            guard: None,
            modifications: Modifications::NONE,
            checksums: Checksums::NONE,
            protected: None,
            echo: Echo::Off,
            hop_limit: None,
            timestamp: Timestamp::Fresh,
            incoming: Incoming::Skipped,
            is_exclusive: false,
            is_refused: false,
            max_age: None,
            when_full: WhenFull::DropNewest,
            timing: None,
            uid: None,
            notes: Vec::new(),
        }
    }
}

/// `guard` of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// An alarm is raised if no frame passes for this time.
    pub silent: Option<Duration>,
    pub alarm: Option<Alarm>,
}

/// A frame that is sent at the start of an alarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    pub to: BusIndex,
    pub frame: Frame,
}

impl Route {
    /// Violations of its `guard`, by rule.
    pub fn violations(&self) -> Vec<(Rule, u64)> {
        if self.guard.is_none() {
            return Vec::new();
        }
        Rule::ALL.into_iter().map(|rule| (rule, self.tallies().map(|tally| tally.frames(rule)).sum())).collect()
    }

    /// What its `guard` counted.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        let claimed = self.claimed().map(Claimed::tally).into_iter();
        claimed.chain(self.checks_of().map(Form::tally)).chain(self.pace().map(Pace::tally))
    }

    /// The addresses of J1939 that its `guard` protects.
    pub fn claimed(&self) -> Option<&Claimed> {
        self.checks_of().next()
    }

    /// What its `guard` requires of payloads.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.checks_of::<Form>().map(Form::shape)
    }

    /// The limits over time of its `guard`.
    pub fn pace(&self) -> Option<&Pace> {
        self.checks_of().next()
    }

    fn checks_of<T: Compute>(&self) -> impl Iterator<Item = &T> {
        self.checks.iter().filter_map(Computed::downcast_ref)
    }

    /// Verdicts of its `check`, by name, and how many frames had them.
    pub fn verdicts(&self) -> Vec<(&'static str, u64)> {
        self.judged().map(|(name, _, frames)| (name, frames)).collect()
    }

    /// As [`verdicts`](Self::verdicts), only those on frames that cannot be used.
    pub fn bad_verdicts(&self) -> Vec<(&'static str, u64)> {
        self.judged().filter(|(_, is_valid, _)| !is_valid).map(|(name, _, frames)| (name, frames)).collect()
    }

    /// Verdicts, whether such a frame can be used, and numbers of frames.
    fn judged(&self) -> impl Iterator<Item = (&'static str, bool, u64)> {
        let checked = self.checks_of::<Check>().flat_map(Check::counts);
        let checked = checked.map(|(verdict, frames)| (verdict.name(), verdict.is_valid(), frames));
        let authenticated = self.checks_of::<candor_secoc::Check>().flat_map(candor_secoc::Check::counts);
        checked.chain(authenticated.map(|(verdict, frames)| (verdict.name(), verdict.is_valid(), frames)))
    }

    /// What routes with authenticated frames follow, if this is the route of their sync frames.
    fn sync_source(&self) -> Option<SyncSource> {
        self.checks_of::<candor_secoc::Check>().next().map(|check| check.sync_source(self.name.clone()))
    }
}

/// How many buses composed frames and routes with a timing may use: one `ppoll()` waits for their sockets.
pub const MOST_COMPOSING_BUSES: usize = 64;

/// A frame that candor composes.
#[derive(Clone, Debug, PartialEq)]
pub struct ComposedFrame {
    /// Not that of a route, nor of another frame.
    pub name: String,
    pub to: BusIndex,
    /// Name of the message.
    pub message: String,
    /// With `CAN_EFF_FLAG` for 29 bits.
    pub id: RawId,
    pub format: FrameFormat,
    /// CAN FD with the data bit rate.
    pub bit_rate_switch: bool,
    /// By their number in `composition`.
    pub sources: Vec<FrameSource>,
    /// What frames must have that signals are taken from, by source; empty if none is checked.
    pub checks: Vec<Option<Computed>>,
    /// By input of `composition`.
    pub signals: Vec<FrameSignal>,
    /// [`candor_signals::compose::Composer::new`] accepts it.
    pub composition: Composition,
    /// Writes checksum and counter into each sent frame.
    pub protect: Option<Computed>,
    /// `check` of each message and `protect` in words.
    pub told: Vec<(&'static str, String)>,
}

/// No number in it is NaN.
impl Eq for ComposedFrame {}

impl ComposedFrame {
    /// Sources whose frames are checked, as bus and message, with verdicts by name and how many frames had them.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, Vec<(&'static str, u64)>)> {
        self.checks.iter().enumerate().filter_map(|(at, check)| {
            let counts = check.as_ref()?.downcast_ref::<Check>()?.counts();
            let signal = self.composition.inputs.iter().position(|input| input.source == at)?;
            let (message, _signal) = self.signals.get(signal)?.from.rsplit_once('.')?;
            Some((message, counts.map(|(verdict, frames)| (verdict.name(), frames)).collect()))
        })
    }

    /// True if it is sent on a bus, or takes signals from there.
    pub fn uses(&self, bus: BusIndex) -> bool {
        self.to == bus || self.sources.iter().any(|source| source.bus == bus)
    }
}

/// A message that signals of a composed frame are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSource {
    pub bus: BusIndex,
    /// With `CAN_EFF_FLAG` for 29 bits.
    pub id: RawId,
}

/// A signal of a composed frame that is taken from another one.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameSignal {
    pub name: String,
    /// Bus, message and signal, as written.
    pub from: String,
    /// As the database writes it.
    pub unit: String,
    /// Of the composed frame: what its bits mean.
    pub codec: Codec,
}

/// No number in it is NaN.
impl Eq for FrameSignal {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(crate) engine: Engine,
    pub(crate) realtime: Realtime,
    pub(crate) buses: Vec<Bus>,
    /// By bus.
    pub(crate) databases: Vec<Vec<Arc<Database>>>,
    pub(crate) routes: Vec<Route>,
    pub(crate) frames: Vec<ComposedFrame>,
    pub(crate) watched: Vec<ComposedFrame>,
    pub(crate) egress: Vec<Egress>,
    pub(crate) modes: Modes,
    pub(crate) traffic: Vec<Traffic>,
    pub(crate) links: Vec<Link>,
}

impl Plan {
    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// What others send, for bounds.
    pub fn traffic(&self) -> &[Traffic] {
        &self.traffic
    }

    /// True if a file of buses and traffic has no gateway.
    pub fn is_only_traffic(&self) -> bool {
        let has_queues = !self.egress.is_empty() || !self.modes().is_empty();
        !self.traffic.is_empty()
            && self.routes.is_empty()
            && self.frames.is_empty()
            && self.watched.is_empty()
            && !has_queues
    }

    pub const fn realtime(&self) -> &Realtime {
        &self.realtime
    }

    /// Keeps the route of this name out of eBPF programs, because the kernel has refused its program. Returns false if there is
    /// none, or if it was told before.
    pub fn refuse_program(&mut self, route: &str) -> bool {
        let routes = self.routes.iter_mut().chain(self.modes.routes_mut());
        let found = routes.filter(|found| found.name == route && !found.is_refused);
        found.map(|found| found.is_refused = true).count() > 0
    }

    /// In the order of the file.
    pub fn buses(&self) -> &[Bus] {
        &self.buses
    }

    /// The databases of a bus, in the order of the file.
    pub fn databases(&self, bus: BusIndex) -> &[Arc<Database>] {
        self.databases.get(bus.0).map_or(&[], Vec::as_slice)
    }

    /// Those that always exist, and those of the current mode, in the order of the file, which is the order of delivery within a
    /// receive list.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Frames that candor composes, in the order of the file.
    pub fn frames(&self) -> &[ComposedFrame] {
        &self.frames
    }

    /// Messages of buses whose signals are shown and reported: composed frames that are never sent, each of one source. Their
    /// layout is not that of the message.
    pub fn watched(&self) -> &[ComposedFrame] {
        &self.watched
    }

    /// Composed frames, and then watched messages: what the thread of composed frames runs, beside routes with a timing.
    pub fn compositions(&self) -> impl Iterator<Item = &ComposedFrame> {
        self.frames.iter().chain(&self.watched)
    }

    /// True if frames of this gateway come from or go to a bus, in any mode.
    pub fn uses(&self, bus: BusIndex) -> bool {
        let alarm = |route: &Route| Some(route.guard.as_ref()?.alarm.as_ref()?.to);
        let mut routes = self.routes.iter().chain(self.modes.routes());
        routes.any(|route| [route.from, route.to].contains(&bus) || alarm(route) == Some(bus))
            || self.modes.uses(bus)
            || self.compositions().any(|frame| frame.uses(bus))
    }

    /// True if a guard protects the addresses that are claimed on a bus.
    pub fn learns_claims(&self, bus: BusIndex) -> bool {
        self.routes.iter().any(|route| route.to == bus && route.claimed().is_some_and(Claimed::learns))
    }

    /// Buses of composed frames, of watched signals and of routes with a timing, which one thread serves.
    pub fn composing_buses(&self) -> impl Iterator<Item = BusIndex> + '_ {
        let timed = |bus| {
            let mut routes = self.routes.iter().filter(|route| route.timing.is_some());
            routes.any(|route| [route.from, route.to].contains(&bus))
        };
        let composed = |bus| self.compositions().any(|frame| frame.uses(bus));
        (0..self.buses.len()).map(BusIndex).filter(move |bus| composed(*bus) || timed(*bus))
    }

    /// True if frames are composed or signals watched, and there is no route.
    pub fn only_composes(&self) -> bool {
        self.routes.is_empty() && self.composing_buses().next().is_some()
    }

    /// In the order of the file; each bus at most once.
    pub fn egress(&self) -> &[Egress] {
        &self.egress
    }

    /// True if a queue is in the order of arbitration.
    pub fn has_arbitration(&self) -> bool {
        self.egress.iter().any(|egress| matches!(egress.queueing, Queueing::Arbitration { .. }))
    }

    pub fn bus(&self, index: BusIndex) -> &Bus {
        &self.buses[index.0]
    }

    pub fn route(&self, index: RouteIndex) -> &Route {
        &self.routes[index.0]
    }

    /// Takes over the counters of checks and protections from routes and composed frames of a running plan that have the same
    /// name and do the same, also of modes that do not last.
    pub fn go_on_from(&mut self, running: &Self) {
        let own = self.routes.iter_mut().chain(self.modes.routes_mut());
        for route in own.filter(|route| !route.checks.is_empty() || route.protected.is_some()) {
            let mut all = running.routes.iter().chain(running.modes.routes());
            let Some(before) = all.find(|before| before.name == route.name) else { continue };
            for (own, theirs) in route.checks.iter_mut().chain(&mut route.protected).flat_map(|own| {
                let theirs = before.checks.iter().chain(&before.protected).find(|theirs| *theirs == own);
                theirs.map(|theirs| (own, theirs))
            }) {
                own.clone_from(theirs);
            }
        }
        for frame in &mut self.frames {
            let before = running.frames.iter().find(|before| before.name == frame.name);
            let Some(before) = before else { continue };
            if before.protect == frame.protect {
                frame.protect.clone_from(&before.protect);
            }
            for (source, check) in frame.sources.iter().zip(&mut frame.checks) {
                let theirs = before.sources.iter().zip(&before.checks).find(|theirs| *theirs == (source, &*check));
                theirs.into_iter().for_each(|(_, theirs)| check.clone_from(theirs));
            }
        }
        // New ones must follow the sync frames that run.
        let all = self.routes.iter().chain(self.modes.routes());
        let sources: Vec<_> = all.filter_map(Route::sync_source).collect();
        let source = |name: &str| sources.iter().find(|source| source.name() == name).cloned();
        for route in self.routes.iter_mut().chain(self.modes.routes_mut()) {
            for computed in route.checks.iter_mut().chain(&mut route.protected) {
                if let Some(relinked) = candor_secoc::relinked(computed, source) {
                    *computed = relinked;
                }
            }
        }
    }

    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }
}
