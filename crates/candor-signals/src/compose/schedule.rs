//! When a frame is sent: events, repetitions, cycle and minimum delay. It knows nothing of payloads.

use super::composition::SendRule;
use super::{NEVER, nanos};

/// Times are nanoseconds; [`NEVER`] is none.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    sends_events: bool,
    delays_all: bool,
    min_delay: u64,
    repetitions: u32,
    period: u64,
    /// The first cyclic time.
    origin: u64,
    /// Of the cycle in force. 0: no cyclic frames.
    cycle: u64,
    /// The next cyclic time.
    tick: u64,
    /// Since when an event waits to be sent.
    event: u64,
    /// True if the waiting event is repeated.
    repeats: bool,
    /// The next repetition, and how many are left with it.
    repetition: u64,
    left: u32,
    /// When the minimum delay ends.
    free: u64,
}

impl Schedule {
    /// `cycle` is that in force at the start, 0 for none.
    pub(super) fn new(rule: &SendRule, cycle: u64, start: u64) -> Self {
        let origin = start.saturating_add(nanos(rule.offset));
        Self {
            sends_events: rule.sends_events(),
            delays_all: rule.delays_all,
            min_delay: nanos(rule.min_delay),
            repetitions: rule.repetitions,
            period: nanos(rule.repetition_period),
            origin,
            cycle,
            tick: if cycle == 0 { NEVER } else { origin },
            event: NEVER,
            repeats: false,
            repetition: NEVER,
            left: 0,
            free: 0,
        }
    }

    /// The first cyclic time that is not before this.
    fn tick_from(&self, time: u64) -> u64 {
        if self.cycle == 0 {
            return NEVER;
        }
        let count = time.saturating_sub(self.origin).div_ceil(self.cycle);
        count.checked_mul(self.cycle).and_then(|passed| passed.checked_add(self.origin)).unwrap_or(NEVER)
    }

    /// An event at this time.
    pub(super) fn add_event(&mut self, time: u64, repeats: bool) {
        if !self.sends_events {
            return;
        }
        self.repeats = repeats || self.repeats && self.event != NEVER;
        self.event = self.event.min(time);
        if repeats {
            self.repetition = NEVER;
        }
    }

    /// Nothing is sent now: forgets events and repetitions.
    pub(super) fn clear_events(&mut self) {
        self.event = NEVER;
        self.repetition = NEVER;
    }

    /// Forgets cyclic times before this.
    pub(super) fn skip_to(&mut self, now: u64) {
        if self.tick < now {
            self.tick = self.tick_from(now);
        }
    }

    /// Changes the cycle, 0 for none. A cyclic time that has come stays.
    pub(super) fn set_cycle(&mut self, cycle: u64, now: u64) {
        if cycle != self.cycle {
            self.cycle = cycle;
            if self.tick > now {
                self.tick = self.tick_from(now.saturating_add(1));
            }
        }
    }

    fn event_due(&self) -> u64 {
        self.event.max(self.free)
    }

    fn tick_due(&self) -> u64 {
        if self.delays_all { self.tick.max(self.free) } else { self.tick }
    }

    fn repetition_due(&self) -> u64 {
        if self.delays_all { self.repetition.max(self.free) } else { self.repetition }
    }

    /// When the next frame is due.
    pub(super) fn due(&self) -> u64 {
        self.event_due().min(self.tick_due()).min(self.repetition_due())
    }

    /// If a frame is due, since when; it counts as sent now.
    pub(super) fn send(&mut self, now: u64) -> Option<u64> {
        let due = self.due();
        if due > now {
            return None;
        }
        let is_event = self.event_due() <= now;
        if self.repetition_due() <= now {
            self.left -= 1;
            self.repetition = if self.left == 0 { NEVER } else { now.saturating_add(self.period) };
        }
        if self.tick_due() <= now {
            self.tick = self.tick_from(now.saturating_add(1));
        }
        if is_event {
            self.event = NEVER;
            if self.repeats && self.repetitions > 0 {
                self.left = self.repetitions;
                self.repetition = now.saturating_add(self.period);
            }
        }
        if is_event || self.delays_all {
            self.free = now.saturating_add(self.min_delay);
        }
        Some(due)
    }
}
