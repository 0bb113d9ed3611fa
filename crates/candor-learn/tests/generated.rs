//! Schemes of every kind are found in payloads that they protect.
#![expect(clippy::unwrap_used, reason = "a test")]

use candor_e2e::{
    Algorithm, ByteOrder, Checksum, Counter, DataId, IdMode, Place, Profile, Protection, Scheme, Settings, Unit, oracle,
};
use candor_learn::{Outcome, learn};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[path = "support/accepted.rs"]
mod accepted;

use accepted::must_be_accepted;

/// Payloads with all bits at random, protected, with a counter that counts.
fn log(scheme: &Scheme, count: usize, seed: u64) -> Vec<Vec<u8>> {
    let protection = Protection::new(scheme).unwrap();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut number = scheme.counter.map_or(0, |one| one.first);
    let mut payloads = Vec::new();
    for _ in 0..count {
        let mut payload: Vec<u8> = (0..*scheme.len.end()).map(|_| rng.u8(..)).collect();
        assert!(protection.protect_with(number, &mut payload));
        payloads.push(payload);
        if let Some(counter) = scheme.counter {
            number = if number == counter.max { counter.min } else { number + 1 };
        }
    }
    payloads
}

/// Payloads as signals make them: bytes that drift, that rarely change, that never change, and at least one at random.
fn signals(scheme: &Scheme, count: usize, seed: u64) -> Vec<Vec<u8>> {
    let protection = Protection::new(scheme).unwrap();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut number = scheme.counter.map_or(0, |one| one.first);
    let mut payload: Vec<u8> = (0..*scheme.len.end()).map(|_| rng.u8(..)).collect();
    let kinds: Vec<u8> = payload.iter().map(|_| rng.u8(0..8)).collect();
    let mut payloads = Vec::new();
    for _ in 0..count {
        for (byte, kind) in payload.iter_mut().zip(&kinds) {
            match kind {
                0 => {}
                1 => *byte ^= u8::from(rng.u8(..) < 20) << rng.u8(0..8),
                2..=4 => *byte = byte.wrapping_add(rng.u8(0..5)).wrapping_sub(2),
                5 => *byte = byte.wrapping_add(rng.u8(0..40)).wrapping_sub(20),
                _ => *byte = rng.u8(..),
            }
        }
        let mut protected = payload.clone();
        assert!(protection.protect_with(number, &mut protected));
        payloads.push(protected);
        if let Some(counter) = scheme.counter {
            number = if number == counter.max { counter.min } else { number + 1 };
        }
    }
    payloads
}

/// Bits that vary, that are covered, and that are not the counter.
fn varying(scheme: &Scheme, payloads: &[Vec<u8>]) -> u32 {
    let fields = [Some(scheme.place), scheme.counter.map(|one| one.place)];
    let mut free = vec![0xFF; payloads[0].len()];
    for place in fields.into_iter().flatten() {
        oracle::set(place, &mut free, 0);
    }
    let last = scheme.over.1.map_or(free.len() - 1, usize::from);
    let covered = usize::from(scheme.over.0)..=last;
    let varies = |at: usize| payloads.iter().fold(0, |bits, payload| bits | payload[at] ^ payloads[0][at]);
    covered.map(|at| (varies(at) & free[at]).count_ones()).sum()
}

fn explains(scheme: &Scheme, payload: &[u8]) -> bool {
    let mut copy = payload.to_vec();
    Protection::new(scheme).unwrap().follow(&mut copy) && copy == payload
}

