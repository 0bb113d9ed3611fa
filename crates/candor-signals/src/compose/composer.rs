//! The state of a composed frame.

use std::ops::Range;

use super::check::{CompositionError, check};
use super::composition::{
    Activity, Composition, Filter, Input, InvalidAction, SignalInput, TimeoutAction, Trigger, Value,
};
use super::schedule::Schedule;
use super::{NEVER, Time, nanos};
use crate::field::Field;
use crate::scale::Scale;

/// A composed frame: what was received, and when it is due. See the [rules](super).
#[derive(Clone, Debug)]
pub struct Composer {
    composition: Composition,
    /// Groups and single inputs, by source.
    units: Box<[Unit]>,
    /// Update bits in the composed frame.
    updates: Box<[Field]>,
    states: Box<[State]>,
    schedule: Schedule,
    /// The cycle in force without and with an active signal, in nanoseconds, 0 for none.
    cycles: [u64; 2],
    now: u64,
    /// The earliest deadline of the states.
    deadline: u64,
    is_silent: bool,
    payload: Box<[u8]>,
    outgoing: Box<[u8]>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Unit {
    source: usize,
    inputs: Range<usize>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// From the input: nothing is sent before it has a value, or while it is late.
    required: bool,
    stops: bool,
    origin: Origin,
    is_late: bool,
    received: u64,
    deadline: u64,
    /// Source bits of the value in the frame, if it is one of the source.
    old: Option<u64>,
    /// The same of the last frame that was sent.
    sent: Option<u64>,
    occurrence: u32,
    outcome: Outcome,
}

impl State {
    /// True if nothing is sent because of this input.
    fn silences(&self) -> bool {
        self.required && self.origin == Origin::Start || self.stops && self.is_late
    }
}

/// What a frame means for an input.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// It does not bring it.
    Absent,
    /// It brings a value that is ignored.
    Ignored,
    /// Source bits and target bits.
    Value(u64, u64),
    /// Target bits in place of an invalid value.
    Substitute(u64),
}

/// Where the value of an input is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// [`Composition::initial`].
    Start,
    /// The source frame.
    Received,
    /// The substitute of an invalid value.
    Invalid,
    /// The substitute of a timeout.
    Timeout,
}

/// An input as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Where its value is from.
    pub origin: Origin,
    /// True from a timeout until the next reception.
    pub is_late: bool,
    /// When the source frame last brought it, whether it was taken or not.
    pub received: Option<Time>,
    /// Its raw bits in the composed frame. `None` for a whole payload.
    pub bits: Option<u64>,
}

/// A frame to send now.
#[derive(Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// Since when it was due.
    pub due: Time,
    /// Its payload: a copy that the caller may change, for example to protect it with a checksum.
    pub payload: &'a mut [u8],
}

