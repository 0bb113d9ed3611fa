//! Verdicts on sequences of frames, and what is left of them.
#![expect(clippy::unwrap_used, reason = "a test")]

use Verdict::{NoFreshness, NoSync, Ok, Repeated, Replayed, WrongLength, WrongMac};
use candor_core::frame::Frame;
use candor_core::job::{Compute as _, Computed, RealtimeNs};
use candor_core::rule::Verdict as Fate;
use candor_secoc::{
    Check, Freshness, Key, OnBad, Options, Part, Payload, Protect, Protection, Scheme, SchemeError, SyncSource,
    Synchronised, Verdict,
};

const KEY: [u8; 16] = [7; 16];

fn key() -> Key {
    Key::new(KEY)
}

/// A check, and frames with the freshness values that a test wants.
struct Line {
    protection: Protection,
    check: Check,
}

impl Line {
    fn new(scheme: Scheme, sync: Option<SyncSource>) -> Self {
        let protection = Protection::new(&scheme, &key()).unwrap();
        Self { protection, check: Check::new(scheme, &key(), sync, Options::default()).unwrap() }
    }

    fn frame(&self, value: u64) -> [u8; 8] {
        let mut frame = [0x5A; 8];
        assert!(self.protection.secure(&mut frame, value));
        frame
    }

    fn judge(&self, values: &[u64]) -> Vec<Verdict> {
        values.iter().map(|value| self.check.judge(&self.frame(*value))).collect()
    }
}

fn counted(sent: u8, attempts: u8, start: u64) -> Scheme {
    let freshness = Freshness { synchronised: None, counter: 32, sent, at: 0, attempts, start };
    let scheme = Scheme::after(0x131, 4, Some(freshness), 32 - sent);
    Scheme { len: 8, ..scheme }
}

/// A sync frame, and a frame that follows it.
struct Synced {
    protection: Protection,
    check: Check,
    line: Line,
}

impl Synced {
    fn new() -> Self {
        let check = Check::new(Scheme::sync(0xF), &key(), None, Options::default()).unwrap();
        let line = Line::new(Scheme::profile_3(0x131, 4), Some(check.sync_source("sync".into())));
        Self { protection: Protection::new(&Scheme::sync(0xF), &key()).unwrap(), check, line }
    }

    fn source(&self) -> SyncSource {
        self.check.sync_source("sync".into())
    }

    fn sync_frame(&self, (trip, reset): (u64, u64)) -> [u8; 8] {
        let mut frame = [0; 8];
        assert!(self.protection.secure(&mut frame, trip << 20 | reset));
        frame
    }

    fn sync(&self, period: (u64, u64)) -> Verdict {
        self.check.judge(&self.sync_frame(period))
    }

    /// Frames with this message counter.
    fn judge(&self, (trip, reset): (u64, u64), messages: &[u64]) -> Vec<Verdict> {
        self.line.judge(&messages.iter().map(|message| trip << 28 | reset << 8 | message).collect::<Vec<_>>())
    }
}

#[test]
fn sent_bits_complete_the_stored_value() {
    let line = Line::new(Scheme::profile_1(0x131, 4, 32), None);
    // The sender may begin with 0. After 200, 10 means 266, and then 521 is 255 further.
    assert_eq!(line.judge(&[0, 1, 200, 266, 521, 777]), [Ok; 6]);
    // 257 further, and the low bits of the next value.
    assert_eq!(line.judge(&[777 + 257]), [WrongMac]);
    assert_eq!(line.judge(&[778]), [Ok]);
    assert_eq!(line.check.last(), Some(778));
    // A start is part of the scheme.
    let line = Line::new(counted(8, 1, 0x1000), None);
    assert_eq!(line.judge(&[0xFFF, 0x1100, 0x1000, 0x10FF, 0x1100]), [Replayed, WrongMac, Ok, Ok, Ok]);
}

#[test]
fn attempts_tolerate_more_lost_frames() {
    assert_eq!(Line::new(counted(2, 1, 0), None).judge(&[3, 7, 12, 8]), [Ok, Ok, WrongMac, Ok]);
    assert_eq!(Line::new(counted(2, 3, 0), None).judge(&[3, 15, 28, 27]), [Ok, Ok, WrongMac, Ok]);
    // The receiver counts alone.
    assert_eq!(Line::new(counted(0, 1, 0), None).judge(&[0, 1, 1, 3, 2]), [Ok, Ok, Repeated, WrongMac, Ok]);
    assert_eq!(Line::new(counted(0, 2, 0), None).judge(&[0, 2, 1, 5, 3]), [Ok, Ok, WrongMac, WrongMac, Ok]);
}

