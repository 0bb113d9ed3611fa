//! Verdicts on sequences of frames.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use Verdict::{Initial, Ok, OkSomeLost, Repeated, WrongChecksum, WrongHeader, WrongLength, WrongSequence};
use candor_e2e::{Profile, Protection, Receiver, Settings, Verdict};

struct Line {
    protection: Arc<Protection>,
    receiver: Receiver,
}

impl Line {
    fn new(settings: &Settings) -> Self {
        let protection = Arc::new(Protection::new(&settings.scheme().unwrap()).unwrap());
        Self { receiver: Receiver::new(protection.clone()), protection }
    }

    fn of(profile: Profile, max_delta: u32) -> Self {
        let len = profile.header() + 4;
        Self::new(&Settings { max_delta, ..Settings::new(profile, vec![0x12; profile.data_ids()], len) })
    }

    fn frame(&self, counter: u32) -> Vec<u8> {
        let mut payload = vec![0x5A; 40];
        payload.truncate((0..=40).find(|len| self.protection.fits(*len)).unwrap());
        assert!(self.protection.protect_with(counter, &mut payload));
        payload
    }

    fn damaged(&self, counter: u32) -> Vec<u8> {
        let mut payload = self.frame(counter);
        *payload.last_mut().unwrap() ^= 1;
        payload
    }

    fn check(&mut self, counters: &[u32]) -> Vec<Verdict> {
        counters.iter().map(|counter| self.receiver.check(&self.frame(*counter))).collect()
    }
}

#[test]
fn steps_of_the_counter_decide() {
    for profile in [Profile::P04, Profile::P05, Profile::P06, Profile::P07, Profile::P11, Profile::P22] {
        let mut line = Line::of(profile, 3);
        let counters = [0, 1, 2, 2, 5, 9, 6, 8, 8, 13, 8, 9];
        let expected = [
            Initial,
            Ok,
            Ok,
            Repeated,
            OkSomeLost,
            WrongSequence,
            Ok,
            OkSomeLost,
            Repeated,
            WrongSequence,
            Repeated,
            Ok,
        ];
        assert_eq!(line.check(&counters), expected, "{profile}");
    }
}

#[test]
fn counters_turn() {
    for (profile, max) in [
        (Profile::P01, 14),
        (Profile::P02, 15),
        (Profile::P04, 0xFFFF),
        (Profile::P05, 0xFF),
        (Profile::P06, 0xFF),
        (Profile::P07, u32::MAX),
        (Profile::P11, 14),
        (Profile::P22, 15),
    ] {
        let mut line = Line::of(profile, 2);
        assert_eq!(
            line.check(&[max - 1, max, 0, 1, max, 3]),
            [Initial, Ok, Ok, Ok, WrongSequence, OkSomeLost],
            "{profile}"
        );
    }
}

/// With MaxDeltaCounterInit 1, the counters 2 and 3 are accepted after 1, but not 4 (AUTOSAR SWS E2E Library, `MaxDeltaCounterInit`).
#[test]
fn profiles_1_and_2_accept_more_after_frames_without_use() {
    for profile in [Profile::P01, Profile::P02] {
        assert_eq!(Line::of(profile, 1).check(&[1, 3, 5, 8]), [Initial, OkSomeLost, OkSomeLost, WrongSequence]);
        assert_eq!(Line::of(profile, 1).check(&[1, 4, 4]), [Initial, WrongSequence, OkSomeLost]);
        assert_eq!(Line::of(profile, 1).check(&[1, 1, 1, 5]), [Initial, Repeated, Repeated, OkSomeLost]);
        // A damaged frame is a lost one.
        let mut line = Line::of(profile, 1);
        line.check(&[1]);
        let damaged = [line.damaged(2), line.damaged(3)];
        assert_eq!(damaged.map(|frame| line.receiver.check(&frame)), [WrongChecksum; 2]);
        assert_eq!(line.check(&[4, 7]), [OkSomeLost, WrongSequence]);
    }
}