impl Composer {
    /// Starts a composition. Call [`due`](Self::due) next.
    ///
    /// # Errors
    /// If the composition contradicts itself.
    pub fn new(composition: Composition, start: Time) -> Result<Self, CompositionError> {
        check(&composition)?;
        let inputs = &composition.inputs;
        let mut units: Vec<Unit> = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            match units.last_mut() {
                Some(last) if input.group.is_some() && inputs[at - 1].group == input.group => last.inputs.end = at + 1,
                _ => units.push(Unit { source: input.source, inputs: at..at + 1 }),
            }
        }
        candor_core::order::sort_by_key(&mut units, |one| one.source);
        let state = |input: &Input| State {
            required: input.required,
            stops: matches!(&input.timeout, Some(timeout) if timeout.action == TimeoutAction::Stop),
            origin: Origin::Start,
            is_late: false,
            received: NEVER,
            deadline: match input.timeout.as_ref().and_then(|timeout| timeout.first) {
                Some(first) => start.0.saturating_add(nanos(first)),
                None => NEVER,
            },
            old: input.signal().and_then(|signal| signal.start),
            sent: None,
            occurrence: 0,
            outcome: Outcome::Absent,
        };
        let states = inputs.iter().map(state).collect();
        let updates = inputs.iter().filter_map(|input| input.signal()?.update).collect();
        let len = composition.initial.len();
        let longest = inputs.iter().map(|one| match &one.value {
            Value::Payload { max_len, .. } => *max_len,
            Value::Signal(_) => len,
        });
        let longest = longest.max().unwrap_or(len);
        let mut payload = vec![0; longest].into_boxed_slice();
        payload[..len].copy_from_slice(&composition.initial);
        let send = &composition.send;
        let slow = send.cycle.map_or(0, nanos);
        let fast = send.fast.as_ref().map_or(slow, |fast| nanos(fast.cycle));
        let cycles = if send.sends_cyclically() { [slow, fast] } else { [0, 0] };
        let schedule = Schedule::new(send, cycles[usize::from(is_active(&composition, &payload[..len]))], start.0);
        let outgoing = payload.clone();
        let (units, now, deadline) = (units.into(), start.0, NEVER);
        let mut composer = Self {
            composition,
            units,
            updates,
            states,
            schedule,
            cycles,
            now,
            deadline,
            is_silent: false,
            payload,
            outgoing,
            len,
        };
        composer.summarize();
        Ok(composer)
    }

    /// Takes a frame, and does what is due. Returns the frame to send now. A time before that of the last call counts as
    /// that.
    #[inline]
    #[must_use]
    pub fn received(&mut self, now: Time, source: usize, payload: &[u8]) -> Option<Outgoing<'_>> {
        self.begin(now);
        let first = self.units.partition_point(|unit| unit.source < source);
        for at in first..self.units.len() {
            if self.units[at].source != source {
                break;
            }
            self.take(at, payload);
        }
        if first < self.units.len() && self.units[first].source == source {
            self.summarize();
        }
        self.finish()
    }

    /// Does what is due. Returns the frame to send now. A time before that of the last call counts as that.
    #[inline]
    #[must_use]
    pub fn advance(&mut self, now: Time) -> Option<Outgoing<'_>> {
        self.begin(now);
        self.finish()
    }

    /// When something is due: a frame or a timeout. `None`: not before the next reception.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let frame = if self.is_silent { NEVER } else { self.schedule.due() };
        Time::known(frame.min(self.deadline))
    }

    /// The payload as it would be sent now.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload[..self.len]
    }

    /// The description.
    #[must_use]
    pub const fn composition(&self) -> &Composition {
        &self.composition
    }

    /// True if nothing is sent: a required input has no value, or an input with [`TimeoutAction::Stop`] is late.
    #[must_use]
    pub const fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// The inputs as they are now, in the order of [`Composition::inputs`].
    pub fn statuses(&self) -> impl Iterator<Item = Status> {
        self.composition.inputs.iter().zip(&self.states).map(|(input, state)| Status {
            origin: state.origin,
            is_late: state.is_late,
            received: Time::known(state.received),
            bits: input.signal().and_then(|signal| signal.to.get(self.payload())),
        })
    }

    /// Timeouts that are due until now, each at its time, as if there had been a call.
    fn begin(&mut self, now: Time) {
        let now = self.now.max(now.0.min(NEVER - 1));
        // A deadline of NEVER is later than every time.
        while self.deadline <= now {
            let due = self.deadline;
            self.pass_to(due);
            self.time_out(due);
            if due < now {
                self.settle();
            }
        }
        self.pass_to(now);
    }

    /// Time passes: nothing is sent at the cyclic times in silence.
    fn pass_to(&mut self, now: u64) {
        if self.is_silent && self.now < now {
            self.schedule.skip_to(now);
        }
        self.now = now;
    }

    /// The actions of all timeouts with this deadline.
    fn time_out(&mut self, due: u64) {
        for at in 0..self.states.len() {
            if self.states[at].deadline > due {
                continue;
            }
            self.states[at].deadline = NEVER;
            let Some(timeout) = &self.composition.inputs[at].timeout else { continue };
            match &timeout.action {
                TimeoutAction::Keep | TimeoutAction::Stop => {}
                TimeoutAction::Substitute(bits) => {
                    let bits = *bits;
                    self.write(at, bits, None, Origin::Timeout);
                }
                TimeoutAction::SubstitutePayload(payload) => {
                    let is_change =
                        replace(&mut self.payload, &mut self.len, payload, mask(&self.composition.inputs[at]));
                    self.written(at, is_change, None, Origin::Timeout);
                }
            }
            self.states[at].is_late = true;
        }
        self.summarize();
    }

    /// What follows from the states of all inputs.
    fn summarize(&mut self) {
        (self.deadline, self.is_silent) = (NEVER, false);
        for state in &self.states {
            self.deadline = self.deadline.min(state.deadline);
            self.is_silent |= state.silences();
        }
    }

    /// The cycle that is in force from now on, and what is lost in silence.
    fn settle(&mut self) {
        let cycle = self.cycles[usize::from(is_active(&self.composition, &self.payload[..self.len]))];
        self.schedule.set_cycle(cycle, self.now);
        if self.is_silent {
            self.schedule.clear_events();
            self.schedule.skip_to(self.now.saturating_add(1));
        }
    }

    /// The frame that is due.
    fn finish(&mut self) -> Option<Outgoing<'_>> {
        self.settle();
        if self.is_silent {
            return None;
        }
        let due = self.schedule.send(self.now)?;
        let outgoing = &mut self.outgoing[..self.len];
        outgoing.copy_from_slice(&self.payload[..self.len]);
        for state in &mut self.states {
            state.sent = state.old;
        }
        for update in &self.updates {
            let _checked = update.set(&mut self.payload[..self.len], 0);
        }
        Some(Outgoing { due: Time(due), payload: outgoing })
    }

    /// Takes the inputs of a unit from a frame, all or none.
    fn take(&mut self, unit: usize, payload: &[u8]) {
        let range = self.units[unit].inputs.clone();
        let mut is_taken = true;
        for at in range.clone() {
            let input = &self.composition.inputs[at];
            let outcome = match &input.value {
                Value::Signal(signal) => look(input, signal, &mut self.states[at], payload),
                Value::Payload { max_len, .. } if payload.len() > *max_len => Outcome::Absent,
                Value::Payload { .. } if !passes_count(input.filter, &mut self.states[at].occurrence) => {
                    Outcome::Ignored
                }
                Value::Payload { .. } => Outcome::Value(0, 0),
            };
            self.states[at].outcome = outcome;
            is_taken &= matches!(outcome, Outcome::Value(..) | Outcome::Substitute(_));
        }
        for at in range {
            let outcome = self.states[at].outcome;
            if outcome == Outcome::Absent {
                continue;
            }
            if is_taken {
                match outcome {
                    Outcome::Substitute(bits) => self.write(at, bits, None, Origin::Invalid),
                    Outcome::Value(from, bits) if self.composition.inputs[at].signal().is_some() => {
                        self.write(at, bits, Some(from), Origin::Received);
                    }
                    _ => {
                        let mask = mask(&self.composition.inputs[at]);
                        let is_change = replace(&mut self.payload, &mut self.len, payload, mask);
                        self.written(at, is_change, None, Origin::Received);
                    }
                }
            }
            let later = self.composition.inputs[at].timeout.as_ref().map_or(NEVER, |timeout| nanos(timeout.later));
            let state = &mut self.states[at];
            state.is_late = false;
            state.received = self.now;
            state.deadline = self.now.saturating_add(later);
        }
    }

    /// Writes bits into the composed frame.
    fn write(&mut self, at: usize, bits: u64, old: Option<u64>, origin: Origin) {
        let Some(signal) = self.composition.inputs[at].signal() else { return };
        let payload = &mut self.payload[..self.len];
        let is_change = signal.to.get(payload) != Some(bits & signal.to.mask());
        // `check` has proved that both are in the payload.
        let _checked = signal.to.set(payload, bits);
        if let Some(update) = &signal.update {
            let _checked = update.set(payload, 1);
        }
        self.written(at, is_change, old, origin);
    }

    fn written(&mut self, at: usize, is_change: bool, old: Option<u64>, origin: Origin) {
        let (input, state) = (&self.composition.inputs[at], &mut self.states[at]);
        let is_event = match input.trigger {
            Trigger::Never => false,
            Trigger::OnChange => is_change || state.silences(),
            Trigger::Always => true,
        };
        if is_event {
            self.schedule.add_event(self.now, input.repeats);
        }
        state.origin = origin;
        state.old = old;
        if old.is_none() {
            state.sent = None;
        }
    }
}