/// The first scheme explains all frames of the log, and also frames that are not in it.
fn must_find(scheme: &Scheme, identifier: Option<u32>, count: usize, seed: u64) -> Result<(), TestCaseError> {
    let payloads = log(scheme, count + 100, seed);
    let (seen, unseen) = payloads.split_at(count);
    // The high byte of a wide sum may be constant; then it is no part of what can be learned.
    let first = usize::from(scheme.place.start / 8);
    let varies = |at: usize| seen.iter().any(|payload| payload[at] != seen[0][at]);
    prop_assume!((first..first + usize::from(scheme.place.bits).div_ceil(8)).all(varies));
    let learned = learn(seen.iter().map(|payload| &payload[..]), identifier);
    prop_assert_eq!(learned.outcome, Outcome::Found, "{:?}\n{:?}", scheme, learned);
    let best = &learned.schemes[0];
    prop_assert_eq!((best.explained, best.of), (count, count), "{:?}\n{:?}", scheme, best);
    let predicted = unseen.iter().filter(|payload| explains(&best.scheme, payload)).count();
    prop_assert_eq!(predicted, unseen.len(), "{:?}\n{:?}", scheme, best);
    must_be_accepted(&learned, seen);
    Ok(())
}

fn counter(place: Place) -> impl Strategy<Value = Counter> {
    let all = Counter::new(place);
    prop_oneof![Just(all), Just(Counter { max: all.max - 1, ..all }), Just(Counter { min: 1, first: 1, ..all })]
}

/// A counter of 4 bits or a whole byte, not in the byte of the checksum.
fn counter_at(bytes: Vec<u16>) -> impl Strategy<Value = Option<Counter>> {
    let place = (prop::sample::select(bytes), 0..3).prop_map(|(byte, kind)| match kind {
        0 => Place::low_nibble(byte),
        1 => Place::high_nibble(byte),
        _ => Place::byte(byte),
    });
    prop_oneof![1 => Just(None), 3 => place.prop_flat_map(counter).prop_map(Some)]
}

fn crc(width: u8) -> impl Strategy<Value = Checksum> {
    (any::<[u64; 3]>(), any::<bool>(), prop::bool::weighted(0.1)).prop_map(
        move |([polynomial, init, xorout], reflect_in, mixed)| {
            let mask = u64::MAX >> (64 - u32::from(width));
            let [polynomial, init, xorout] = [polynomial | 1, init, xorout].map(|one| one & mask);
            let polynomial = if polynomial == 1 { 3 } else { polynomial };
            Checksum::Crc(Algorithm { width, polynomial, init, reflect_in, reflect_out: reflect_in ^ mixed, xorout })
        },
    )
}

fn plain(bits: u8) -> impl Strategy<Value = Checksum> {
    let mask = u64::MAX >> (64 - u32::from(bits));
    let unit = || prop_oneof![Just(Unit::Byte), Just(Unit::Nibble)];
    let xorout =
        prop_oneof![3 => Just(0), 1 => Just(mask), 1 => if bits <= 8 { (0..=mask).boxed() } else { Just(0).boxed() }];
    prop_oneof![
        (unit(), 0..=mask).prop_map(|(unit, init)| Checksum::Xor { unit, init }),
        (unit(), 0..=mask, any::<bool>(), xorout).prop_map(|(unit, init, negated, xorout)| Checksum::Sum {
            unit,
            init,
            negated,
            xorout
        }),
    ]
    .prop_filter("XOR of 16 bits is not looked for", move |one| bits <= 8 || !matches!(one, Checksum::Xor { .. }))
}

/// How the Data-ID is chosen.
fn data_id(width: u8) -> impl Strategy<Value = (DataId, bool)> {
    let size = usize::from(width).div_ceil(8);
    let largest = if width < 8 { 15_u8 } else { 255 };
    let bytes = |size| prop::collection::vec(0..=largest, size);
    prop_oneof![
        2 => Just((DataId::default(), false)),
        1 => bytes(2).prop_map(|one| (DataId { before: vec![one], after: vec![] }, false)),
        1 => bytes(1).prop_map(|one| (DataId { before: vec![], after: vec![one] }, false)),
        1 => bytes(2).prop_map(|one| (DataId { before: vec![], after: vec![one] }, false)),
        1 => prop::collection::vec(bytes(size), 2..=15).prop_map(|list| (DataId { before: list, after: vec![] }, true)),
        1 => prop::collection::vec(bytes(size), 2..=15).prop_map(|list| (DataId { before: vec![], after: list }, true)),
    ]
}

