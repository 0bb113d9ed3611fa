//! Senders and receivers: the only state is the counter.

use alloc::sync::Arc;

use crate::protection::{Counting, Protection};
use crate::verdict::Verdict;

/// Protects frames with a counter of its own.
#[derive(Clone, Debug)]
pub struct Sender {
    protection: Arc<Protection>,
    next: u32,
}

impl Sender {
    /// A sender whose first frame has the first counter of the scheme: 1 in P02 and P22, 0 in the other profiles.
    #[must_use]
    pub fn new(protection: Arc<Protection>) -> Self {
        let next = protection.counter.as_ref().map_or(0, |counting| counting.first);
        Self { protection, next }
    }

    /// A sender that continues, for example after a reload. A counter that is never sent is replaced by the first one.
    #[must_use]
    pub fn resume(protection: Arc<Protection>, next: u32) -> Self {
        let sender = Self::new(protection);
        let is_sent = |counting: &Counting| (counting.min..=counting.max).contains(&next);
        let next = if sender.protection.counter.as_ref().is_some_and(is_sent) { next } else { sender.next };
        Self { next, ..sender }
    }

    /// What it applies.
    #[must_use]
    pub const fn protection(&self) -> &Arc<Protection> {
        &self.protection
    }

    /// The counter of the next frame.
    #[must_use]
    pub const fn next_counter(&self) -> u32 {
        self.next
    }

    /// Writes the next counter, the constants and the checksum. False, without a change, if the length does not fit.
    #[inline]
    #[must_use]
    pub fn protect(&mut self, payload: &mut [u8]) -> bool {
        let is_protected = self.protection.protect_with(self.next, payload);
        if let Some(counting) = self.protection.counter.as_ref().filter(|_| is_protected) {
            self.next = counting.after(self.next);
        }
        is_protected
    }
}

/// Checks frames, and the counter against that of the last accepted frame.
///
/// A rejected frame never moves that counter. So each frame of a replay is compared with the last accepted one, and a replay
/// is accepted only from where the counters would go on; with the 15 or 16 counters of P01, P02, P11 and P22, that is soon.
/// AUTOSAR's check functions of P04 to P22 store the counter of every frame with a right CRC instead, and start with the
/// counter before 0 as the last one; here the first frame is always [`Initial`](Verdict::Initial), as in P01 and P02.
///
/// In P01 and P02, every rejected frame makes the next step one larger, as the standard demands. Damaged frames can therefore
/// prepare the way for an old one. [`Counter::widens`](crate::Counter::widens) switches it off.
#[derive(Clone, Debug)]
pub struct Receiver {
    protection: Arc<Protection>,
    state: Received,
}

impl Receiver {
    /// A receiver before its first frame.
    #[must_use]
    pub const fn new(protection: Arc<Protection>) -> Self {
        Self { protection, state: Received { last: None, window: 0, other: None } }
    }

    /// What it checks.
    #[must_use]
    pub const fn protection(&self) -> &Arc<Protection> {
        &self.protection
    }

    /// The counter of the last accepted frame.
    #[must_use]
    pub const fn last_counter(&self) -> Option<u32> {
        self.state.last
    }

    /// Makes the next right frame the first one, for example after the sender was silent.
    pub const fn reset(&mut self) {
        (self.state.last, self.state.other) = (None, None);
    }

    /// Judges a frame.
    #[inline]
    #[must_use]
    pub fn check(&mut self, payload: &[u8]) -> Verdict {
        self.state.check(&self.protection, payload)
    }
}

/// What a receiver knows of the frames before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) last: Option<u32>,
    /// The largest step now.
    pub(crate) window: u32,
    /// The last of a row of rejected frames that follow each other, and how many more are needed before one is accepted.
    pub(crate) other: Option<(u32, u32)>,
}

impl Received {
    #[inline]
    pub(crate) fn check(&mut self, protection: &Protection, payload: &[u8]) -> Verdict {
        let Some(counting) = &protection.counter else {
            return protection.fault(payload, 0).unwrap_or(Verdict::NoCounter);
        };
        if counting.widens && self.window < counting.most {
            self.window += 1;
        }
        let counter = counting.value(payload);
        if let Some(verdict) = protection.fault(payload, counter) {
            return verdict;
        }
        if !counting.contains(counter) {
            return Verdict::WrongHeader;
        }
        let verdict = match self.last.map(|last| counting.steps(last, counter)) {
            None => Verdict::Initial,
            Some(0) => return Verdict::Repeated,
            Some(1) => Verdict::Ok,
            Some(steps) if steps <= self.window => Verdict::OkSomeLost,
            Some(_) if continues(&mut self.other, counting, counter) => Verdict::Initial,
            Some(_) => return Verdict::WrongSequence,
        };
        (self.last, self.window, self.other) = (Some(counter), counting.max_delta, None);
        verdict
    }
}

/// Takes a frame out of sequence into the row of those before. True if the row is long enough.
fn continues(row: &mut Option<(u32, u32)>, counting: &Counting, counter: u32) -> bool {
    let follows = |last| (1..=counting.max_delta).contains(&counting.steps(last, counter));
    match *row {
        Some((last, 0)) if follows(last) => true,
        Some((last, more)) if follows(last) => {
            *row = Some((counter, more - 1));
            false
        }
        _ => {
            *row = counting.resync.checked_sub(1).map(|more| (counter, more));
            false
        }
    }
}
