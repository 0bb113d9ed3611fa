//! Alarms of guards. The threads that forward only count; this looks at what they counted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use candor_config::plan::{Alarm, BusIndex, Plan, Route, RouteIndex};
use candor_core::filter::ReceiveList;
use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_core::job::RealtimeNs;
use candor_guard::{Evidence, Rule};
use candor_io::can::{CanSocket, Loopback, Options};

use candor_userspace::preflight::Interfaces;

/// The longest time between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// The shortest one, for short times of silence.
const SHORTEST_LOOK: Duration = Duration::from_millis(20);
/// An alarm that goes on is told again after this time, and is over when as long has passed without a violation.
const AGAIN: Duration = Duration::from_secs(10);

/// Something that a guard found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardEvent {
    /// Route with the guard.
    pub route: RouteIndex,
    pub what: GuardFinding,
    /// Why the frame of the alarm could not be sent.
    pub not_sent: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardFinding {
    /// Frames violated a rule.
    Violation {
        rule: Rule,
        /// Since the last event of this rule.
        frames: u64,
        /// The last one, unless a reload has just begun a new count.
        last: Option<Evidence>,
        /// True if it has been told before.
        goes_on: bool,
    },
    /// No frame violated the rule for a while.
    Over { rule: Rule },
    /// No frame passed for the time of `silent`; without an identifier if all frames of the route count.
    Silent { id: Option<RawId>, after: Duration },
    /// A frame passed again.
    Heard { id: Option<RawId> },
}

/// What is known of all guards.
#[derive(Debug, Default)]
pub struct Guards {
    /// By route name, so that it outlives a reload.
    routes: BTreeMap<String, Watched>,
    looked: Option<Instant>,
}

#[derive(Debug, Default)]
struct Watched {
    alarms: [Recurring; Rule::ALL.len()],
    heard: BTreeMap<Option<u32>, (RealtimeNs, Instant)>,
    silent: BTreeSet<Option<u32>>,
}

/// An alarm that is told once, again every 10 s while it goes on, and when it is over.
#[derive(Clone, Debug, Default)]
pub struct Recurring {
    /// How many were counted at the last look.
    counted: u64,
    raised: Option<Raised>,
}

#[derive(Clone, Copy, Debug)]
struct Raised {
    told: Instant,
    /// When the last violation was seen.
    last: Instant,
    /// Not told yet.
    frames: u64,
}

/// What is to be told of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// This number of frames raised it.
    Begins(u64),
    /// This number of frames since it was told last.
    GoesOn(u64),
    /// No frame for 10 s.
    Over,
}

impl Recurring {
    /// Takes the number of frames so far; less than before if a new count has begun.
    pub fn look(&mut self, total: u64, now: Instant) -> impl Iterator<Item = Told> + use<> {
        let new = if total >= self.counted { total - self.counted } else { total };
        self.counted = total;
        let (mut told, mut over) = (None, None);
        match &mut self.raised {
            None if new > 0 => {
                told = Some(Told::Begins(new));
                self.raised = Some(Raised { told: now, last: now, frames: 0 });
            }
            None => {}
            Some(raised) => {
                raised.frames += new;
                if new > 0 {
                    raised.last = now;
                }
                let is_over = now.duration_since(raised.last) >= AGAIN;
                if raised.frames > 0 && (is_over || now.duration_since(raised.told) >= AGAIN) {
                    told = Some(Told::GoesOn(raised.frames));
                    (raised.told, raised.frames) = (now, 0);
                }
                if is_over {
                    self.raised = None;
                    over = Some(Told::Over);
                }
            }
        }
        told.into_iter().chain(over)
    }
}