fn place(len: u16) -> impl Strategy<Value = Place> {
    prop_oneof![
        (0..len).prop_map(Place::byte),
        (0..len).prop_map(Place::low_nibble),
        (0..len).prop_map(Place::high_nibble),
        (0..len - 1, any::<bool>()).prop_map(|(at, little)| Place::bytes(
            at,
            2,
            if little { ByteOrder::Little } else { ByteOrder::Big }
        )),
        (0..len - 3, any::<bool>()).prop_map(|(at, little)| Place::bytes(
            at,
            4,
            if little { ByteOrder::Little } else { ByteOrder::Big }
        )),
    ]
}

/// Schemes that the crate says that it finds, in payloads of 5 to 8 bytes.
fn scheme() -> impl Strategy<Value = Scheme> {
    let parts = (5..=8_u16).prop_flat_map(|len| (Just(len), place(len)));
    let parts = parts.prop_flat_map(|(len, place)| {
        let checksum = if place.bits > 16 {
            crc(place.bits).boxed()
        } else {
            prop_oneof![crc(place.bits), plain(place.bits)].boxed()
        };
        let own = place.start / 8..place.start / 8 + u16::from(place.bits).div_ceil(8);
        let free: Vec<u16> = (0..len).filter(|at| !own.contains(at)).collect();
        (Just((len, place)), checksum, counter_at(free), data_id(place.bits), (0..2_u16, 0..2_u16))
    });
    parts.prop_filter_map("possible", |((len, place), checksum, counter, (data_id, is_list), (first, last))| {
        let mut scheme = Scheme::new(checksum, place, len.into());
        scheme.over = (first, (last > 0).then_some(len - 1 - last));
        scheme.counter = counter;
        scheme.data_id = data_id;
        if is_list {
            // Larger counters choose nothing that can be learned, and sums of wide fields neither.
            let values = counter.map_or(0, |one| one.max - one.min + 1);
            let is_plain = !matches!(checksum, Checksum::Crc(_));
            if !(8..=16).contains(&values) || is_plain && place.bits > 8 {
                return None;
            }
            if let Checksum::Sum { xorout, unit, .. } = checksum
                && (xorout != 0 || unit == Unit::Nibble && place.bits != 4)
            {
                return None;
            }
            if matches!(checksum, Checksum::Xor { unit: Unit::Nibble, .. }) && place.bits != 4 {
                return None;
            }
        }
        // One covered byte, or none, is no checksum.
        let own = place.start / 8..place.start / 8 + u16::from(place.bits).div_ceil(8);
        if (scheme.over.0..=scheme.over.1.unwrap_or(len - 1)).filter(|at| !own.contains(at)).count() < 2 {
            return None;
        }
        let is_narrow_crc = matches!(checksum, Checksum::Crc(_)) && place.bits < 8;
        if is_narrow_crc && !scheme.data_id.after.is_empty() {
            return None;
        }
        Protection::new(&scheme).ok().map(|_| scheme)
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let profile = prop::sample::select(&Profile::ALL[..]);
    let mode = prop::sample::select(&IdMode::ALL[..]);
    (profile, mode, any::<[u32; 16]>(), 3..=12_usize, 0..3_u16).prop_filter_map(
        "a length of CAN FD",
        |(profile, mode, ids, more, offset)| {
            let mask = match profile {
                Profile::P02 | Profile::P22 => 0xFF,
                Profile::P04 | Profile::P07 => u32::MAX,
                _ => 0xFFF,
            };
            let has = profile == Profile::P01 || profile == Profile::P11 && mode == IdMode::Nibble;
            let ids: Vec<u32> = ids.iter().take(profile.data_ids()).map(|id| id & mask).collect();
            let least = profile.header() + usize::from(offset) + more;
            let len =
                if least <= 8 { least } else { [12, 16, 20, 24, 32, 48].into_iter().find(|len| *len >= least)? };
            let mode = if has { mode } else { IdMode::Both };
            Some(Settings { mode, offset, ..Settings::new(profile, ids, len) }).filter(|one| one.scheme().is_ok())
        },
    )
}

/// 2 bytes that rarely change, and a counter that the CRC does not cover: frames that differ are few.
#[test]
fn finds_a_crc_of_bytes_that_rarely_change() {
    let crc = Algorithm {
        width: 32,
        polynomial: 0xD5E9_7475,
        init: 0xD8FD_9B4A,
        reflect_in: false,
        reflect_out: false,
        xorout: 0xC487_15E0,
    };
    let mut scheme = Scheme::new(Checksum::Crc(crc), Place::bytes(3, 4, ByteOrder::Big), 7);
    scheme.over.0 = 1;
    scheme.data_id.after = vec![vec![0xA6]];
    scheme.counter = Some(Counter { min: 1, first: 1, ..Counter::new(Place::byte(0)) });
    let protection = Protection::new(&scheme).unwrap();
    let mut payloads = Vec::new();
    for at in 0..214_u8 {
        let changes = at.saturating_sub(53) / 8;
        let mut payload = vec![0, 0xA7 ^ changes.wrapping_mul(0x35), 0xA0 ^ changes.wrapping_mul(0x53), 0, 0, 0, 0];
        assert!(protection.protect_with(u32::from(at) + 1, &mut payload));
        payloads.push(payload);
    }
    let learned = learn(payloads.iter().map(|payload| &payload[..]), None);
    assert_eq!(learned.outcome, Outcome::Found, "{learned:?}");
    assert_eq!((learned.schemes[0].explained, learned.schemes[0].of), (214, 214), "{learned:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: RngSeed::Fixed(28), max_shrink_iters: 30, ..ProptestConfig::default() })]

    #[test]
    fn finds_generic_schemes(scheme in scheme(), count in 100..300_usize, seed: u64) {
        must_find(&scheme, None, count, seed)?;
    }

    /// What is found explains the log, even if little varies.
    #[test]
    fn finds_generic_schemes_of_signals(scheme in scheme(), count in 150..400_usize, seed: u64) {
        let payloads = signals(&scheme, count, seed);
        prop_assume!(varying(&scheme, &payloads) >= 16);
        let learned = learn(payloads.iter().map(|payload| &payload[..]), None);
        prop_assert_eq!(learned.outcome, Outcome::Found, "{:?}\n{:?}\n{:02X?}", scheme, learned, payloads);
        let best = &learned.schemes[0];
        prop_assert_eq!((best.explained, best.of), (count, count), "{:?}\n{:?}\n{:02X?}", scheme, best, payloads);
        must_be_accepted(&learned, &payloads);
    }

    #[test]
    fn finds_profiles(settings in settings(), count in 100..300_usize, seed: u64) {
        let scheme = settings.scheme().unwrap();
        must_find(&scheme, None, count, seed)?;
    }

    #[test]
    fn finds_the_identifier_in_sums(identifier in 0x100..0x800_u32, count in 50..300_usize, seed: u64, with_length: bool) {
        let init = if with_length { 8 } else { 0 };
        let sum = Checksum::Sum { unit: Unit::Byte, init, negated: false, xorout: 0 };
        let mut scheme = Scheme::new(sum, Place::byte(7), 8);
        let [_, _, high, low] = identifier.to_be_bytes();
        scheme.data_id.before = vec![vec![high, low]];
        must_find(&scheme, Some(identifier), count, seed)?;
        let payloads = log(&scheme, count, seed);
        let learned = learn(payloads.iter().map(|payload| &payload[..]), Some(identifier));
        // A constant of 0 needs no identifier.
        if (u64::from(high) + u64::from(low) + init) & 0xFF != 0 {
            prop_assert_eq!(&learned.schemes[0].scheme, &scheme);
        }
    }
}
