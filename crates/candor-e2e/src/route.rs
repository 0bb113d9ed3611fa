//! Checks and protections of routes, with a state that several rule sets share: a reload goes on with it.

use alloc::boxed::Box;
use core::any::Any;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use candor_core::frame::RawId;
use candor_core::job::{Compute, OnBad, Seen, Steps};
use candor_core::rule::{Checksums, Verdict as Fate};

use crate::error::SchemeError;
use crate::protection::Protection;
use crate::scheme::Scheme;
use crate::state::Received;
use crate::verdict::Verdict;

/// Checks the frames of one identifier. Remote frames have no payload and pass.
#[derive(Debug)]
pub struct Check {
    scheme: Scheme,
    protection: Protection,
    on_bad: OnBad,
    /// In place of the payload of a bad frame that is passed.
    substitute: Option<Box<[u8]>>,
    state: Received,
    counts: [AtomicU64; Verdict::ALL.len()],
}

impl Check {
    /// A check before its first frame.
    ///
    /// # Errors
    /// [`SchemeError`] as in [`Protection::new`].
    pub fn new(scheme: Scheme, on_bad: OnBad) -> Result<Self, SchemeError> {
        let protection = Protection::new(&scheme)?;
        let (state, counts) = (Received::new(), Default::default());
        Ok(Self { scheme, protection, on_bad, substitute: None, state, counts })
    }

    /// Bad frames are passed with this payload; those of another length are dropped.
    #[must_use]
    pub fn substituting(self, payload: &[u8]) -> Self {
        Self { on_bad: OnBad::Pass, substitute: Some(payload.into()), ..self }
    }

    /// True if a receiver without a counter of an earlier frame accepts this payload.
    #[must_use]
    pub fn accepts(&self, payload: &[u8]) -> bool {
        self.protection.look(payload).1.is_none()
    }

    /// Counts a payload, and goes on from it.
    #[inline(always)]
    fn is_valid(&self, payload: &[u8]) -> bool {
        if self.state.is_next(&self.protection, payload) {
            self.count(Verdict::Ok);
            return true;
        }
        self.is_valid_otherwise(payload)
    }

    // Separate, so that the frame that comes most often needs no registers of it.
    #[inline(never)]
    fn is_valid_otherwise(&self, payload: &[u8]) -> bool {
        let verdict = self.state.check(&self.protection, payload);
        self.count(verdict);
        verdict.is_valid()
    }

    #[inline]
    fn count(&self, verdict: Verdict) {
        let count = &self.counts[verdict as usize];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The number of frames with each verdict, in the order of [`Verdict::ALL`].
    pub fn counts(&self) -> impl Iterator<Item = (Verdict, u64)> + '_ {
        Verdict::ALL.into_iter().zip(&self.counts).map(|(verdict, count)| (verdict, count.load(Ordering::Relaxed)))
    }
}

impl Compute for Check {
    fn fault(&self, id: RawId, payload: &[u8]) -> Option<&'static str> {
        if id.carries_data() { self.protection.look(payload).1.map(Verdict::name) } else { None }
    }

    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| {
            (&self.scheme, self.on_bad, &self.substitute) == (&other.scheme, other.on_bad, &other.substitute)
        };
        other.downcast_ref().is_some_and(same)
    }

    fn judges(&self) -> bool {
        self.substitute.is_none()
    }

    fn judge(&self, Seen { id, .. }: Seen, payload: &[u8]) -> Fate {
        if !id.carries_data() || self.is_valid(payload) || self.on_bad == OnBad::Pass {
            Fate::Send
        } else {
            Fate::Delete
        }
    }

    fn change(&self, seen: Seen, payload: &mut [u8]) -> Fate {
        match &self.substitute {
            None => self.judge(seen, payload),
            _ if !seen.id.carries_data() || self.is_valid(payload) => Fate::Send,
            Some(substitute) if substitute.len() == payload.len() => {
                payload.copy_from_slice(substitute);
                Fate::Send
            }
            Some(_) => Fate::Delete,
        }
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

impl Protect {
    /// The bits that it writes into a byte of the payload.
    #[must_use]
    pub fn written(&self, byte: usize) -> u8 {
        self.protection.written(byte)
    }

    /// The checksum of can-gw that does the same for payloads of this length, if there is one. can-gw has no counters.
    #[must_use]
    pub fn can_gw(&self, len: usize) -> Option<Checksums> {
        let follows = self.counted == Counted::Follow || self.protection.counter.is_none();
        if follows && self.scheme.len == (len..=len) { self.protection.can_gw() } else { None }
    }
}

impl Compute for Protect {
    fn steps(&self) -> Option<Steps> {
        let (first, last) = (self.scheme.len.start(), self.scheme.len.end());
        let len = u8::try_from(*first).ok().filter(|_| first == last)?;
        let is_own = self.counted == Counted::Own;
        let counter = match self.protection.has_counter() {
            true => Some(self.protection.counter_in_byte(is_own)?),
            false => None,
        };
        Some(Steps { len, counter, checksums: self.protection.checksums()? })
    }

    fn next(&self) -> Option<&AtomicU32> {
        (self.counted == Counted::Own && self.protection.has_counter()).then_some(&self.next)
    }

    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| (&self.scheme, self.counted) == (&other.scheme, other.counted);
        other.downcast_ref().is_some_and(same)
    }

    fn change(&self, Seen { id, .. }: Seen, payload: &mut [u8]) -> Fate {
        if !id.carries_data() {
            return Fate::Send;
        }
        let is_protected = match self.counted {
            Counted::Follow => self.protection.follow(payload),
            Counted::Own => {
                let counter = self.next.load(Ordering::Relaxed);
                let is_protected = self.protection.protect_next(counter, payload);
                if let Some(counting) = self.protection.counter.as_ref().filter(|_| is_protected) {
                    self.next.store(counting.after(counter), Ordering::Relaxed);
                }
                is_protected
            }
        };
        if is_protected { Fate::Send } else { Fate::Delete }
    }
}
