//! Checks and protections of routes, with a state that several rule sets share: a reload goes on with it.

use alloc::string::String;
use alloc::sync::Arc;
use core::any::Any;
use core::sync::atomic::{AtomicU64, Ordering};

use candor_core::frame::Frame;
use candor_core::job::{Compute, Computed, OnBad, RealtimeNs, Seen};
use candor_core::rule::Verdict as Fate;

use crate::error::SchemeError;
use crate::key::Key;
use crate::protection::{Protection, is_length};
use crate::scheme::Scheme;
use crate::verdict::Verdict;

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

/// The trip and reset counters of sync frames, which the check of their route moves.
///
/// A follower takes over its state from a running one if both are equal, which they are if they follow the same: a route of this
/// name, with an equal check, whose state is then taken over, too.
#[derive(Clone, Debug)]
pub struct SyncSource {
    name: String,
    scheme: Scheme,
    key: Key,
    options: Options,
    last: Arc<Last>,
}

impl SyncSource {
    /// Name of the route.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl PartialEq for SyncSource {
    fn eq(&self, other: &Self) -> bool {
        let same = (&self.name, &self.scheme, &self.key) == (&other.name, &other.scheme, &other.key);
        same && self.options == other.options
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
                let found =
                    sync.scheme.freshness.filter(|fresh| fresh.synchronised.is_none()).map_or(0, |fresh| fresh.counter);
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
        self.sync.as_ref()?.last.load()
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
    last: Arc<Last>,
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
        Ok(Self { secured, options, last: Arc::new(Last::new()), counts: Default::default() })
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

    /// What others follow, if this is the check of the route with this name.
    #[must_use]
    pub fn sync_source(&self, name: String) -> SyncSource {
        let Secured { scheme, key, .. } = &self.secured;
        let (scheme, key, last) = (scheme.clone(), key.clone(), self.last.clone());
        SyncSource { name, scheme, key, options: self.options, last }
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

    fn judges(&self) -> bool {
        !self.changes_length()
    }

    fn judge(&self, Seen { id, .. }: Seen, payload: &[u8]) -> Fate {
        if !id.carries_data() || self.sends(self.judge(payload)) { Fate::Send } else { Fate::Delete }
    }

    fn change(&self, seen: Seen, payload: &mut [u8]) -> Fate {
        Compute::judge(self, seen, payload)
    }

    fn changes_length(&self) -> bool {
        self.options.payload == Payload::Plain
    }

    fn change_frame(&self, _at: RealtimeNs, frame: &mut Frame) -> Fate {
        if !frame.id.carries_data() {
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

    /// A plain payload has no room for the rest.
    fn change(&self, Seen { id, .. }: Seen, payload: &mut [u8]) -> Fate {
        if !id.carries_data() {
            return Fate::Send;
        }
        let value = self.next().filter(|_| payload.len() == self.secured.protection.len);
        match value.filter(|value| self.secured.protection.secure(payload, *value)) {
            Some(value) => {
                self.last.store(value);
                Fate::Send
            }
            None => Fate::Delete,
        }
    }

    fn changes_length(&self) -> bool {
        let protection = &self.secured.protection;
        protection.payload.1 != protection.len
    }

    fn change_frame(&self, at: RealtimeNs, frame: &mut Frame) -> Fate {
        if !frame.id.carries_data() {
            return Fate::Send;
        }
        let protection = &self.secured.protection;
        let (first, plain) = protection.payload;
        if usize::from(frame.len) == plain && plain != protection.len {
            if protection.len > frame.format.max_len() || self.next().is_none() {
                return Fate::Delete;
            }
            frame.data.copy_within(..plain, first);
            frame.data[..first].fill(0);
            frame.data[first + plain..protection.len].fill(0);
            become_long(frame, protection.len);
        }
        self.change(Seen { id: frame.id, at }, frame.payload_mut())
    }
}

/// The same check or protection, before its first frame, that follows what `source` returns for the name of a route. `None` if it
/// follows that already, or nothing.
#[must_use]
pub fn relinked(computed: &Computed, source: impl Fn(&str) -> Option<SyncSource>) -> Option<Computed> {
    let elsewhere = |secured: &Secured| {
        let own = secured.sync.as_ref()?;
        source(&own.name).filter(|other| !Arc::ptr_eq(&own.last, &other.last))
    };
    if let Some(Check { secured, options, .. }) = computed.downcast_ref() {
        let check = Check::new(secured.scheme.clone(), &secured.key, Some(elsewhere(secured)?), *options);
        return check.ok().map(Computed::new);
    }
    let Protect { secured, .. } = computed.downcast_ref()?;
    let protect = Protect::new(secured.scheme.clone(), &secured.key, Some(elsewhere(secured)?));
    protect.ok().map(Computed::new)
}

/// Gives a frame this length, at most 64 bytes.
fn become_long(frame: &mut Frame, len: usize) {
    (frame.len, frame.len8_dlc) = (u8::try_from(len).unwrap_or(0), 0);
}