#[test]
fn old_frames_are_known_and_change_nothing() {
    let line = Line::new(Scheme::profile_1(0x131, 4, 32), None);
    assert_eq!(line.judge(&[100, 100, 99, 101, 5, 101, 102]), [Ok, Repeated, Replayed, Ok, Replayed, Repeated, Ok]);
    // So old that other values end in the same bits: only the MAC is wrong.
    assert_eq!(line.judge(&[300, 500, 100, 501]), [Ok, Ok, WrongMac, Ok]);
    let counts: Vec<_> = line.check.counts().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counts, [(Ok, 6), (Repeated, 2), (Replayed, 2), (WrongMac, 1)]);
}

#[test]
fn damaged_frames_change_nothing() {
    let line = Line::new(Scheme::profile_1(0x131, 4, 32), None);
    assert_eq!(line.judge(&[10]), [Ok]);
    for bit in 0..64 {
        let mut frame = line.frame(11);
        frame[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(line.check.judge(&frame), WrongMac, "bit {bit}");
    }
    assert_eq!(line.check.judge(&line.frame(11)[..7]), WrongLength);
    let other = Protection::new(&Scheme::profile_1(0x131, 4, 32), &Key::new([8; 16])).unwrap();
    let mut frame = [0x5A; 8];
    assert!(other.secure(&mut frame, 11));
    assert_eq!(line.check.judge(&frame), WrongMac);
    assert_eq!((line.check.last(), line.judge(&[11])), (Some(10), vec![Ok]));
}

#[test]
fn without_freshness_anything_that_was_secured_is_accepted() {
    let scheme = Scheme { len: 8, ..Scheme::profile_2(0x131, 4) };
    assert_eq!(Line::new(scheme, None).judge(&[0, 0, 0]), [NoFreshness; 3]);
}

#[test]
fn frames_follow_the_sync_frame() {
    let synced = Synced::new();
    assert_eq!(synced.judge((1, 2), &[0]), [NoSync]);
    assert_eq!(synced.sync((1, 2)), Ok);
    assert_eq!(synced.judge((1, 2), &[0, 1, 2, 6, 6, 5, 11, 10]), [Ok, Ok, Ok, Ok, Repeated, Replayed, WrongMac, Ok]);
    // The message counter begins again. A sender that has not seen the sync frame is late, but not older than it was.
    assert_eq!(synced.sync((1, 3)), Ok);
    assert_eq!(synced.judge((1, 2), &[11, 10]), [Ok, Replayed]);
    assert_eq!(synced.judge((1, 3), &[0, 1]), [Ok, Ok]);
    assert_eq!(synced.judge((1, 2), &[12]), [WrongMac]);
    // One that has seen the next one before the gateway.
    assert_eq!(synced.judge((1, 4), &[0]), [Ok]);
    assert_eq!(synced.judge((1, 3), &[2]), [WrongMac]);
    assert_eq!(synced.judge((1, 5), &[0]), [WrongMac]);
    // A new trip.
    assert_eq!(synced.sync((2, 0)), Ok);
    assert_eq!(synced.judge((2, 0), &[1]), [Ok]);
    assert_eq!(synced.judge((1, 4), &[1]), [WrongMac]);
    assert_eq!(synced.judge((2, 1), &[1]), [Ok]);
}

#[test]
fn sync_frames_never_go_back() {
    let synced = Synced::new();
    assert_eq!(
        [(1, 9), (1, 9), (1, 8), (0, 99), (1, 10), (9, 0)].map(|at| synced.sync(at)),
        [Ok, Repeated, Replayed, Replayed, Ok, Ok]
    );
    let mut forged = synced.sync_frame((10, 0));
    forged[7] ^= 1;
    assert_eq!(synced.check.judge(&forged), WrongMac);
    assert_eq!(synced.check.last(), Some(9 << 20));
    // As the compute of a route: one that says the same again is sent, an old one is not.
    let sent = |period| {
        let mut frame = Frame::classic(candor_core::frame::RawId(0xF), &synced.sync_frame(period)).unwrap();
        synced.check.change_frame(RealtimeNs::UNKNOWN, &mut frame)
    };
    assert_eq!([(9, 0), (8, 0), (9, 1)].map(sent), [Fate::Send, Fate::Delete, Fate::Send]);
}

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

#[test]
fn trailers_are_added_and_stripped() {
    let scheme = Scheme::profile_1(0x131, 4, 32);
    let sender = Protect::new(scheme.clone(), &key(), None).unwrap();
    let check = |payload, on_bad| Check::new(scheme.clone(), &key(), None, Options { on_bad, payload }).unwrap();
    let (plain, whole) = (check(Payload::Plain, OnBad::Drop), check(Payload::Secured, OnBad::Drop));
    let mut secured = frame("131#01020304");
    assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, &mut secured), Fate::Send);
    assert_eq!(secured.len, 8);
    let mut same = secured;
    assert_eq!((whole.change_frame(RealtimeNs::UNKNOWN, &mut same), same), (Fate::Send, secured));
    let mut stripped = secured;
    assert_eq!((plain.change_frame(RealtimeNs::UNKNOWN, &mut stripped), stripped), (Fate::Send, frame("131#01020304")));
    // Signed again by another gateway: the payload may have changed, the length stays.
    let (mut again, next) = (secured, Protect::new(scheme.clone(), &Key::new([1; 16]), None).unwrap());
    again.data[0] = 9;
    assert_eq!(next.change_frame(RealtimeNs::UNKNOWN, &mut again), Fate::Send);
    assert_eq!((&again.data[..5], again.len), (&[9, 2, 3, 4, 0][..], 8));
    assert_ne!(again.data[5..8], secured.data[5..8]);
    // Other lengths are not secured, and remote frames have nothing to secure.
    assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, &mut frame("131#010203")), Fate::Delete);
    assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, &mut frame("131#R")), Fate::Send);
    assert_eq!(plain.change_frame(RealtimeNs::UNKNOWN, &mut frame("131#R")), Fate::Send);
    // Passed on although they are bad: as long as good ones, if they can be.
    let pass = check(Payload::Plain, OnBad::Pass);
    for (bad, left) in [("131#0102030400000000", "131#01020304"), ("131#0102", "131#0102")] {
        let mut bad = frame(bad);
        assert_eq!((pass.change_frame(RealtimeNs::UNKNOWN, &mut bad), bad), (Fate::Send, frame(left)));
    }
}

