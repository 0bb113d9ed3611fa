//! Logs as they are: lost, repeated and damaged frames, and logs without evidence.
#![expect(clippy::unwrap_used, reason = "a test")]

use candor_e2e::{Algorithm, Checksum, Counter, Place, Profile, Protection, Scheme, Settings, Unit};
use candor_learn::{Ambiguity, Learned, Outcome, learn};

fn of(payloads: &[Vec<u8>]) -> Learned {
    learn(payloads.iter().map(|payload| &payload[..]), None)
}

fn sum() -> Scheme {
    let sum = Checksum::Sum { unit: Unit::Byte, init: 9, negated: false, xorout: 0 };
    Scheme { counter: Some(Counter::new(Place::low_nibble(6))), ..Scheme::new(sum, Place::byte(7), 8) }
}

fn crc() -> Scheme {
    let crc = Algorithm { width: 8, polynomial: 0x9B, init: 0x17, reflect_in: true, reflect_out: true, xorout: 0 };
    let counter = Counter { max: 14, ..Counter::new(Place::low_nibble(1)) };
    Scheme { counter: Some(counter), ..Scheme::new(Checksum::Crc(crc), Place::byte(0), 8) }
}

fn xor() -> Scheme {
    let xor = Checksum::Xor { unit: Unit::Byte, init: 0 };
    Scheme { counter: Some(Counter::new(Place::byte(1))), ..Scheme::new(xor, Place::byte(0), 8) }
}

fn p02() -> Scheme {
    Settings::new(Profile::P02, (100..116).collect::<Vec<u32>>(), 8).scheme().unwrap()
}

/// A steering angle that drifts, a speed, flags that rarely change, and two constant bytes.
fn signals(rng: &mut fastrand::Rng, payload: &mut [u8]) {
    let [_, _, low, high, speed, flags, ..] = payload else { return };
    let angle = u16::from_le_bytes([*low, *high]).wrapping_add(rng.u16(0..40)).wrapping_sub(19);
    [*low, *high] = angle.to_le_bytes();
    *speed = speed.wrapping_add(rng.u8(0..3)).wrapping_sub(1);
    *flags ^= u8::from(rng.u8(..) < 10) << rng.u8(0..8);
}

fn drive(scheme: &Scheme, count: usize, seed: u64) -> Vec<Vec<u8>> {
    let protection = Protection::new(scheme).unwrap();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut number = scheme.counter.unwrap().first;
    let mut payload = vec![0; 8];
    let mut payloads = Vec::new();
    for _ in 0..count {
        signals(&mut rng, &mut payload);
        assert!(protection.protect_with(number, &mut payload));
        payloads.push(payload.clone());
        let counter = scheme.counter.unwrap();
        number = if number == counter.max { counter.min } else { number + 1 };
    }
    payloads
}

fn explains(scheme: &Scheme, payload: &[u8]) -> bool {
    let mut copy = payload.to_vec();
    Protection::new(scheme).unwrap().follow(&mut copy) && copy == payload
}

/// The first hypothesis explains what the scheme protects, in this log and in another one.
fn must_be(scheme: &Scheme, log: &[Vec<u8>]) {
    let learned = of(log);
    assert_eq!(learned.outcome, Outcome::Found, "{learned:?}");
    let best = &learned.schemes[0];
    let valid = log.iter().filter(|payload| explains(scheme, payload)).count();
    assert_eq!((best.explained, best.of), (valid, log.len()), "{learned:?}");
    assert_eq!(best.scheme.place, scheme.place, "{learned:?}");
    let counter = scheme.counter.unwrap();
    let found = best.scheme.counter.unwrap();
    assert_eq!((found.place, found.min, found.max), (counter.place, counter.min, counter.max), "{learned:?}");
    for payload in drive(scheme, 200, 77) {
        assert!(explains(&best.scheme, &payload), "{best:?}");
    }
}

#[test]
fn finds_schemes_of_drifting_signals() {
    for scheme in [sum(), crc(), xor(), p02()] {
        must_be(&scheme, &drive(&scheme, 600, 1));
    }
}

#[test]
fn lost_frames_are_tolerated() {
    for scheme in [sum(), crc(), xor(), p02()] {
        let mut rng = fastrand::Rng::with_seed(2);
        let log: Vec<_> = drive(&scheme, 800, 2).into_iter().filter(|_| rng.u8(0..10) != 0).collect();
        must_be(&scheme, &log);
    }
}

#[test]
fn repeated_frames_are_tolerated() {
    for scheme in [sum(), crc(), xor(), p02()] {
        let mut rng = fastrand::Rng::with_seed(3);
        let twice = |payload: Vec<u8>| vec![payload; if rng.u8(0..10) == 0 { 2 } else { 1 }];
        must_be(&scheme, &drive(&scheme, 600, 3).into_iter().flat_map(twice).collect::<Vec<_>>());
    }
}

#[test]
fn damaged_frames_are_tolerated() {
    for scheme in [sum(), crc(), xor(), p02()] {
        let mut rng = fastrand::Rng::with_seed(4);
        let mut log = drive(&scheme, 1000, 4);
        for payload in log.iter_mut().step_by(100) {
            rng.fill(payload);
        }
        must_be(&scheme, &log);
    }
}

