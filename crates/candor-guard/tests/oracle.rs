//! Limits over time beside a bucket that is filled token by token.

use std::time::Duration;

use candor_core::frame::{Frame, RawId};
use candor_core::job::{Compute, RealtimeNs, Seen};
use candor_core::rule::Verdict;
use candor_guard::{Limits, OnViolation, Pace, Rate, Rule, States};
use proptest::prelude::*;

/// A bucket with `room` tokens of `interval_ns` each: what is in it, in nanoseconds of filling.
struct Bucket {
    interval_ns: i128,
    room: i128,
    filled_ns: i128,
}

impl Bucket {
    fn new(per_second: u64, room: u64) -> Self {
        let interval_ns = i128::from(1_000_000_000 / per_second);
        Self { interval_ns, room: room.into(), filled_ns: interval_ns * i128::from(room) }
    }

    fn wait(&mut self, ns: i128) {
        self.filled_ns = (self.filled_ns + ns).min(self.interval_ns * self.room);
    }

    fn has(&self, tokens: i128) -> bool {
        self.filled_ns >= tokens * self.interval_ns
    }

    fn take(&mut self, tokens: i128) {
        self.filled_ns -= tokens * self.interval_ns;
    }
}

/// The rules one by one, for one identifier.
struct Slow {
    frames: Option<Bucket>,
    bits: Option<Bucket>,
    gap_ns: Option<i128>,
    drops: bool,
    last_passed: Option<i128>,
    now: i128,
}

impl Slow {
    fn judge(&mut self, at: i128, payload: usize) -> Option<Rule> {
        let waited = at - self.now;
        self.now = at;
        self.frames.iter_mut().chain(&mut self.bits).for_each(|bucket| bucket.wait(waited));
        // SOF 1, identifier 11, RTR 1, IDE 1, r0 1, DLC 4, CRC 15, delimiter 1, ACK 2, EOF 7, space 3.
        let bits = 1 + 11 + 1 + 1 + 1 + 4 + 15 + 1 + 2 + 7 + 3 + 8 * payload as i128;
        let fault = if self.frames.as_ref().is_some_and(|bucket| !bucket.has(1)) {
            Some(Rule::Rate)
        } else if self.bits.as_ref().is_some_and(|bucket| !bucket.has(bits)) {
            Some(Rule::BitRate)
        } else if self.gap_ns.zip(self.last_passed).is_some_and(|(gap, last)| at - last < gap) {
            Some(Rule::Gap)
        } else {
            None
        };
        if fault.is_none() {
            self.frames.iter_mut().for_each(|bucket| bucket.take(1));
            self.bits.iter_mut().for_each(|bucket| bucket.take(bits));
        }
        if fault.is_none() || !self.drops {
            self.last_passed = Some(at);
        }
        fault
    }
}

const LARGEST: u32 = 131;

proptest! {
    #[test]
    fn limits_are_those_of_buckets(
        rate in prop::option::of((1_u64..100_000, 2_u32..20)),
        bit_rate in prop::option::of((1000_u64..1_000_000, 2_u32..20)),
        gap_us in prop::option::of(1_u64..20_000),
        drops in any::<bool>(),
        frames in prop::collection::vec((0_i64..30_000_000, 0_usize..=8), 1..200),
    ) {
        let limits = Limits {
            rate: rate.map(|(rate, burst)| Rate::frames(rate, burst).unwrap()),
            bit_rate: bit_rate.map(|(rate, burst)| Rate::bits(rate, burst, LARGEST).unwrap()),
            gap: gap_us.map(Duration::from_micros),
        };
        let on_violation = if drops { OnViolation::Drop } else { OnViolation::Count };
        let paces = [States::One, States::Each(4)].map(|states| Pace::new(limits, states, on_violation));
        let start: i64 = 1_700_000_000_000_000_000;
        let mut slow = Slow {
            frames: rate.map(|(rate, burst)| Bucket::new(rate, burst.into())),
            bits: bit_rate.map(|(rate, burst)| Bucket::new(rate, u64::from(burst) * u64::from(LARGEST))),
            gap_ns: gap_us.map(|us| i128::from(us) * 1000),
            drops,
            last_passed: None,
            now: start.into(),
        };
        let (mut now, mut counts) = (start, [0; Rule::ALL.len()]);
        for (wait, len) in frames {
            // Many frames come close to each other.
            now += if wait % 3 == 0 { wait / 1000 } else { wait };
            let fault = slow.judge(now.into(), len);
            if let Some(rule) = fault {
                counts[rule as usize] += 1;
            }
            let wanted = if fault.is_some() && drops { Verdict::Delete } else { Verdict::Send };
            for pace in &paces {
                let mut payload = vec![0; len];
                prop_assert_eq!(pace.change(Seen { id: RawId(0x123), at: RealtimeNs(now) }, &mut payload), wanted);
                prop_assert_eq!(pace.tally().all().map(|(_, frames)| frames).collect::<Vec<_>>(), counts.to_vec());
            }
        }
    }
}

#[test]
fn a_clock_that_is_set_back_stops_nothing() {
    let limits = Limits {
        rate: Some(Rate::frames(10, 2).unwrap()),
        bit_rate: Some(Rate::bits(10_000, 2, LARGEST).unwrap()),
        gap: Some(Duration::from_millis(50)),
    };
    let pace = Pace::new(limits, States::One, OnViolation::Drop);
    let hour = 3_600_000_000_000;
    let mut sent = |at| pace.change(Seen { id: RawId(1), at: RealtimeNs(at) }, &mut [0; 8]) == Verdict::Send;
    assert_eq!([10 * hour, 10 * hour + 100_000_000, hour, hour + 1000].map(&mut sent), [true, true, true, false]);
    // And frames without a stamp are not judged.
    assert!(sent(RealtimeNs::UNKNOWN.0));
}

#[test]
fn rates_that_cannot_be() {
    use candor_guard::RateError;
    assert_eq!(Rate::frames(0, 2), Err(RateError::Rate));
    assert_eq!(Rate::frames(10, 1), Err(RateError::Burst));
    assert_eq!(Rate::frames(2_000_000_000, 2), Err(RateError::Rate));
}

#[test]
fn evidence_has_the_format_of_the_frame() {
    let limits = Limits { gap: Some(Duration::from_millis(50)), ..Limits::default() };
    let id = RawId(0x123);
    let frames = [Frame::classic(id, &[1, 2]).unwrap(), Frame::fd(id, 0, &[1, 2]).unwrap()];
    for (mut frame, text) in frames.into_iter().zip(["123#0102", "123##40102"]) {
        let pace = Pace::new(limits, States::One, OnViolation::Drop);
        for at in [1, 2] {
            pace.change_frame(RealtimeNs(at), &mut frame);
        }
        let evidence = pace.tally().last(Rule::Gap).unwrap();
        assert_eq!((evidence.frame.to_string().as_str(), evidence.at), (text, RealtimeNs(2)));
    }
}
