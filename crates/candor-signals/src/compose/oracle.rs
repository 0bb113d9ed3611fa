//! The [rules](super) again, slow and obvious: what tests compare [`Composer`](super::Composer) with.
//!
//! It keeps all that happened, lets the time pass nanosecond by nanosecond, and answers every question by a search in that
//! history. Only tests with small times can use it.

use std::rc::Rc;

use super::{
    Activity, Composition, Conversion, Filter, Input, InvalidAction, Origin, Other, Status, Time, TimeoutAction,
    Trigger, Value,
};
use crate::database::Signal;

/// All that happened to a composed frame.
#[derive(Clone, Debug)]
pub struct Oracle {
    composition: Rc<Composition>,
    /// For each input that is rescaled, the source signal and the target signal.
    signals: Rc<[Option<(Signal, Signal)>]>,
    start: u64,
    now: u64,
    history: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    time: u64,
    what: What,
}

/// Inputs are numbers.
#[derive(Clone, Debug)]
enum What {
    /// A frame brought the input.
    Brought(usize),
    /// Its filter saw a value.
    Filtered(usize),
    /// Something was written. `taken` are source bits that a filter compares with.
    Written { input: usize, origin: Origin, content: Content, taken: Option<u64>, is_event: bool },
    /// Its timeout was over.
    Late(usize),
    /// A cyclic time came.
    Cyclic,
    /// All that waited was lost in silence.
    Lost,
    /// A frame was sent, and what for.
    Sent { is_event: bool, repeats: bool, is_repetition: bool },
}

#[derive(Clone, Debug)]
enum Content {
    Bits(u64),
    Payload(Vec<u8>),
}

/// What a frame means for an input.
enum Meaning {
    Absent,
    Ignored,
    Taken { content: Content, origin: Origin, taken: Option<u64> },
}

impl Oracle {
    /// Starts. `signals` has an element for each input: for those that are rescaled the source signal and the target signal.
    #[must_use]
    pub fn new(composition: Composition, signals: Vec<Option<(Signal, Signal)>>, start: Time) -> Self {
        let (composition, signals) = (Rc::new(composition), signals.into());
        let mut oracle = Self { composition, signals, start: start.nanos(), now: start.nanos(), history: Vec::new() };
        oracle.come();
        oracle
    }

    /// Takes a frame. Returns since when a frame is due, and its payload.
    pub fn received(&mut self, now: Time, source: usize, payload: &[u8]) -> Option<(Time, Vec<u8>)> {
        self.pass_to(now.nanos());
        let groups: Vec<_> = self.composition.inputs.iter().map(|one| one.group).enumerate().collect();
        for together in groups.chunk_by(|(_, left), (_, right)| left.is_some() && left == right) {
            if self.composition.inputs[together[0].0].source == source {
                self.take(together.iter().map(|(at, _)| *at), payload);
            }
        }
        self.finish()
    }

    /// Returns since when a frame is due, and its payload.
    pub fn advance(&mut self, now: Time) -> Option<(Time, Vec<u8>)> {
        self.pass_to(now.nanos());
        self.finish()
    }

    /// When something is due, if it is in the next `most` nanoseconds.
    #[must_use]
    pub fn due(&self, most: u64) -> Option<Time> {
        let mut later = self.clone();
        for _ in 0..=most {
            let timeout = (0..later.composition.inputs.len()).any(|at| later.is_over(at));
            if timeout || !later.is_silent() && later.frame_due().is_some_and(|due| due <= later.now) {
                return Some(Time::from_nanos(later.now));
            }
            later.step();
        }
        None
    }

