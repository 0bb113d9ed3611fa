//! Compiled schemes do what the oracle does, and find what they must find.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MAX_DLEN, Frame, FrameFormat, RawId};
use candor_core::job::{BusIndex, Compute as _, CounterInByte, Job, RealtimeNs, Seen, Steps};
use candor_core::rule::{Checksums, Verdict as Fate};
use candor_e2e::{
    Algorithm, ByteOrder, Checksum, Counted, Counter, Crc, DataId, IdMode, Place, Profile, Protect, Protection,
    Receiver, Scheme, Sender, Settings, Unit, Verdict, oracle,
};
use proptest::prelude::*;

fn algorithm() -> impl Strategy<Value = Algorithm> {
    let width = prop_oneof![1..=64u8, Just(8), Just(16), Just(32), Just(64)];
    (width, any::<[u64; 3]>(), any::<bool>(), any::<bool>()).prop_map(
        |(width, [polynomial, init, xorout], reflect_in, reflect_out)| {
            let mask = u64::MAX >> (64 - u32::from(width));
            let [polynomial, init, xorout] = [polynomial | 1, init, xorout].map(|one| one & mask);
            Algorithm { width, polynomial, init, reflect_in, reflect_out, xorout }
        },
    )
}

fn checksum() -> impl Strategy<Value = Checksum> {
    let unit = || prop_oneof![Just(Unit::Byte), Just(Unit::Nibble)];
    prop_oneof![
        algorithm().prop_map(Checksum::Crc),
        (unit(), any::<u64>()).prop_map(|(unit, init)| Checksum::Xor { unit, init }),
        (unit(), any::<u64>(), any::<bool>(), any::<u64>()).prop_map(|(unit, init, negated, xorout)| Checksum::Sum {
            unit,
            init,
            negated,
            xorout
        }),
    ]
}

fn place(len: u16, bits: u8) -> impl Strategy<Value = Place> {
    (0..=8 * len - u16::from(bits), any::<bool>()).prop_map(move |(at, little)| {
        let (start, order) = if little { (at, ByteOrder::Little) } else { (at ^ 7, ByteOrder::Big) };
        Place { start, bits, order }
    })
}

/// Schemes of any kind, some of which cannot be compiled.
fn scheme() -> impl Strategy<Value = Scheme> {
    let parts = (1..=16u16, checksum(), prop_oneof![Just(4u8), Just(8), Just(16), 1..=64u8], 1..=9u8);
    let parts = parts.prop_flat_map(|(len, checksum, bits, counter_bits)| {
        let width = if let Checksum::Crc(algorithm) = checksum { algorithm.width } else { 64 };
        let most = u8::try_from(8 * len).unwrap();
        let places = (place(len, bits.min(width).min(most)), place(len, counter_bits.min(most)));
        let bytes = || prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3), 0..4);
        (Just((checksum, len)), places, any::<(bool, bool, bool)>(), (bytes(), bytes()), (0..len, 0..len))
    });
    parts.prop_map(
        |((checksum, len), (place, counter), (has_counter, zeroed, to_end), (before, after), (one, other))| {
            let mut scheme = Scheme::new(checksum, place, len.into());
            scheme.zeroed = zeroed;
            scheme.counter = has_counter.then(|| Counter::new(counter));
            scheme.over = if to_end { (one, None) } else { (one.min(other), Some(one.max(other))) };
            scheme.data_id = DataId { before, after };
            scheme
        },
    )
}

