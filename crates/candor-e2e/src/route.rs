//! Checks and protections of routes, with a state that several rule sets share: a reload goes on with it.

use alloc::sync::Arc;
use core::any::Any;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use candor_core::frame::Frame;
use candor_core::job::Compute;
use candor_core::rule::Verdict as Fate;

use crate::error::SchemeError;
use crate::protection::Protection;
use crate::scheme::Scheme;
use crate::state::Received;
use crate::verdict::Verdict;

/// What happens to a frame that is not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnBad {
    /// It is dropped.
    #[default]
    Drop,
    /// It is forwarded, and counted only.
    Pass,
}

/// Checks the frames of one identifier. Remote frames have no payload and pass.
#[derive(Debug)]
pub struct Check {
    scheme: Scheme,
    protection: Protection,
    on_bad: OnBad,
    state: Shared,
    counts: [AtomicU64; Verdict::ALL.len()],
}

impl Check {
    /// A check before its first frame.
    ///
    /// # Errors
    /// [`SchemeError`] as in [`Protection::new`].
    pub fn new(scheme: Scheme, on_bad: OnBad) -> Result<Self, SchemeError> {
        let protection = Protection::new(&scheme)?;
        Ok(Self { scheme, protection, on_bad, state: Shared::default(), counts: Default::default() })
    }

    /// The number of frames with each verdict, in the order of [`Verdict::ALL`].
    pub fn counts(&self) -> impl Iterator<Item = (Verdict, u64)> + '_ {
        Verdict::ALL.into_iter().zip(&self.counts).map(|(verdict, count)| (verdict, count.load(Ordering::Relaxed)))
    }
}

impl Compute for Check {
    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| (&self.scheme, self.on_bad) == (&other.scheme, other.on_bad);
        other.downcast_ref().is_some_and(same)
    }

    fn change(&self, frame: &mut Frame) -> Fate {
        if frame.id.is_rtr() || frame.id.is_err() {
            return Fate::Send;
        }
        let mut received = self.state.load();
        let verdict = received.check(&self.protection, frame.payload());
        self.state.store(received);
        let count = &self.counts[verdict as usize];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if verdict.is_valid() || self.on_bad == OnBad::Pass { Fate::Send } else { Fate::Delete }
    }
}

/// Whose counter a protected frame has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Counted {
    /// That of the received frame.
    Follow,
    /// The next one after that of the frame before: the gateway is the sender.
    #[default]
    Own,
}

/// Protects the frames of one identifier. Remote frames have no payload and pass; others that the scheme does not fit are
/// dropped.
#[derive(Debug)]
pub struct Protect {
    scheme: Scheme,
    protection: Protection,
    counted: Counted,
    next: AtomicU32,
}

impl Protect {
    /// A protection whose first counter, if it is an own one, is the first one of the scheme.
    ///
    /// # Errors
    /// [`SchemeError`] as in [`Protection::new`].
    pub fn new(scheme: Scheme, counted: Counted) -> Result<Self, SchemeError> {
        let protection = Protection::new(&scheme)?;
        let next = protection.counter.as_ref().map_or(0, |counting| counting.first).into();
        Ok(Self { scheme, protection, counted, next })
    }
}

impl Compute for Protect {
    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| (&self.scheme, self.counted) == (&other.scheme, other.counted);
        other.downcast_ref().is_some_and(same)
    }

    fn change(&self, frame: &mut Frame) -> Fate {
        if frame.id.is_rtr() || frame.id.is_err() {
            return Fate::Send;
        }
        let len = usize::from(frame.len).min(frame.data.len());
        let payload = &mut frame.data[..len];
        let is_protected = match self.counted {
            Counted::Follow => self.protection.follow(payload),
            Counted::Own => {
                let counter = self.next.load(Ordering::Relaxed);
                let is_protected = self.protection.protect_with(counter, payload);
                if let Some(counting) = self.protection.counter.as_ref().filter(|_| is_protected) {
                    self.next.store(counting.after(counter), Ordering::Relaxed);
                }
                is_protected
            }
        };
        if is_protected { Fate::Send } else { Fate::Delete }
    }
}

/// [`Received`] in parts. One thread uses them, so loads and stores are those of plain numbers.
#[derive(Debug, Default)]
struct Shared {
    /// Bit 0: there is a last counter. Bit 1: there is a row of others.
    has: AtomicU32,
    last: AtomicU32,
    window: AtomicU32,
    other: AtomicU32,
    more: AtomicU32,
}

impl Shared {
    #[inline]
    fn load(&self) -> Received {
        let get = |part: &AtomicU32| part.load(Ordering::Relaxed);
        let has = get(&self.has);
        Received {
            last: (has & 1 != 0).then(|| get(&self.last)),
            window: get(&self.window),
            other: (has & 2 != 0).then(|| (get(&self.other), get(&self.more))),
        }
    }

    #[inline]
    fn store(&self, Received { last, window, other }: Received) {
        let set = |part: &AtomicU32, value| part.store(value, Ordering::Relaxed);
        set(&self.has, u32::from(last.is_some()) | u32::from(other.is_some()) << 1);
        set(&self.last, last.unwrap_or_default());
        set(&self.window, window);
        let (other, more) = other.unwrap_or_default();
        set(&self.other, other);
        set(&self.more, more);
    }
}

/// A check or a protection as a rule set takes it.
#[must_use]
pub fn computed(compute: impl Compute) -> candor_core::job::Computed {
    candor_core::job::Computed::new(Arc::new(compute))
}