#[test]
fn all_faults_together_are_tolerated() {
    for scheme in [sum(), crc(), xor(), p02()] {
        for seed in 20..25 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut log = Vec::new();
            for mut payload in drive(&scheme, 1200, seed) {
                let chance = rng.u8(0..100);
                if chance == 0 {
                    payload[rng.usize(0..8)] ^= 1 << rng.u8(0..8);
                }
                if chance < 95 {
                    log.push(payload.clone());
                }
                if chance > 90 {
                    log.push(payload);
                }
            }
            must_be(&scheme, &log);
        }
    }
}

/// Evidence grows with each different payload.
#[test]
fn some_frames_are_weak_evidence() {
    let outcomes: Vec<Outcome> = [3, 5, 40].map(|count| of(&drive(&sum(), count, 12)).outcome).into();
    assert_eq!(outcomes, [Outcome::TooFew, Outcome::Weak, Outcome::Found]);
}

#[test]
fn other_lengths_are_counted() {
    let mut log = drive(&crc(), 300, 5);
    log.push(vec![1, 2, 3]);
    log.push(vec![]);
    let learned = of(&log);
    assert_eq!((learned.outcome, learned.len, learned.frames, learned.others), (Outcome::Found, 8, 300, 2));
}

#[test]
fn constant_payloads_are_no_evidence() {
    let mut payload = vec![0; 8];
    assert!(Protection::new(&sum()).unwrap().protect_with(3, &mut payload));
    let learned = of(&vec![payload; 1000]);
    assert_eq!((learned.outcome, learned.distinct, learned.schemes.len()), (Outcome::Constant, 1, 0));
}

/// Two payloads in turn, ten thousand times, are two payloads.
#[test]
fn repeated_payloads_are_no_evidence() {
    let log: Vec<_> = drive(&sum(), 3, 6).into_iter().cycle().take(10_000).collect();
    let learned = of(&log);
    assert_eq!((learned.outcome, learned.distinct), (Outcome::TooFew, 3), "{learned:?}");
}

#[test]
fn nothing_is_found_in_random_bytes() {
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        for count in [20, 100, 1000] {
            let log: Vec<Vec<u8>> = (0..count).map(|_| (0..8).map(|_| rng.u8(..)).collect()).collect();
            let learned = of(&log);
            assert_eq!((learned.outcome, learned.schemes.len()), (Outcome::Nothing, 0), "{learned:?}");
            assert_eq!(learned.counters, []);
        }
    }
}

#[test]
fn a_counter_alone_is_no_checksum() {
    let mut rng = fastrand::Rng::with_seed(8);
    let mut log = Vec::new();
    for at in 0..500_u16 {
        let mut payload: Vec<u8> = (0..8).map(|_| rng.u8(..)).collect();
        payload[3] = payload[3] & 0xF0 | u8::try_from(at % 15).unwrap();
        log.push(payload);
    }
    let learned = of(&log);
    assert_eq!((learned.outcome, learned.schemes.len(), learned.counters.len()), (Outcome::Nothing, 0, 1));
    let found = learned.counters[0];
    assert_eq!((found.counter.place, found.counter.min, found.counter.max), (Place::low_nibble(3), 0, 14));
    assert_eq!((found.step, found.steps, found.of, found.wraps), (1, 499, 499, true));
}

/// Only the counter and the checksum vary: any list of 16 values explains that.
#[test]
fn a_list_that_the_counter_chooses_alone_is_no_evidence() {
    let protection = Protection::new(&p02()).unwrap();
    let mut log = Vec::new();
    for at in 0..500 {
        let mut payload = vec![1, 2, 3, 4, 5, 6, 7, 8];
        assert!(protection.protect_with(at % 16, &mut payload));
        log.push(payload);
    }
    let learned = of(&log);
    assert_ne!(learned.outcome, Outcome::Found, "{learned:?}");
}

#[test]
fn few_frames_are_said_to_be_too_few() {
    for scheme in [sum(), crc(), xor(), p02()] {
        for count in 2..7 {
            let learned = of(&drive(&scheme, count, 9));
            assert_ne!(learned.outcome, Outcome::Found, "{learned:?}");
            assert!(learned.schemes.iter().all(|one| !one.is_strong()));
        }
    }
    assert_eq!(of(&[]).outcome, Outcome::Length);
    assert_eq!(of(&[vec![1; 65], vec![2; 65]]).outcome, Outcome::Length);
}

#[test]
fn what_cannot_be_decided_is_said() {
    let best = of(&drive(&crc(), 600, 10)).schemes[0].clone();
    assert!(best.ambiguities.contains(&Ambiguity::StartOrFinalOrDataId));
    assert!(best.ambiguities.contains(&Ambiguity::ConstantBytes(vec![6, 7])));
    let best = of(&drive(&xor(), 600, 10)).schemes[0].clone();
    assert!(best.ambiguities.iter().any(|one| matches!(one, Ambiguity::Places(_))));
    // 10 frames do not reach the counters 11 to 15.
    let short: Vec<_> = drive(&p02(), 600, 11).into_iter().filter(|one| one[1] & 15 < 11).collect();
    let best = of(&short).schemes[0].clone();
    assert!(best.ambiguities.contains(&Ambiguity::UnseenCounters((11..16).collect())), "{best:?}");
}
