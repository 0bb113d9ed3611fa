//! Checks and protections of routes, with a state that several rule sets share: a reload goes on with it.

use alloc::string::String;
use alloc::sync::Arc;
use core::any::Any;
use core::sync::atomic::{AtomicU64, Ordering};

use candor_core::frame::Frame;
use candor_core::job::Compute;
use candor_core::rule::Verdict as Fate;

use crate::error::SchemeError;
use crate::key::Key;
use crate::protection::{Protection, is_length};
use crate::scheme::Scheme;
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

/// What is left of a checked frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Payload {
    /// All of it.
    #[default]
    Secured,
    /// The payload only: the frame becomes shorter.
    Plain,
}

/// What a check does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// With frames that are not valid.
    pub on_bad: OnBad,
    /// With frames that are sent.
    pub payload: Payload,
}

/// The freshness value of the last frame, or none. The largest number is never one, see [`Protection`].
#[derive(Debug)]
struct Last(AtomicU64);

impl Last {
    const NONE: u64 = u64::MAX;

    const fn new() -> Self {
        Self(AtomicU64::new(Self::NONE))
    }

    fn load(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|last| *last != Self::NONE)
    }

    fn store(&self, last: u64) {
        self.0.store(last, Ordering::Relaxed);
    }
}

/// A check of sync frames, whose trip and reset counters others use.
#[derive(Clone, Debug)]
pub struct SyncSource {
    name: String,
    check: Arc<Check>,
}

impl SyncSource {
    /// The check of the route of this name.
    #[must_use]
    pub const fn new(name: String, check: Arc<Check>) -> Self {
        Self { name, check }
    }

    /// The check, for its route.
    #[must_use]
    pub const fn check(&self) -> &Arc<Check> {
        &self.check
    }
}

/// A check takes over its state from a running one if both are equal, so what it follows must be taken over in the same cases: if
/// the name is the same and the checks are equal.
impl PartialEq for SyncSource {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.check.equals(&*other.check)
    }
}

/// Scheme, key and source of the period.
#[derive(Debug)]
struct Secured {
    scheme: Scheme,
    key: Key,
    protection: Protection,
    sync: Option<SyncSource>,
}

impl Secured {
    fn new(scheme: Scheme, key: &Key, sync: Option<SyncSource>) -> Result<Self, SchemeError> {
        let protection = Protection::new(&scheme, key)?;
        let wanted = protection.fresh.as_ref().filter(|fresh| fresh.is_synchronised());
        match (wanted, &sync) {
            (Some(_), None) => return Err(SchemeError::NoSync),
            (None, Some(_)) => return Err(SchemeError::UnusedSync),
            (Some(wanted), Some(sync)) => {
                let of_sync = &sync.check.secured.scheme.freshness;
                let found = of_sync.filter(|fresh| fresh.synchronised.is_none()).map_or(0, |fresh| fresh.counter);
                let wanted = wanted.period_bits();
                if u32::from(found) != wanted {
                    return Err(SchemeError::SyncBits { found, wanted });
                }
            }
            (None, None) => {}
        }
        Ok(Self { scheme, key: key.clone(), protection, sync })
    }

    fn equals(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.key == other.key && self.sync == other.sync
    }

    /// Trip and reset counter of the last sync frame.
    fn period(&self) -> Option<u64> {
        self.sync.as_ref()?.check.last.load()
    }
}

/// Verifies the frames of one identifier. Remote frames have no payload and pass.
///
/// A frame is accepted if its MAC is right for a freshness value that is newer than those of all accepted frames. A rejected frame
/// never moves that value. Without a sync frame, a receiver that starts accepts any frame from [`Freshness::start`] on, also a
/// recorded one: the first frame that it accepts sets the value. This also holds for sync frames.
///
/// [`Freshness::start`]: crate::Freshness::start
#[derive(Debug)]
pub struct Check {
    secured: Secured,
    options: Options,
    last: Last,
    counts: [AtomicU64; Verdict::ALL.len()],
}

impl Check {
    /// A check before its first frame. `sync` is needed if the freshness value is synchronised.
    ///
    /// # Errors
    /// [`SchemeError`] as in [`Protection::new`], if there is no sync frame or another one than needed, and if the plain frame has a
    /// length that CAN does not have.
    pub fn new(scheme: Scheme, key: &Key, sync: Option<SyncSource>, options: Options) -> Result<Self, SchemeError> {
        let secured = Secured::new(scheme, key, sync)?;
        let (_, len) = secured.protection.payload;
        if options.payload == Payload::Plain && !is_length(len) {
            return Err(SchemeError::PlainLen { len });
        }
        Ok(Self { secured, options, last: Last::new(), counts: Default::default() })
    }

