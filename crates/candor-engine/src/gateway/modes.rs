//! Modes: the frames that enter and leave them, their end, and what announces them. The threads that forward have no
//! part in it; a mode is entered and left by a reload of the plan that runs.

use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use candor_config::changes::Changes;
use candor_config::plan::{BusIndex, Mode, ModeFrame, Plan};
use candor_core::causes::in_full;
use candor_core::filter::Filter;
use candor_core::frame::CANXL_MTU;
use candor_io::can::{CanSocket, InterfaceIndex, Options, Stamps};
use candor_io::clock::RealtimeNs;
use candor_io::errno::ENETDOWN;

use super::guards::send;
use super::{Gateway, GoneRoute, Reload};
use crate::error::GatewayError;
use candor_userspace::counters::RouteCounters;
use candor_userspace::notice::Notice;
use candor_userspace::preflight::Interfaces;
use candor_userspace::run_dir::Entry;

/// Time between two looks at the frames that enter and leave modes: a flood of them takes no more time than none.
const LOOK: Duration = Duration::from_millis(250);
/// Frames of one look at a socket; the others are looked at the next time.
const MOST_FRAMES: usize = 512;
/// Time after a refused change, by a frame or at the end of a mode, before the next one is tried.
const AGAIN: Duration = Duration::from_secs(1);
/// A mode that could not be left so often ends the gateway.
const MOST_REFUSALS: u32 = 5;

/// A mode that was entered or left, or could not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// The mode before.
    pub before: Option<String>,
    /// The mode that was to be entered; `None`: to be in none.
    pub wanted: Option<String>,
    pub cause: ModeCause,
    /// What changed; or why nothing did.
    pub outcome: Result<ModeOutcome, String>,
}

/// What a change of the mode has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModeOutcome {
    pub changes: Changes,
    /// Routes that ceased, with their counters.
    pub gone_routes: Vec<GoneRoute>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeCause {
    Command,
    Frame,
    /// The time of the mode is over.
    Time,
}

impl ModeCause {
    /// `command`, `frame` or `time`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Frame => "frame",
            Self::Time => "time",
        }
    }
}

/// What is known of the modes, apart from the current one, which the plan knows.
#[derive(Debug, Default)]
pub(super) struct Modes {
    ears: Vec<Ear>,
    /// Modes whose frames cannot be received, which was reported.
    deaf: BTreeSet<String>,
    /// Buses on which the current mode cannot be announced, which was reported.
    mute: BTreeSet<BusIndex>,
    lasting: Option<Lasting>,
    looked: Option<Instant>,
    /// No mode is entered by a frame before.
    refused_until: Option<Instant>,
    /// Counters of routes whose mode does not last, by name.
    pub(super) resting: HashMap<String, RouteCounters>,
    /// The record of a gateway without routes.
    pub(super) idle: Idle,
}

/// An ownership record while no part of the gateway has one: without routes.
#[derive(Debug, Default)]
pub(super) struct Idle(Option<Entry>);

/// A socket for the frame that enters or leaves a mode.
#[derive(Debug)]
struct Ear {
    frame: ModeFrame,
    interface: InterfaceIndex,
    socket: CanSocket,
}

/// The current mode.
#[derive(Clone, Copy, Debug)]
struct Lasting {
    until: Instant,
    /// When it is announced next.
    announce: Instant,
    /// How often it could not be left.
    refusals: u32,
}

impl Idle {
    pub(super) fn announce(&mut self, entry: Option<Entry>) {
        self.forget();
        self.0 = entry;
    }