/// A recorded sequence is played again: the first frame is rejected, and so are those that follow it.
/// <https://github.com/COVESA/vsomeip/issues/1055>
#[test]
fn rejected_frame_never_moves_the_counter() {
    for profile in Profile::ALL {
        let mut line = Line::of(profile, 1);
        assert_eq!(line.check(&[10, 11]), [Initial, Ok]);
        assert_eq!(line.check(&[3, 4, 5, 6, 7]), [WrongSequence; 5], "{profile}");
        assert_eq!(line.receiver.last_counter(), Some(11));
        let damaged = line.damaged(12);
        assert_eq!(line.receiver.check(&damaged), WrongChecksum);
        assert_eq!(line.check(&[12]), [Ok], "{profile}");
    }
}

#[test]
fn resynchronises_only_if_configured_and_after_frames_that_follow_each_other() {
    let settings = Settings { resync: 3, ..Settings::new(Profile::P05, [1], 8) };
    let mut line = Line::new(&settings);
    assert_eq!(
        line.check(&[100, 10, 11, 12, 13, 14]),
        [Initial, WrongSequence, WrongSequence, WrongSequence, Initial, Ok]
    );
    // Any other frame breaks the row; so does one that follows the accepted ones.
    assert_eq!(line.check(&[90, 91, 95, 96, 97, 98]), [[WrongSequence; 5].as_slice(), &[Initial]].concat());
    assert_eq!(
        line.check(&[10, 11, 12, 99, 13, 14]),
        [WrongSequence, WrongSequence, WrongSequence, Ok, WrongSequence, WrongSequence]
    );
}

#[test]
fn reset_makes_the_next_frame_the_first() {
    let mut line = Line::of(Profile::P07, 1);
    assert_eq!(line.check(&[100, 7]), [Initial, WrongSequence]);
    line.receiver.reset();
    assert_eq!(line.check(&[7, 8]), [Initial, Ok]);
}

#[test]
fn header_of_another_sender_is_found() {
    // The checksums are right: the same sender with another Data-ID, length or counter.
    let other = |settings: Settings, change: fn(&mut candor_e2e::Scheme)| {
        let mut scheme = settings.scheme().unwrap();
        change(&mut scheme);
        let wrong = Protection::new(&scheme).unwrap();
        let mut payload = vec![0; *settings.len.end()];
        assert!(wrong.protect_with(scheme.counter.unwrap().max, &mut payload));
        Line::new(&settings).receiver.check(&payload)
    };
    let nibble = Settings { mode: candor_e2e::IdMode::Nibble, ..Settings::new(Profile::P01, [0x123], 8) };
    assert_eq!(other(nibble, |scheme| scheme.constants[0].1 = 2), WrongHeader);
    assert_eq!(
        other(Settings::new(Profile::P01, [0x123], 8), |scheme| scheme.counter.as_mut().unwrap().max = 15),
        WrongHeader
    );
    assert_eq!(other(Settings::new(Profile::P04, [1], 12), |scheme| scheme.constants[0].1 = 2), WrongHeader);
    assert_eq!(other(Settings::new(Profile::P06, [1], 12), |scheme| scheme.length = None), WrongHeader);
    let variable = Settings { len: 20..=24, ..Settings::new(Profile::P07, [1], 20) };
    let mut line = Line::new(&variable);
    assert_eq!(line.receiver.check(&[0; 19]), WrongLength);
    assert_eq!(line.receiver.check(&[0; 25]), WrongLength);
    let mut payload = [0; 24];
    assert!(line.protection.protect_with(1, &mut payload));
    assert_eq!(line.receiver.check(&payload), Initial);
    assert_eq!(line.receiver.check(&payload[..23]), WrongChecksum);
}

#[test]
fn verdicts_have_names() {
    assert_eq!(Verdict::ALL.map(Verdict::is_valid), [true, true, true, true, false, false, false, false, false]);
    for (at, one) in Verdict::ALL.into_iter().enumerate() {
        assert_eq!(one as usize, at);
        assert!(Verdict::ALL[..at].iter().all(|other| other.name() != one.name()));
    }
}

#[test]
fn frames_allocate_nothing() {
    let mut line = Line::of(Profile::P02, 1);
    let mut payload = line.frame(3);
    let mut sender = candor_e2e::Sender::new(line.protection.clone());
    let info = allocation_counter::measure(|| {
        assert!(line.receiver.check(&payload).is_valid());
        assert!(sender.protect(&mut payload));
        assert!(line.protection.follow(&mut payload));
    });
    assert_eq!(info.count_total, 0);
}