/// CRCs of 8 bits in any byte, over any bytes: those with a short form, and their neighbours.
fn byte_scheme() -> impl Strategy<Value = Scheme> {
    (scheme(), any::<[u8; 3]>(), any::<bool>(), 0..16u16, prop::bool::weighted(0.2)).prop_map(
        |(mut scheme, [polynomial, init, xorout], reflected, at, zeroed)| {
            let [polynomial, init, xorout] = [polynomial, init, xorout].map(u64::from);
            let (reflect_in, reflect_out) = (reflected, reflected);
            let algorithm = Algorithm { width: 8, polynomial, init, reflect_in, reflect_out, xorout };
            scheme.checksum = Checksum::Crc(algorithm);
            scheme.place = Place::byte(at % u16::try_from(*scheme.len.end()).unwrap());
            scheme.zeroed = zeroed;
            scheme
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    let profile = prop::sample::select(&Profile::ALL[..]);
    let mode = prop::sample::select(vec![IdMode::Both, IdMode::Alternating, IdMode::Low, IdMode::Nibble]);
    (profile, mode, any::<[u32; 16]>(), 0..=10usize, 0..10u16).prop_map(|(profile, mode, ids, more, offset)| {
        let mask = match profile {
            Profile::P02 | Profile::P22 => 0xFF,
            Profile::P04 | Profile::P07 => u32::MAX,
            _ => 0xFFF,
        };
        let has = match profile {
            Profile::P01 => true,
            Profile::P11 => mode == IdMode::Nibble,
            _ => false,
        };
        let ids: Vec<u32> = ids.iter().take(profile.data_ids()).map(|id| id & mask).collect();
        let len = profile.header() + usize::from(offset) + more;
        Settings { mode: if has { mode } else { IdMode::Both }, offset, ..Settings::new(profile, ids, len) }
    })
}

/// The protected payload, on which protection and oracle agree.
fn protected_as_the_oracle<const LEN: usize>(
    scheme: &Scheme,
    protection: &Protection,
    counter: u32,
    payload: [u8; LEN],
) -> Result<[u8; LEN], TestCaseError> {
    let len = *scheme.len.end();
    let (mut expected, mut protected) = (payload, payload);
    oracle::protect(scheme, counter, &mut expected[..len]);
    prop_assert!(protection.protect_with(counter, &mut protected[..len]));
    prop_assert_eq!(protected, expected);
    Ok(protected)
}

/// A payload after a job of can-gw.
fn by_can_gw(checksums: Checksums, payload: &[u8]) -> Vec<u8> {
    let len = u8::try_from(payload.len()).unwrap();
    let filter = Filter { id: 0x123, mask: 0x7FF };
    let mut job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Fd, filter);
    job.modifications.set.len = Some(len);
    job.checksums = checksums;
    let mut data = [0xEE; CANFD_MAX_DLEN];
    data[..payload.len()].copy_from_slice(payload);
    let frame = Frame { format: FrameFormat::Fd, id: RawId(0x123), len, len8_dlc: 0, flags: 0, data };
    job.apply(&frame).0.payload().to_vec()
}

#[test]
fn programs_count_in_more_profiles_than_can_gw() {
    let has = |profile: Profile, mode: IdMode| {
        let ids: Vec<u32> = (1..).take(profile.data_ids()).collect();
        let scheme = Settings { mode, ..Settings::new(profile, ids, 8) }.scheme().unwrap();
        Protect::new(scheme, Counted::Own).unwrap().steps().is_some()
    };
    let both = [Profile::P01, Profile::P02, Profile::P11, Profile::P22].map(|profile| has(profile, IdMode::default()));
    assert_eq!(both, [true; 4]);
    // The counter chooses what is before the payload; the header has a nibble of the Data-ID; 16 or 32 bits.
    assert!(!has(Profile::P01, IdMode::Alternating) && !has(Profile::P01, IdMode::Nibble));
    assert!(!has(Profile::P05, IdMode::default()) && has(Profile::P01, IdMode::Low));
}

#[test]
fn can_gw_protects_by_profiles_whose_counters_have_all_values() {
    let has = |scheme: Scheme| Protection::new(&scheme).unwrap().can_gw().is_some();
    let profile = |profile: Profile| {
        let ids: Vec<u32> = (1..).take(profile.data_ids()).collect();
        Settings::new(profile, ids, 8).scheme().unwrap()
    };
    let found: Vec<_> = [Profile::P01, Profile::P02, Profile::P05, Profile::P11, Profile::P22]
        .map(profile)
        .into_iter()
        .map(has)
        .collect();
    assert_eq!(found, [false, true, false, false, true]);
    let named = |name: &str| Scheme::new(Checksum::Crc(Algorithm::named(name).unwrap()), Place::byte(7), 8);
    assert!(has(named("CRC-8/SAE-J1850")) && has(named("CRC-8/MAXIM-DOW")) && !has(named("CRC-16/CCITT-FALSE")));
    assert!(has(Scheme::new(Checksum::Xor { unit: Unit::Byte, init: 0 }, Place::byte(0), 8)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn crcs_are_those_of_the_oracle(algorithm in algorithm(), bytes: Vec<u8>) {
        prop_assert_eq!(Crc::new(&algorithm).unwrap().of(&bytes), oracle::crc(&algorithm, &bytes));
    }

    #[test]
    fn generic_schemes_are_those_of_the_oracle(scheme in prop_oneof![scheme(), byte_scheme()], payload: [u8; 16], counter: u32) {
        let Ok(protection) = Protection::new(&scheme) else { return Ok(()) };
        let counter = scheme.counter.map_or(0, |one| counter % (one.max + 1));
        let len = *scheme.len.end();
        let mut protected = protected_as_the_oracle(&scheme, &protection, counter, payload)?;
        prop_assert_eq!(protection.counter(&protected[..len]), scheme.counter.map(|_| counter));
        let mut receiver = Receiver::new(Arc::new(protection.clone()));
        let expected = if scheme.counter.is_some() { Verdict::Initial } else { Verdict::NoCounter };
        prop_assert_eq!(receiver.check(&protected[..len]), expected);
        prop_assert!(protection.follow(&mut protected[..len]));
        prop_assert_eq!(receiver.check(&protected[..len]), if scheme.counter.is_some() { Verdict::Repeated } else { expected });
    }

    #[test]
    fn profiles_are_those_of_the_oracle(settings in settings(), payload: [u8; 40], counter: u32) {
        let scheme = settings.scheme().unwrap();
        let protection = Protection::new(&scheme).unwrap();
        let max = scheme.counter.unwrap().max;
        let counter = if max == u32::MAX { counter } else { counter % (max + 1) };
        protected_as_the_oracle(&scheme, &protection, counter, payload)?;
    }

    #[test]
    fn checksums_of_can_gw_are_those_of_the_protection(
        scheme in prop_oneof![byte_scheme(), scheme(), settings().prop_map(|settings| settings.scheme().unwrap())],
        payload: [u8; 40],
    ) {
        let Ok(protection) = Protection::new(&scheme) else { return Ok(()) };
        let Some(checksums) = protection.can_gw() else { return Ok(()) };
        let len = *scheme.len.end();
        let mut followed = payload;
        prop_assert!(protection.follow(&mut followed[..len]));
        prop_assert_eq!(by_can_gw(checksums, &payload[..len]), &followed[..len]);
    }

    #[test]
    fn steps_for_programs_do_as_the_protection(
        scheme in prop_oneof![byte_scheme(), scheme(), settings().prop_map(|settings| settings.scheme().unwrap())],
        is_own: bool,
        payloads in proptest::collection::vec(any::<[u8; 40]>(), 40),
    ) {
        let len = *scheme.len.end();
        let Ok(protect) = Protect::new(scheme, if is_own { Counted::Own } else { Counted::Follow }) else { return Ok(()) };
        let Some(Steps { len: steps_len, counter, checksums }) = protect.steps() else { return Ok(()) };
        prop_assert_eq!(usize::from(steps_len), len);
        let seen = Seen { id: RawId(0x123), at: RealtimeNs::UNKNOWN };
        // Some begin with a later one than the smallest.
        let of_protect = || protect.next().map(|next| next.load(std::sync::atomic::Ordering::Relaxed));
        let mut next = counter.map(|_| of_protect().map_or(0, |next| u8::try_from(next).unwrap()));
        for payload in payloads {
            let (mut protected, mut stepped) = (payload, payload);
            let fate = protect.change(seen, &mut protected[..len]);
            if let (Some(CounterInByte { byte, shift, mask, min, max, is_own }), Some(next)) = (counter, &mut next) {
                let byte = &mut stepped[usize::from(byte)];
                if is_own {
                    *byte = *byte & !mask | *next << shift;
                    *next = if *next == max { min } else { *next + 1 };
                    prop_assert_eq!(of_protect(), Some(u32::from(*next)));
                } else if !(min..=max).contains(&((*byte & mask) >> shift)) {
                    prop_assert_eq!(fate, Fate::Delete);
                    continue;
                }
            }
            prop_assert_eq!(fate, Fate::Send);
            prop_assert_eq!(by_can_gw(checksums, &stepped[..len]), &protected[..len]);
        }
    }

    /// All profiles cover every bit of the payload. But if the counter chooses the Data-ID, another counter means another one,
    /// and both changes together can have the same CRC.
    #[test]
    fn any_changed_bit_is_found(settings in settings(), payload: [u8; 40], frames in 1..40u32) {
        let scheme = settings.scheme().unwrap();
        let chooses = scheme.data_id.before.len() + scheme.data_id.after.len() > 1;
        let mut counter = [0; 40];
        oracle::set(scheme.counter.unwrap().place, &mut counter, u64::MAX);
        let protection = Arc::new(Protection::new(&scheme).unwrap());
        let (mut sender, mut receiver) = (Sender::new(protection.clone()), Receiver::new(protection));
        let mut payload = payload[..*settings.len.end()].to_vec();
        for at in 0..frames {
            prop_assert!(sender.protect(&mut payload));
            for bit in (0..8 * payload.len()).filter(|bit| !chooses || counter[bit / 8] >> (bit % 8) & 1 == 0) {
                payload[bit / 8] ^= 1 << (bit % 8);
                let mut other = receiver.clone();
                prop_assert_eq!(other.check(&payload), Verdict::WrongChecksum);
                prop_assert_eq!(other.last_counter(), receiver.last_counter());
                payload[bit / 8] ^= 1 << (bit % 8);
            }
            prop_assert_eq!(receiver.check(&payload), if at == 0 { Verdict::Initial } else { Verdict::Ok });
        }
    }
}

/// If the schemes were never compiled, the test above would prove nothing.
#[test]
fn most_generic_schemes_are_compiled() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let compiled =
        (0..1000).filter(|_| Protection::new(&scheme().new_tree(&mut runner).unwrap().current()).is_ok()).count();
    assert!(compiled > 300, "{compiled} of 1000");
}
