//! What must hold for any frame, for fuzzing and property tests.

use alloc::vec::Vec;

use candor_core::frame::{Frame, FrameFormat, RawId};
use candor_core::job::{Compute as _, RealtimeNs};
use candor_core::rule::Verdict as Fate;

use crate::{Check, Freshness, Key, OnBad, Options, Payload, Protect, Scheme, SchemeError, Synchronised};

/// Takes numbers from bytes.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | u64::from(self.next()))
    }
}

/// Compiles a scheme from the first bytes, and sends the rest through a check as frames, between valid ones. No frame that was not
/// secured is accepted, no frame is accepted twice, and rejected ones change nothing.
///
/// # Panics
/// If something does not hold.
pub fn check(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let key = Key::new([0x5A; 16]);
    let (scheme, period_bits) = scheme(&mut bytes);
    let sync = period_bits.map(|bits| {
        let start = bytes.number() >> 40;
        let freshness = Freshness { synchronised: None, counter: bits, sent: bits, at: 0, attempts: 1, start: 0 };
        let scheme = |start| Scheme::after(0xF, 0, Some(Freshness { start, ..freshness }), 128);
        let check = Check::new(scheme(0), &key, None, Options::default())?;
        let mut frame = Frame { format: FrameFormat::Fd, ..Frame::EMPTY };
        let sender = Protect::new(scheme(start), &key, None);
        if sender.is_ok_and(|sender| sender.change_frame(RealtimeNs::UNKNOWN, &mut frame) == Fate::Send) {
            assert_eq!(check.change_frame(RealtimeNs::UNKNOWN, &mut frame), Fate::Send, "a sync frame is accepted");
        }
        Ok::<_, SchemeError>(check.sync_source("sync".into()))
    });
    let Ok(sync) = sync.transpose() else { return };
    let options = Options { on_bad: OnBad::Drop, payload: Payload::Secured };
    let Ok(receiver) = Check::new(scheme.clone(), &key, sync.clone(), options) else { return };
    let sender = Protect::new(scheme.clone(), &key, sync).expect("the same scheme compiles for a sender");
    let mut seen = Vec::new();
    while !bytes.0.is_empty() && seen.len() < 64 {
        let mut frame = Frame { id: RawId(1), format: FrameFormat::Fd, ..Frame::EMPTY };
        frame.data.iter_mut().for_each(|byte| *byte = bytes.next());
        frame.len = u8::try_from(scheme.payload.len()).unwrap_or(0);
        if sender.change_frame(RealtimeNs::UNKNOWN, &mut frame) == Fate::Delete {
            break;
        }
        let secured = frame.payload().to_vec();
        let before = receiver.last();
        for (at, byte) in frame.data.iter_mut().enumerate().take(secured.len()) {
            *byte ^= bytes.next() & protected(&scheme, at);
        }
        let is_changed = frame.payload() != secured;
        if is_changed {
            assert!(!receiver.judge(frame.payload()).is_valid(), "{scheme:?} accepts {frame} for {secured:02X?}");
            assert_eq!(receiver.last(), before, "a rejected frame moved the freshness value");
        }
        assert!(receiver.judge(&secured).is_valid(), "{scheme:?} rejects {secured:02X?} after {before:?}");
        seen.push(secured);
        if scheme.freshness.is_some() {
            let last = receiver.last();
            for old in &seen {
                assert!(!receiver.judge(old).is_valid(), "{scheme:?} accepts {old:02X?} again");
            }
            assert_eq!(receiver.last(), last, "an old frame moved the freshness value");
        }
    }
}

/// The bits of a byte that belong to a part of the scheme.
fn protected(scheme: &Scheme, at: usize) -> u8 {
    let sent = scheme.freshness.map_or((0, 0), |fresh| {
        (fresh.at, fresh.sent + fresh.synchronised.map_or(0, |synchronised| synchronised.flag))
    });
    let payload = if scheme.payload.contains(&at) { 0xFF } else { 0 };
    let field = |(at, bits)| crate::bits::Field::new(at, bits);
    [sent, scheme.mac].into_iter().fold(payload, |bits, place| bits | field(place).bits_in(at))
}

/// A scheme, many of which compile, and the bits of trip and reset counter.
fn scheme(bytes: &mut Bytes<'_>) -> (Scheme, Option<u8>) {
    let kind = bytes.next();
    let payload = usize::from(bytes.next() % 12);
    let synchronised = (kind & 1 != 0).then(|| Synchronised {
        trip: bytes.next() % 17,
        reset: bytes.next() % 25,
        flag: bytes.next() % 4,
    });
    let counter = bytes.next() % 65;
    let freshness = Freshness {
        synchronised,
        counter,
        sent: if counter == 0 { 0 } else { bytes.next() % (counter + 1) },
        at: 0,
        attempts: bytes.next() % 4 + 1,
        start: 0,
    };
    let freshness = (kind & 2 == 0 || synchronised.is_some()).then_some(freshness);
    let mut scheme = Scheme::after(kind.into(), payload, freshness, bytes.next() % 97 + 32);
    if kind & 4 != 0 {
        scheme.payload = scheme.len - payload.min(scheme.len)..scheme.len;
        scheme.mac.0 = bytes.next().into();
        if let Some(freshness) = &mut scheme.freshness {
            freshness.at = bytes.next().into();
        }
    }
    (scheme, synchronised.map(|one| one.trip + one.reset))
}