    /// True if nothing is sent.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        (0..self.composition.inputs.len()).any(|at| self.silences(at))
    }

    /// The inputs as they are now.
    #[must_use]
    pub fn statuses(&self) -> Vec<Status> {
        let payload = self.payload();
        let status = |at: usize| Status {
            origin: self.origin(at),
            is_late: self.is_late(at),
            received: self.last(|what| matches!(what, What::Brought(one) if *one == at)).map(Time::from_nanos),
            bits: self.composition.inputs[at].signal().and_then(|signal| signal.to.get(&payload)),
        };
        (0..self.composition.inputs.len()).map(status).collect()
    }

    /// All writes again, from the start.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = self.composition.initial.to_vec();
        for entry in &self.history {
            match &entry.what {
                What::Written { input, content: Content::Bits(bits), .. } => {
                    let signal = self.composition.inputs[*input].signal().expect("bits are of a signal");
                    assert!(signal.to.set(&mut payload, *bits), "the place is in the payload");
                    if let Some(update) = signal.update {
                        assert!(update.set(&mut payload, 1), "the place is in the payload");
                    }
                }
                What::Written { content: Content::Payload(new), .. } => payload.clone_from(new),
                What::Sent { .. } => {
                    for update in self.composition.inputs.iter().filter_map(|one| one.signal()?.update) {
                        assert!(update.set(&mut payload, 0), "the place is in the payload");
                    }
                }
                _ => {}
            }
        }
        payload
    }

    // Time.

    /// Lets time pass until a call. All before the call is done.
    fn pass_to(&mut self, time: u64) {
        while self.now < time {
            self.step();
        }
        self.time_out();
    }

    /// The present nanosecond ends, and the next one begins.
    fn step(&mut self) {
        self.time_out();
        self.settle();
        let cycle = self.cycle();
        self.now += 1;
        self.come_by(cycle);
    }

    fn come(&mut self) {
        self.come_by(self.cycle());
    }

    /// Is this nanosecond a cyclic time of the cycle that was in force until it?
    fn come_by(&mut self, cycle: Option<u64>) {
        let origin = self.start + super::nanos(self.composition.send.offset);
        if cycle.is_some_and(|cycle| self.now >= origin && (self.now - origin).is_multiple_of(cycle)) {
            self.note(What::Cyclic);
        }
    }

    /// The actions of timeouts.
    fn time_out(&mut self) {
        let over: Vec<usize> = (0..self.composition.inputs.len()).filter(|at| self.is_over(*at)).collect();
        for input in over {
            let timeout = self.composition.inputs[input].timeout.clone().expect("it is over");
            match timeout.action {
                TimeoutAction::Keep | TimeoutAction::Stop => {}
                TimeoutAction::Substitute(bits) => self.write(input, Content::Bits(bits), Origin::Timeout, None),
                TimeoutAction::SubstitutePayload(new) => {
                    self.write(input, Content::Payload(new.to_vec()), Origin::Timeout, None);
                }
            }
            self.note(What::Late(input));
        }
    }

    /// What waits in silence is lost.
    fn settle(&mut self) {
        if self.is_silent() {
            self.note(What::Lost);
        }
    }

    fn finish(&mut self) -> Option<(Time, Vec<u8>)> {
        self.settle();
        let due = self.frame_due().filter(|due| *due <= self.now && !self.is_silent())?;
        let payload = self.payload();
        let is_come = |due: Option<u64>| due.is_some_and(|due| due <= self.now);
        let (is_event, is_repetition) = (is_come(self.event_due()), is_come(self.repetition_due()));
        let repeats = is_event && self.waiting_events().any(|(_, repeats)| repeats);
        self.note(What::Sent { is_event, repeats, is_repetition });
        Some((Time::from_nanos(due), payload))
    }

    // Reasons to send.

    fn frame_due(&self) -> Option<u64> {
        [self.event_due(), self.repetition_due(), self.cyclic_due()].into_iter().flatten().min()
    }

    /// Events that no frame was sent for, with their time, and whether they are repeated.
    fn waiting_events(&self) -> impl Iterator<Item = (u64, bool)> {
        let ends = |what: &What| matches!(what, What::Sent { is_event: true, .. } | What::Lost);
        let since = self.history.iter().rposition(|entry| ends(&entry.what)).map_or(0, |at| at + 1);
        self.history[since..].iter().filter_map(|entry| match entry.what {
            What::Written { input, is_event: true, .. } => Some((entry.time, self.composition.inputs[input].repeats)),
            _ => None,
        })
    }

    fn event_due(&self) -> Option<u64> {
        let first = self.waiting_events().map(|(time, _)| time).min()?;
        let last = self.last(|what| match what {
            What::Sent { is_event, .. } => *is_event || self.composition.send.delays_all,
            _ => false,
        });
        Some(self.delayed(first, last))
    }

    fn cyclic_due(&self) -> Option<u64> {
        let ends = |what: &What| matches!(what, What::Sent { .. } | What::Lost);
        let since = self.history.iter().rposition(|entry| ends(&entry.what)).map_or(0, |at| at + 1);
        let first = self.history[since..].iter().find(|entry| matches!(entry.what, What::Cyclic))?.time;
        Some(if self.composition.send.delays_all { self.delayed(first, self.last_sent()) } else { first })
    }

    fn repetition_due(&self) -> Option<u64> {
        let send = &self.composition.send;
        let is_origin = |what: &What| matches!(what, What::Sent { is_event: true, repeats: true, .. });
        let origin = self.history.iter().rposition(|entry| is_origin(&entry.what))?;
        let after = &self.history[origin + 1..];
        let is_cancelled = after.iter().any(|entry| match entry.what {
            What::Lost => true,
            What::Written { input, is_event, .. } => is_event && self.composition.inputs[input].repeats,
            _ => false,
        });
        let is_repetition = |entry: &&Entry| matches!(entry.what, What::Sent { is_repetition: true, .. });
        let done = after.iter().filter(is_repetition).count();
        if is_cancelled || done >= usize::try_from(send.repetitions).ok()? {
            return None;
        }
        let last = after.iter().rfind(is_repetition).unwrap_or(&self.history[origin]).time;
        let due = last + super::nanos(send.repetition_period);
        Some(if send.delays_all { self.delayed(due, self.last_sent()) } else { due })
    }

    fn last_sent(&self) -> Option<u64> {
        self.last(|what| matches!(what, What::Sent { .. }))
    }

    /// Not before the minimum delay after another time.
    fn delayed(&self, time: u64, last: Option<u64>) -> u64 {
        last.map_or(time, |last| time.max(last + super::nanos(self.composition.send.min_delay)))
    }

    /// The cycle in force.
    fn cycle(&self) -> Option<u64> {
        let send = &self.composition.send;
        if !send.sends_cyclically() {
            return None;
        }
        let is_active = send.fast.as_ref().is_some_and(|fast| {
            fast.field.get(&self.payload()).is_some_and(|bits| match fast.active {
                Activity::Equals(value) => bits == value,
                Activity::Differs(value) => bits != value,
            })
        });
        let cycle = if is_active { send.fast.as_ref().map(|fast| fast.cycle) } else { send.cycle };
        cycle.map(super::nanos)
    }

    // Inputs.

    /// The inputs of a group, or one input.
    fn take(&mut self, together: impl Iterator<Item = usize>, payload: &[u8]) {
        let meanings: Vec<(usize, Meaning)> = together.map(|at| (at, self.meaning(at, payload))).collect();
        let all = meanings.iter().all(|(_, meaning)| matches!(meaning, Meaning::Taken { .. }));
        for (at, meaning) in meanings {
            if matches!(meaning, Meaning::Absent) {
                continue;
            }
            if let (true, Meaning::Taken { content, origin, taken }) = (all, meaning) {
                self.write(at, content, origin, taken);
            }
            self.note(What::Brought(at));
        }
    }

    fn meaning(&mut self, at: usize, payload: &[u8]) -> Meaning {
        let composition = Rc::clone(&self.composition);
        let input = &composition.inputs[at];
        let signal = match &input.value {
            Value::Payload { max_len, .. } if payload.len() > *max_len => return Meaning::Absent,
            Value::Payload { .. } => {
                return if self.passes(at, input, 0) {
                    Meaning::Taken {
                        content: Content::Payload(payload.to_vec()),
                        origin: Origin::Received,
                        taken: None,
                    }
                } else {
                    Meaning::Ignored
                };
            }
            Value::Signal(signal) => signal,
        };
        let is_updated = signal.updated.as_ref().is_none_or(|updated| updated.get(payload) == Some(1));
        let Some(bits) = signal.from.get(payload).filter(|_| is_updated) else { return Meaning::Absent };
        match signal.invalid {
            Some(invalid) if invalid.bits == bits => {
                return match invalid.action {
                    InvalidAction::Ignore => Meaning::Ignored,
                    InvalidAction::Substitute(bits) => {
                        Meaning::Taken { content: Content::Bits(bits), origin: Origin::Invalid, taken: None }
                    }
                };
            }
            _ => {}
        }
        if !self.passes(at, input, bits) {
            return Meaning::Ignored;
        }
        match self.converted(at, &signal.conversion, bits) {
            Some(target) => {
                Meaning::Taken { content: Content::Bits(target), origin: Origin::Received, taken: Some(bits) }
            }
            None => Meaning::Ignored,
        }
    }

    fn converted(&self, at: usize, conversion: &Conversion, bits: u64) -> Option<u64> {
        match conversion {
            Conversion::Table { rows, other } => match (rows.iter().find(|(from, _)| *from == bits), other) {
                (Some((_, to)), _) => Some(*to),
                (None, Other::Bits(to)) => Some(*to),
                (None, Other::Keep) => None,
            },
            Conversion::Rescale(_) => {
                let (from, to) = self.signals[at].as_ref()?;
                let physical = crate::oracle::physical(from, crate::oracle::raw(from, bits))?;
                let raw = crate::oracle::encode(to, physical)?.rem_euclid(1 << to.bits);
                u64::try_from(raw).ok()
            }
        }
    }

    /// True if the filter lets a valid value through.
    fn passes(&mut self, at: usize, input: &Input, new: u64) -> bool {
        let before = self.history.iter().filter(|entry| matches!(entry.what, What::Filtered(one) if one == at)).count();
        self.note(What::Filtered(at));
        let raw = |bits| input.signal().map_or(0, |signal| signal.from.scale().raw(bits));
        match input.filter {
            Filter::Always => true,
            Filter::Never => false,
            Filter::MaskedEquals { mask, value } => new & mask == value,
            Filter::MaskedDiffers { mask, value } => new & mask != value,
            Filter::MaskedDiffersOld { mask } => {
                self.old(at, self.history.len()).is_none_or(|old| new & mask != old & mask)
            }
            Filter::Within { min, max } => min <= raw(new) && raw(new) <= max,
            Filter::Outside { min, max } => raw(new) < min || max < raw(new),
            Filter::Deadband(most) => {
                let is_substitute =
                    |entry: &Entry| matches!(entry.what, What::Written { input, taken: None, .. } if input == at);
                let sent = self.history.iter().rposition(|entry| matches!(entry.what, What::Sent { .. }));
                let sent = sent.filter(|sent| !self.history[*sent..].iter().any(is_substitute));
                match sent.and_then(|sent| self.old(at, sent)) {
                    Some(old) => (raw(new) - raw(old)).abs() > i128::from(most),
                    None => true,
                }
            }
            Filter::OneEvery { period, offset } => {
                before % usize::try_from(period).unwrap_or(usize::MAX) == usize::try_from(offset).unwrap_or(usize::MAX)
            }
        }
    }

    /// Source bits of the value that was in the frame after this many entries; none after a substitute.
    fn old(&self, at: usize, entries: usize) -> Option<u64> {
        let write = self.history[..entries].iter().rev().find_map(|entry| match entry.what {
            What::Written { input, taken, .. } if input == at => Some(taken),
            _ => None,
        });
        write.unwrap_or_else(|| self.composition.inputs[at].signal()?.start)
    }

    fn write(&mut self, at: usize, content: Content, origin: Origin, taken: Option<u64>) {
        let input = &self.composition.inputs[at];
        let old = self.payload();
        let is_change = match (&content, &input.value) {
            (Content::Bits(bits), Value::Signal(signal)) => {
                let mut new = old.clone();
                assert!(signal.to.set(&mut new, *bits), "the place is in the payload");
                new != old
            }
            (Content::Payload(new), Value::Payload { mask, .. }) => {
                let differs = |byte: usize| (old[byte] ^ new[byte]) & mask.get(byte).unwrap_or(&0xFF) != 0;
                old.len() != new.len() || (0..old.len()).any(differs)
            }
            _ => unreachable!("bits are of a signal, a payload is not"),
        };
        let is_event =
            input.trigger == Trigger::Always || input.trigger == Trigger::OnChange && (is_change || self.silences(at));
        let is_event = is_event && self.composition.send.sends_events();
        self.note(What::Written { input: at, origin, content, taken, is_event });
    }

    fn silences(&self, at: usize) -> bool {
        let input = &self.composition.inputs[at];
        let stops = input.timeout.as_ref().is_some_and(|timeout| timeout.action == TimeoutAction::Stop);
        input.required && self.origin(at) == Origin::Start || stops && self.is_late(at)
    }

    fn origin(&self, at: usize) -> Origin {
        let write = self.history.iter().rev().find_map(|entry| match entry.what {
            What::Written { input, origin, .. } if input == at => Some(origin),
            _ => None,
        });
        write.unwrap_or(Origin::Start)
    }

    fn is_late(&self, at: usize) -> bool {
        let last = self.history.iter().rev().find_map(|entry| match entry.what {
            What::Late(one) if one == at => Some(true),
            What::Brought(one) if one == at => Some(false),
            _ => None,
        });
        last.unwrap_or(false)
    }

    /// True if its timeout is over, and nothing was done yet.
    fn is_over(&self, at: usize) -> bool {
        let Some(timeout) = &self.composition.inputs[at].timeout else { return false };
        let end = match self.last(|what| matches!(what, What::Brought(one) if *one == at)) {
            Some(last) => Some(last + super::nanos(timeout.later)),
            None => timeout.first.map(|first| self.start + super::nanos(first)),
        };
        !self.is_late(at) && end.is_some_and(|end| end <= self.now)
    }

    /// The time of the last such entry.
    fn last(&self, is_it: impl Fn(&What) -> bool) -> Option<u64> {
        self.history.iter().rev().find(|entry| is_it(&entry.what)).map(|entry| entry.time)
    }

    fn note(&mut self, what: What) {
        self.history.push(Entry { time: self.now, what });
    }
}