    /// The number of frames with each verdict, in the order of [`Verdict::ALL`].
    pub fn counts(&self) -> impl Iterator<Item = (Verdict, u64)> + '_ {
        Verdict::ALL.into_iter().zip(&self.counts).map(|(verdict, count)| (verdict, count.load(Ordering::Relaxed)))
    }

    /// The freshness value of the last accepted frame.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.last.load()
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) const fn freshness(&self) -> Option<crate::Freshness> {
        self.secured.scheme.freshness
    }

    /// Judges a payload, and goes on from it if it is accepted.
    pub fn judge(&self, payload: &[u8]) -> Verdict {
        let (verdict, value) = self.secured.protection.judge(payload, self.last.load(), self.secured.period());
        if let (Verdict::Ok, Some(value)) = (verdict, value) {
            self.last.store(value);
        }
        let count = &self.counts[verdict as usize];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        verdict
    }

    /// True if the frame is sent. A sync frame that says the same again is useful for receivers that have just started.
    fn sends(&self, verdict: Verdict) -> bool {
        let is_same_sync = verdict == Verdict::Repeated && self.secured.scheme.payload.is_empty();
        verdict.is_valid() || is_same_sync || self.options.on_bad == OnBad::Pass
    }
}

impl Compute for Check {
    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| self.options == other.options && self.secured.equals(&other.secured);
        other.downcast_ref().is_some_and(same)
    }

    fn change(&self, frame: &mut Frame) -> Fate {
        if frame.id.is_rtr() || frame.id.is_err() {
            return Fate::Send;
        }
        let verdict = self.judge(frame.payload());
        if !self.sends(verdict) {
            return Fate::Delete;
        }
        if self.options.payload == Payload::Plain && verdict != Verdict::WrongLength {
            let (first, len) = self.secured.protection.payload;
            frame.data.copy_within(first..first + len, 0);
            frame.data[len..self.secured.protection.len].fill(0);
            become_long(frame, len);
        }
        Fate::Send
    }
}

/// Secures the frames of one identifier: plain ones become longer, in those with the length of a secured one freshness value and MAC
/// are replaced. The gateway is the sender and counts. Remote frames have no payload and pass; others are dropped if they have
/// another length, before the first sync frame, and after the last freshness value.
#[derive(Debug)]
pub struct Protect {
    secured: Secured,
    last: Last,
}

impl Protect {
    /// A protection whose first freshness value is the first one of the scheme, or of the period.
    ///
    /// # Errors
    /// [`SchemeError`] as in [`Check::new`].
    pub fn new(scheme: Scheme, key: &Key, sync: Option<SyncSource>) -> Result<Self, SchemeError> {
        Ok(Self { secured: Secured::new(scheme, key, sync)?, last: Last::new() })
    }

    /// The value of the next frame, 0 without one.
    fn next(&self) -> Option<u64> {
        let Some(fresh) = &self.secured.protection.fresh else { return Some(0) };
        let period = if fresh.is_synchronised() { self.secured.period()? } else { 0 };
        fresh.next_to_send(self.last.load(), period)
    }
}

impl Compute for Protect {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref().is_some_and(|other: &Self| self.secured.equals(&other.secured))
    }

    fn change(&self, frame: &mut Frame) -> Fate {
        if frame.id.is_rtr() || frame.id.is_err() {
            return Fate::Send;
        }
        let protection = &self.secured.protection;
        let (first, plain) = protection.payload;
        let len = usize::from(frame.len);
        let is_plain = len == plain && plain != protection.len;
        if !is_plain && len != protection.len || protection.len > frame.format.max_len() {
            return Fate::Delete;
        }
        let Some(value) = self.next() else { return Fate::Delete };
        if is_plain {
            frame.data.copy_within(..plain, first);
            frame.data[..first].fill(0);
            frame.data[first + plain..protection.len].fill(0);
            become_long(frame, protection.len);
        }
        if !protection.secure(&mut frame.data[..protection.len], value) {
            return Fate::Delete;
        }
        self.last.store(value);
        Fate::Send
    }
}

/// Gives a frame this length, at most 64 bytes.
fn become_long(frame: &mut Frame, len: usize) {
    (frame.len, frame.len8_dlc) = (u8::try_from(len).unwrap_or(0), 0);
}