#[test]
fn payloads_can_be_anywhere() {
    // In an FD frame: MAC, payload, freshness value.
    let mut scheme = Scheme::profile_1(0x131, 5, 32);
    assert_eq!(scheme.len, 12);
    scheme.payload = 3..8;
    scheme.mac = (0, 24);
    scheme.freshness.as_mut().unwrap().at = 84;
    let sender = Protect::new(scheme.clone(), &key(), None).unwrap();
    let options = Options { payload: Payload::Plain, ..Options::default() };
    let receiver = Check::new(scheme, &key(), None, options).unwrap();
    for _ in 0..300 {
        let mut one = frame("131##01122334455");
        assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, &mut one), Fate::Send);
        assert_eq!((one.len, &one.data[3..8]), (12, &[0x11, 0x22, 0x33, 0x44, 0x55][..]));
        assert_eq!(receiver.change_frame(RealtimeNs::UNKNOWN, &mut one), Fate::Send);
        assert_eq!(one, frame("131##01122334455"));
    }
    // 12 bytes do not fit into a classic frame.
    assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, &mut frame("131#1122334455")), Fate::Delete);
}

#[test]
fn senders_follow_the_sync_frame_and_end_with_their_counter() {
    let synced = Synced::new();
    let sender = Protect::new(Scheme::profile_3(0x131, 4), &key(), Some(synced.source())).unwrap();
    let send = || {
        let mut one = frame("131#5A5A5A5A");
        (sender.change_frame(RealtimeNs::UNKNOWN, &mut one) == Fate::Send)
            .then(|| synced.line.check.judge(one.payload()))
    };
    assert_eq!(send(), None);
    synced.sync((1, 2));
    assert_eq!([send(), send()], [Some(Ok); 2]);
    assert_eq!(synced.line.check.last(), Some(1 << 28 | 2 << 8 | 1));
    assert!((2..256).all(|_| send() == Some(Ok)));
    assert_eq!(send(), None, "no freshness value is used twice");
    synced.sync((1, 3));
    assert_eq!(send(), Some(Ok));
    assert_eq!(synced.line.check.last(), Some(1 << 28 | 3 << 8));
    let last = Protect::new(counted(8, 1, u32::MAX.into()), &key(), None).unwrap();
    assert_eq!(last.change_frame(RealtimeNs::UNKNOWN, &mut frame("131#01020304")), Fate::Send);
    assert_eq!(last.change_frame(RealtimeNs::UNKNOWN, &mut frame("131#01020304")), Fate::Delete);
}

#[test]
fn states_are_taken_over_if_scheme_key_and_sync_frame_are_the_same() {
    let new = |key: &Key, name: &str, sync_key: &Key| {
        let check = Check::new(Scheme::sync(0xF), sync_key, None, Options::default()).unwrap();
        let source = check.sync_source(name.into());
        Check::new(Scheme::profile_3(0x131, 4), key, Some(source), Options::default()).unwrap()
    };
    let (one, other) = (key(), Key::new([8; 16]));
    let check = new(&one, "sync", &one);
    assert!(check.equals(&new(&one, "sync", &one)));
    assert!(!check.equals(&new(&other, "sync", &one)));
    assert!(!check.equals(&new(&one, "other", &one)));
    assert!(!check.equals(&new(&one, "sync", &other)));
    assert!(!check.equals(&1));
    let text = format!("{check:?}");
    assert!(!text.contains("[7") && !text.contains("7, 7"), "{text}");
}