impl Guards {
    /// Time until the next look; `None` without guards.
    #[must_use]
    pub fn due_within(&self, plan: &Plan, now: Instant) -> Option<Duration> {
        let guards = plan.routes().iter().filter_map(|route| route.guard.as_ref());
        let of = |silent: Option<Duration>| silent.map_or(LOOK, |silent| (silent / 4).clamp(SHORTEST_LOOK, LOOK));
        let every = guards.map(|guard| of(guard.silent)).min()?;
        Some(self.looked.map_or(Duration::ZERO, |looked| (looked + every).saturating_duration_since(now)))
    }

    /// Looks at all guards. `send` sends the frame of an alarm, and returns why not if that fails.
    pub fn look(
        &mut self,
        plan: &Plan,
        now: Instant,
        mut send: impl FnMut(&Alarm) -> Option<String>,
    ) -> Vec<GuardEvent> {
        self.looked = Some(now);
        let mut events = Vec::new();
        for (at, route) in plan.routes().iter().enumerate() {
            let Some(guard) = &route.guard else { continue };
            let watched = self.routes.entry(route.name.clone()).or_default();
            let mut found = watched.violations(route, now);
            if let Some(silent) = guard.silent {
                watched.silences(route, silent, now, &mut found);
            }
            let route = RouteIndex(at);
            events.extend(found.into_iter().map(|what| {
                let begins =
                    matches!(what, GuardFinding::Violation { goes_on: false, .. } | GuardFinding::Silent { .. });
                let alarm = guard.alarm.as_ref().filter(|_| begins);
                GuardEvent { route, what, not_sent: alarm.and_then(&mut send) }
            }));
        }
        self.routes.retain(|name, _| plan.routes().iter().any(|route| route.name == *name));
        events
    }
}

/// Sends a frame of the gateway itself; why not, if that fails.
pub(super) fn send(frame: &Frame, to: BusIndex, interfaces: &Interfaces) -> Option<String> {
    let Some(interface) = interfaces.present(to) else { return Some("the interface is gone".to_owned()) };
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    let options = Options { filters: &[], loopback: Loopback::On, ..Options::default() };
    let sent = CanSocket::open(interface, &options).and_then(|socket| socket.send_now(&bytes[..len]));
    sent.err().map(|error| error.to_string())
}

impl Watched {
    fn violations(&mut self, route: &Route, now: Instant) -> Vec<GuardFinding> {
        let mut found = Vec::new();
        let last = |rule| route.tallies().find_map(|tally| tally.last(rule));
        for (rule, total) in route.violations() {
            found.extend(self.alarms[rule as usize].look(total, now).map(|told| match told {
                Told::Begins(frames) => GuardFinding::Violation { rule, frames, last: last(rule), goes_on: false },
                Told::GoesOn(frames) => GuardFinding::Violation { rule, frames, last: last(rule), goes_on: true },
                Told::Over => GuardFinding::Over { rule },
            }));
        }
        found
    }

    fn silences(&mut self, route: &Route, silent: Duration, now: Instant, found: &mut Vec<GuardFinding>) {
        let Some(pace) = route.pace() else { return };
        for (id, at) in pace.last_frames() {
            let heard = self.heard.entry(id.map(|id| id.0)).or_insert((RealtimeNs::UNKNOWN, now));
            if heard.0 != at {
                *heard = (at, now);
            }
        }
        let expected = route.selections.iter().map(|selection| selection.filter.normalise());
        let expected = expected.filter(|filter| filter.list == ReceiveList::Exact).map(|filter| filter.id);
        let keys: Vec<_> = if pace.is_shared() { vec![None] } else { expected.map(Some).collect() };
        for key in keys {
            self.heard.entry(key).or_insert((RealtimeNs::UNKNOWN, now));
        }
        for (key, (_, heard)) in &self.heard {
            let id = key.map(RawId);
            if now.duration_since(*heard) < silent {
                if self.silent.remove(key) {
                    found.push(GuardFinding::Heard { id });
                }
            } else if self.silent.insert(*key) {
                found.push(GuardFinding::Silent { id, after: silent });
            }
        }
    }
}