    pub(super) fn forget(&mut self) {
        self.0.take().iter().for_each(Entry::forget);
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Modes {
    /// Opens sockets for the frames that matter in this mode, and closes others.
    fn listen(&mut self, plan: &Plan, interfaces: &Interfaces, notices: &mut Vec<Notice>) {
        // Of all modes: one that is entered may be left before the next look.
        let leaves = plan.modes().iter().filter_map(|mode| Some((mode, mode.leave.as_ref()?)));
        let enters = plan.modes().iter().filter_map(|mode| Some((mode, mode.enter.as_ref()?)));
        let wanted: Vec<_> = leaves.chain(enters).collect();
        self.ears.retain(|ear| {
            interfaces.present(ear.frame.from) == Some(ear.interface)
                && wanted.iter().any(|(_, frame)| **frame == ear.frame)
        });
        for (mode, frame) in wanted {
            let Some(interface) = interfaces.present(frame.from) else { continue };
            if self.ears.iter().any(|ear| ear.frame == *frame) {
                continue;
            }
            let filters = [Filter::exact(frame.frame.id)];
            let options = Options { filters: &filters, stamps: Stamps::On, ..Options::default() };
            match CanSocket::open(interface, &options) {
                Ok(socket) => {
                    self.deaf.remove(&mode.name);
                    self.ears.push(Ear { frame: frame.clone(), interface, socket });
                }
                Err(why) => {
                    if self.deaf.insert(mode.name.clone()) {
                        notices.push(Notice::ModeNotHeard { mode: mode.name.clone(), why: why.to_string() });
                    }
                }
            }
        }
    }

    /// The frames that were received since the last look, in the order in which each came last.
    fn heard(&mut self) -> Vec<ModeFrame> {
        let mut heard = Vec::new();
        self.ears.retain(|ear| {
            let (is_open, last) = ear.read();
            heard.extend(last.map(|at| (at, ear.frame.clone())));
            is_open
        });
        candor_core::order::sort_by_key(&mut heard, |(at, _)| *at);
        heard.into_iter().map(|(_, frame)| frame).collect()
    }

    /// Sends the frame of the announcement if it is due.
    fn announce(&mut self, plan: &Plan, interfaces: &Interfaces, now: Instant, notices: &mut Vec<Notice>) {
        let (Some(mode), Some(lasting)) = (plan.mode(), &mut self.lasting) else { return };
        let Some(announce) = mode.announce.as_ref().filter(|_| lasting.announce <= now) else { return };
        // Late ones are not caught up.
        lasting.announce = (lasting.announce + announce.every).max(now + announce.every / 2);
        for &bus in &announce.to {
            match send(&announce.frame, bus, interfaces) {
                None => {
                    self.mute.remove(&bus);
                }
                Some(why) if self.mute.insert(bus) => {
                    let (mode, bus) = (mode.name.clone(), plan.bus(bus).name.clone());
                    notices.push(Notice::ModeNotAnnounced { mode, bus, why });
                }
                Some(_told) => {}
            }
        }
    }

    /// Says that a mode is over.
    fn announce_end(mode: Option<&Mode>, interfaces: &Interfaces) {
        let Some(announce) = mode.and_then(|mode| mode.announce.as_ref()) else { return };
        for (bus, frame) in announce.to.iter().flat_map(|bus| announce.at_end.as_ref().map(|frame| (*bus, frame))) {
            // The announcements have ended anyway.
            let _ = send(frame, bus, interfaces);
        }
    }
}

impl Ear {
    /// Whether the socket is of use further on, and when its frame was received last.
    fn read(&self) -> (bool, Option<RealtimeNs>) {
        let mut bytes = [0; CANXL_MTU];
        let mut last = None;
        for _ in 0..MOST_FRAMES {
            match self.socket.hear(&mut bytes) {
                Ok(Some(heard)) if self.frame.is(&bytes[..heard.len]) => last = Some(heard.at),
                Ok(Some(_other)) => {}
                Ok(None) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted || error.raw_os_error() == Some(ENETDOWN) => {}
                Err(_gone) => return (false, last),
            }
        }
        (true, last)
    }
}

impl Gateway {
    /// The current mode, and the time until it ends.
    #[must_use]
    pub fn mode(&self) -> Option<(&Mode, Duration)> {
        let left = self.modes.lasting?.until.saturating_duration_since(Instant::now());
        Some((self.plan.mode()?, left))
    }

    /// Time until [`look_at_modes`](Self::look_at_modes) is due; `None` without modes.
    #[must_use]
    pub fn modes_due_within(&self) -> Option<Duration> {
        if self.plan.modes().is_empty() {
            return None;
        }
        let now = Instant::now();
        let has_frames = self.plan.modes().iter().any(|mode| mode.enter.is_some() || mode.leave.is_some());
        let look = has_frames.then(|| self.modes.looked.map_or(now, |looked| looked + LOOK));
        let lasting = self.modes.lasting.iter();
        let is_announced = self.plan.mode().is_some_and(|mode| mode.announce.is_some());
        let times = lasting.flat_map(|lasting| [Some(lasting.until), Some(lasting.announce).filter(|_| is_announced)]);
        times.flatten().chain(look).min().map(|due| due.saturating_duration_since(now))
    }

    /// Receives the frames of modes, ends the current one when its time is over, and announces it.
    ///
    /// # Errors
    /// [`GatewayError`] if the gateway cannot continue, also because a mode cannot be left.
    pub fn look_at_modes(&mut self, notify: &mut dyn FnMut(Notice)) -> Result<Option<ModeChange>, GatewayError> {
        if self.plan.modes().is_empty() {
            return Ok(None);
        }
        let now = Instant::now();
        let mut notices = Vec::new();
        if self.modes.looked.is_none_or(|looked| looked + LOOK <= now) {
            self.modes.looked = Some(now);
            self.modes.listen(&self.plan, &self.interfaces, &mut notices);
        }
        let change = self.change_of_mode(now, notify)?;
        self.modes.announce(&self.plan, &self.interfaces, Instant::now(), &mut notices);
        notices.into_iter().for_each(notify);
        Ok(change)
    }

    fn change_of_mode(
        &mut self,
        now: Instant,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Option<ModeChange>, GatewayError> {
        let heard = self.modes.heard();
        // What lasts after all of them, and whether one entered it.
        let (mut last, mut is_entered) = (self.plan.mode(), false);
        for frame in &heard {
            let is = |wanted: &Option<ModeFrame>| wanted.as_ref() == Some(frame);
            if last.is_some_and(|mode| is(&mode.leave)) {
                (last, is_entered) = (None, false);
            } else if let Some(mode) = self.plan.modes().iter().find(|mode| is(&mode.enter)) {
                (last, is_entered) = (Some(mode), true);
            }
        }
        if last.is_none() && self.plan.mode().is_some() {
            return self.switch_mode(None, ModeCause::Frame, notify).map(Some);
        }
        let entered = last.filter(|_| is_entered).map(|mode| mode.name.clone());
        if self.modes.lasting.is_some_and(|lasting| lasting.until <= now) {
            return self.switch_mode(None, ModeCause::Time, notify).map(Some);
        }
        let Some(entered) = entered.filter(|_| self.modes.refused_until.is_none_or(|until| until <= now)) else {
            return Ok(None);
        };
        let change = self.switch_mode(Some(&entered), ModeCause::Frame, notify)?;
        if change.outcome.is_err() {
            self.modes.refused_until = Some(now + AGAIN);
        }
        // A frame that is repeated only lengthens the mode.
        Ok(Some(change).filter(|change| change.before != change.wanted))
    }

    /// Enters a mode, or leaves the current one. Entering the current one begins its time again. A mode that cannot be
    /// entered changes nothing; [`look_at_modes`](Self::look_at_modes) tries each second to leave one that stays.
    ///
    /// # Errors
    /// [`GatewayError`] if the gateway cannot continue, also because a mode could not be left several times.
    pub fn switch_mode(
        &mut self,
        wanted: Option<&str>,
        cause: ModeCause,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<ModeChange, GatewayError> {
        let now = Instant::now();
        let before = self.plan.mode().map(|mode| mode.name.clone());
        let outcome = if before.as_deref() == wanted {
            if let (Some(mode), Some(lasting)) = (self.plan.mode(), &mut self.modes.lasting) {
                (lasting.until, lasting.refusals) = (now + mode.lasts, 0);
            }
            Ok(ModeOutcome::default())
        } else {
            let plan = match wanted {
                Some(name) => self.plan.in_mode(name).ok_or_else(|| "the gateway has no such mode".to_owned()),
                None => Ok(self.plan.in_no_mode()),
            };
            match plan {
                Ok(plan) => self.exchange_mode(plan, now, notify)?,
                Err(why) => Err(why),
            }
        };
        if let (None, Some(mode), Err(why)) = (wanted, &before, &outcome) {
            self.mode_stays(mode, why, now)?;
        }
        Ok(ModeChange { before, wanted: wanted.map(str::to_owned), cause, outcome })
    }

    fn exchange_mode(
        &mut self,
        plan: Plan,
        now: Instant,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Result<ModeOutcome, String>, GatewayError> {
        let before = self.plan.clone();
        Ok(match self.exchange(plan, notify)? {
            Reload::Done(reloaded) => {
                Modes::announce_end(before.mode(), &self.interfaces);
                self.begin_mode(now);
                let changes = Changes::between(Some(&before), Some(&self.plan));
                Ok(ModeOutcome { changes, gone_routes: reloaded.gone_routes })
            }
            Reload::Refused(error) => Err(in_full(&error)),
        })
    }

    /// The time of the current mode, if any, begins.
    fn begin_mode(&mut self, now: Instant) {
        let lasting = |mode: &Mode| Lasting { until: now + mode.lasts, announce: now, refusals: 0 };
        self.modes.lasting = self.plan.mode().map(lasting);
        self.modes.mute.clear();
        // Frames for the mode are received from now on.
        self.modes.looked = None;
    }

    /// A mode that could not be left is left later, or the gateway ends.
    fn mode_stays(&mut self, mode: &str, why: &str, now: Instant) -> Result<(), GatewayError> {
        let Some(lasting) = &mut self.modes.lasting else { return Ok(()) };
        lasting.refusals += 1;
        lasting.until = now + AGAIN;
        if lasting.refusals < MOST_REFUSALS {
            return Ok(());
        }
        Err(GatewayError::ModeStays { mode: mode.to_owned(), why: why.to_owned() })
    }

    /// A new file: its plan in the current mode, if it has this mode.
    pub(super) fn in_current_mode(&self, plan: Plan) -> Plan {
        let goes_on = self.plan.mode().and_then(|mode| plan.in_mode(&mode.name));
        goes_on.unwrap_or(plan)
    }

    /// After a reload of the file. The time of the current mode goes on, but is not longer than in the new file.
    pub(super) fn mode_goes_on(&mut self, before: Option<&Mode>) {
        let now = Instant::now();
        match (self.plan.mode(), &mut self.modes.lasting) {
            (Some(mode), Some(lasting)) => lasting.until = lasting.until.min(now + mode.lasts),
            (None, lasting) => {
                if lasting.take().is_some() {
                    Modes::announce_end(before, &self.interfaces);
                }
            }
            (Some(_), None) => {}
        }
        self.modes.looked = None;
    }

    /// At the end of the gateway.
    pub(super) fn end_mode(&mut self) {
        Modes::announce_end(self.plan.mode().filter(|_| self.modes.lasting.is_some()), &self.interfaces);
        self.modes.lasting = None;
    }
}