/// A reload keeps the running check of the sync frame, but makes a new one of a frame that follows it.
#[test]
fn new_followers_of_a_running_sync_frame_are_linked_to_it() {
    let (running, new) = (Synced::new(), Synced::new());
    running.sync((1, 2));
    let scheme = Scheme::profile_3(0x131, 4);
    let follower = Computed::new(Check::new(scheme.clone(), &key(), Some(new.source()), Options::default()).unwrap());
    let sender = Computed::new(Protect::new(scheme, &key(), Some(new.source())).unwrap());
    let send = |sender: &Computed| sender.change_frame(RealtimeNs::UNKNOWN, &mut frame("131#01020304"));
    assert_eq!(send(&sender), Fate::Delete);
    let link = |one: &Computed, to: &Synced| candor_secoc::relinked(one, |name| (name == "sync").then(|| to.source()));
    assert!(link(&sender, &new).is_none() && link(&follower, &new).is_none());
    assert_eq!(send(&link(&sender, &running).unwrap()), Fate::Send);
    let follower = link(&follower, &running).unwrap();
    let mut one = Frame::classic(candor_core::frame::RawId(0x131), &running.line.frame(1 << 28 | 2 << 8)).unwrap();
    assert_eq!(follower.change_frame(RealtimeNs::UNKNOWN, &mut one), Fate::Send);
    assert!(
        link(&Computed::new(Check::new(Scheme::sync(0xF), &key(), None, Options::default()).unwrap()), &new).is_none()
    );
}

#[test]
fn schemes_that_are_not_possible_say_why() {
    let of = |change: fn(&mut Scheme)| {
        let mut scheme = Scheme::profile_1(0x131, 4, 32);
        change(&mut scheme);
        Check::new(scheme, &key(), None, Options::default()).unwrap_err()
    };
    assert_eq!(of(|scheme| scheme.len = 9), SchemeError::Len { len: 9 });
    assert_eq!(of(|scheme| scheme.len = 0), SchemeError::Len { len: 0 });
    assert_eq!(of(|scheme| scheme.len = 7), SchemeError::Outside { part: Part::Mac, byte: 7, len: 7 });
    assert_eq!(of(|scheme| scheme.mac.1 = 7), SchemeError::MacBits { bits: 7 });
    assert_eq!(of(|scheme| scheme.data_id = vec![0; 17]), SchemeError::DataId { len: 17 });
    let overlap = SchemeError::Overlap { first: Part::Freshness, second: Part::Mac, byte: 4 };
    assert_eq!(of(|scheme| scheme.mac = (39, 25)), overlap);
    assert_eq!(of(|scheme| scheme.freshness.as_mut().unwrap().counter = 65), SchemeError::CounterBits { bits: 65 });
    let sent = SchemeError::SentBits { sent: 8, bits: 4 };
    assert_eq!(of(|scheme| scheme.freshness.as_mut().unwrap().counter = 4), sent);
    assert_eq!(of(|scheme| scheme.freshness.as_mut().unwrap().attempts = 0), SchemeError::Attempts { attempts: 0 });
    let start = SchemeError::Start { start: 1 << 32, largest: u32::MAX.into() };
    assert_eq!(of(|scheme| scheme.freshness.as_mut().unwrap().start = 1 << 32), start);
    let flag = SchemeError::FlagBits { flag: 3, reset: 2 };
    assert_eq!(
        of(|scheme| {
            scheme.freshness.as_mut().unwrap().synchronised = Some(Synchronised { trip: 1, reset: 2, flag: 3 });
        }),
        flag
    );
    assert_eq!(of(|scheme| *scheme = Scheme::profile_3(0x131, 4)), SchemeError::NoSync);
    let synced = Synced::new();
    let with = |scheme| Protect::new(scheme, &key(), Some(synced.source())).unwrap_err();
    assert_eq!(with(Scheme::profile_1(0x131, 4, 32)), SchemeError::UnusedSync);
    let mut scheme = Scheme::profile_3(0x131, 4);
    scheme.freshness.as_mut().unwrap().synchronised.as_mut().unwrap().trip = 8;
    assert_eq!(with(scheme), SchemeError::SyncBits { found: 36, wanted: 28 });
    let options = Options { payload: Payload::Plain, ..Options::default() };
    let long = Check::new(Scheme::profile_1(0x131, 9, 32), &key(), None, options).unwrap_err();
    assert_eq!(long, SchemeError::PlainLen { len: 9 });
}