fn is_active(composition: &Composition, payload: &[u8]) -> bool {
    let Some(fast) = &composition.send.fast else { return false };
    fast.field.get(payload).is_some_and(|bits| match fast.active {
        Activity::Equals(value) => bits == value,
        Activity::Differs(value) => bits != value,
    })
}

/// What the frame means for a signal.
#[inline]
fn look(input: &Input, signal: &SignalInput, state: &mut State, payload: &[u8]) -> Outcome {
    let Some(bits) = signal.from.get(payload) else { return Outcome::Absent };
    if signal.updated.as_ref().is_some_and(|updated| updated.get(payload) != Some(1)) {
        return Outcome::Absent;
    }
    if let Some(invalid) = signal.invalid.filter(|invalid| invalid.bits == bits) {
        return match invalid.action {
            InvalidAction::Ignore => Outcome::Ignored,
            InvalidAction::Substitute(bits) => Outcome::Substitute(bits),
        };
    }
    if !passes(input.filter, signal.from.scale(), bits, state) {
        return Outcome::Ignored;
    }
    signal.conversion.bits(bits).map_or(Outcome::Ignored, |target| Outcome::Value(bits, target))
}

#[inline]
fn passes(filter: Filter, scale: &Scale, bits: u64, state: &mut State) -> bool {
    match filter {
        Filter::MaskedEquals { mask, value } => bits & mask == value,
        Filter::MaskedDiffers { mask, value } => bits & mask != value,
        Filter::MaskedDiffersOld { mask } => state.old.is_none_or(|old| bits & mask != old & mask),
        Filter::Within { min, max } => (min..=max).contains(&scale.raw(bits)),
        Filter::Outside { min, max } => !(min..=max).contains(&scale.raw(bits)),
        Filter::Deadband(most) => {
            state.sent.is_none_or(|sent| scale.raw(bits).abs_diff(scale.raw(sent)) > u128::from(most))
        }
        Filter::Always | Filter::Never | Filter::OneEvery { .. } => passes_count(filter, &mut state.occurrence),
    }
}

/// Filters that do not look at the value.
fn passes_count(filter: Filter, occurrence: &mut u32) -> bool {
    match filter {
        Filter::OneEvery { period, offset } => {
            let is_one = *occurrence == offset;
            *occurrence = if *occurrence + 1 == period { 0 } else { *occurrence + 1 };
            is_one
        }
        other => other != Filter::Never,
    }
}

fn mask(input: &Input) -> &[u8] {
    match &input.value {
        Value::Payload { mask, .. } => mask,
        Value::Signal(_) => &[],
    }
}

/// Replaces the payload. True if it differs under the mask.
fn replace(payload: &mut [u8], len: &mut usize, new: &[u8], mask: &[u8]) -> bool {
    let old = &payload[..*len];
    let masks = mask.iter().copied().chain(std::iter::repeat(u8::MAX));
    let is_change =
        old.len() != new.len() || old.iter().zip(new).zip(masks).any(|((old, new), mask)| (old ^ new) & mask != 0);
    payload[..new.len()].copy_from_slice(new);
    *len = new.len();
    is_change
}
