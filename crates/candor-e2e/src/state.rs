//! Senders and receivers: the only state is the counter.

use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

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
        Self { protection, state: Received::new() }
    }

    /// What it checks.
    #[must_use]
    pub const fn protection(&self) -> &Arc<Protection> {
        &self.protection
    }

    /// The counter of the last accepted frame.
    #[must_use]
    pub fn last_counter(&self) -> Option<u32> {
        self.state.last()
    }

    /// Makes the next right frame the first one, for example after the sender was silent.
    pub fn reset(&mut self) {
        self.state.reset();
    }

    /// Judges a frame.
    #[inline]
    #[must_use]
    pub fn check(&mut self, payload: &[u8]) -> Verdict {
        self.state.check(&self.protection, payload)
    }
}

/// What a receiver knows of the frames before. One thread uses it, so loads and stores are those of plain numbers; a rule set
/// that replaces another one may go on with it.
#[derive(Debug)]
pub(crate) struct Received {
    /// The last accepted counter, or [`NONE`].
    last: AtomicU64,
    /// The largest step that was allowed, with one more for each rejected frame since the last accepted one.
    window: AtomicU32,
    /// The last of a row of rejected frames that follow each other, or [`NONE`].
    other: AtomicU64,
    /// How many more are needed before one is accepted.
    more: AtomicU32,
}

/// No counter: counters have at most 32 bits.
const NONE: u64 = u64::MAX;

impl Received {
    /// Before the first frame.
    pub(crate) const fn new() -> Self {
        Self {
            last: AtomicU64::new(NONE),
            window: AtomicU32::new(0),
            other: AtomicU64::new(NONE),
            more: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    fn last(&self) -> Option<u32> {
        u32::try_from(self.last.load(Relaxed)).ok()
    }

    fn reset(&self) {
        self.last.store(NONE, Relaxed);
        self.other.store(NONE, Relaxed);
    }

    /// True for the frame that comes most often: 8 bytes, the next counter, and nothing wrong. Its verdict is
    /// [`Ok`](Verdict::Ok). Otherwise nothing has changed, and [`check`](Self::check) judges it.
    #[inline(always)]
    pub(crate) fn is_next(&self, protection: &Protection, payload: &[u8]) -> bool {
        let (Some(counting), Some(last)) = (&protection.counter, self.last()) else { return false };
        // With a single value, the next counter is the last one again.
        let next = counting.after(last);
        let is_next = next != last && protection.is_right_eight(next, payload);
        if is_next {
            self.accept(counting, next);
        }
        is_next
    }

    #[inline(always)]
    fn accept(&self, counting: &Counting, counter: u32) {
        self.last.store(counter.into(), Relaxed);
        self.window.store(counting.max_delta, Relaxed);
        self.other.store(NONE, Relaxed);
    }

    pub(crate) fn check(&self, protection: &Protection, payload: &[u8]) -> Verdict {
        let Some(counting) = &protection.counter else {
            return protection.look(payload).1.unwrap_or(Verdict::NoCounter);
        };
        let stored = self.window.load(Relaxed);
        let window = if counting.widens && stored < counting.most { stored + 1 } else { stored };
        let (counter, fault) = protection.look(payload);
        let verdict = match fault {
            Some(fault) => fault,
            None if !counting.contains(counter) => Verdict::WrongHeader,
            None => match self.last().map(|last| counting.steps(last, counter)) {
                None => Verdict::Initial,
                Some(0) => Verdict::Repeated,
                Some(1) => Verdict::Ok,
                Some(steps) if steps <= window => Verdict::OkSomeLost,
                Some(_) if self.continues(counting, counter) => Verdict::Initial,
                Some(_) => Verdict::WrongSequence,
            },
        };
        if verdict.is_valid() {
            self.accept(counting, counter);
        } else {
            self.window.store(window, Relaxed);
        }
        verdict
    }

    /// Takes a frame out of sequence into the row of those before. True if the row is long enough.
    #[cold]
    fn continues(&self, counting: &Counting, counter: u32) -> bool {
        let before = u32::try_from(self.other.load(Relaxed)).ok();
        let follows = before.is_some_and(|before| (1..=counting.max_delta).contains(&counting.steps(before, counter)));
        let more = match (self.more.load(Relaxed), counting.resync.checked_sub(1)) {
            (0, _) if follows => return true,
            (more, _) if follows => more - 1,
            (_, Some(more)) => more,
            (_, None) => {
                self.other.store(NONE, Relaxed);
                return false;
            }
        };
        self.other.store(counter.into(), Relaxed);
        self.more.store(more, Relaxed);
        false
    }
}

impl Clone for Received {
    fn clone(&self) -> Self {
        Self {
            last: self.last.load(Relaxed).into(),
            window: self.window.load(Relaxed).into(),
            other: self.other.load(Relaxed).into(),
            more: self.more.load(Relaxed).into(),
        }
    }
}
