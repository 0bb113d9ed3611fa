//! Frames and checks of others, byte by byte.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use candor_e2e::{
    Algorithm, ByteOrder, CATALOGUE, Checksum, Counter, Crc, DataId, IdMode, Place, Profile, Protection, Scheme,
    Sender, Settings, Unit, oracle,
};

#[test]
fn crcs_have_the_values_of_the_catalogue() {
    assert!(CATALOGUE.is_sorted_by_key(|one| one.algorithm.width));
    for one in CATALOGUE {
        let crc = Crc::new(&one.algorithm).unwrap();
        assert_eq!(crc.of(b"123456789"), one.check, "{}", one.name);
        assert_eq!(oracle::crc(&one.algorithm, b"123456789"), one.check, "{}", one.name);
        assert_eq!(Algorithm::named(&one.name.to_lowercase()), Some(one.algorithm));
    }
    for (name, check) in [("SAE-J1850", 0x4B), ("CRC-16/CCITT-FALSE", 0x29B1), ("CRC32P4", 0x1697_D06A)] {
        assert_eq!(Crc::new(&Algorithm::named(name).unwrap()).unwrap().of(b"123456789"), check);
    }
    assert_eq!(Algorithm::named("CRC-8/UNKNOWN"), None);
}

/// The first bytes of frames with counters 0, 1, 2 and otherwise zeros.
fn assert_frames(settings: &Settings, expected: [&str; 3]) {
    let protection = Protection::new(&settings.scheme().unwrap()).unwrap();
    for (counter, expected) in (0..).zip(expected) {
        let mut payload = vec![0; *settings.len.end()];
        assert!(protection.protect_with(counter, &mut payload));
        let text: String = payload.iter().map(|byte| format!("{byte:02X}")).collect();
        assert!(text.starts_with(expected), "{} {counter}: {text}", settings.profile);
        assert!(text[expected.len()..].bytes().all(|one| one == b'0'), "{} {counter}: {text}", settings.profile);
    }
}

#[test]
fn profiles_have_the_bytes_of_the_standard() {
    let list: Vec<u32> = (1..=16).collect();
    for profile in [Profile::P01, Profile::P11] {
        let settings = |mode| Settings { mode, ..Settings::new(profile, [0x123], 8) };
        assert_frames(&settings(IdMode::Both), ["CC00", "9101", "7602"]);
        assert_frames(&settings(IdMode::Nibble), ["2A10", "7711", "9012"]);
        if profile == Profile::P01 {
            assert_frames(&settings(IdMode::Alternating), ["CE00", "0201", "7402"]);
            assert_frames(&settings(IdMode::Low), ["CE00", "9301", "7402"]);
        }
    }
    for profile in [Profile::P02, Profile::P22] {
        assert_frames(&Settings::new(profile, list.clone(), 8), ["0E00", "1B01", "9802"]);
    }
    assert_frames(&Settings::new(Profile::P05, [0x1234], 8), ["1CCA00", "CF8D01", "BA4502"]);
    let first = |settings: Settings, expected: &str| {
        let protection = Protection::new(&settings.scheme().unwrap()).unwrap();
        let mut payload = vec![0; *settings.len.end()];
        assert!(protection.protect_with(0, &mut payload));
        let text: String = payload.iter().map(|byte| format!("{byte:02X}")).collect();
        assert!(text.starts_with(expected), "{text}");
    };
    first(Settings::new(Profile::P04, [0x0A0B_0C0D], 16), "001000000A0B0C0D862B0556");
    first(Settings::new(Profile::P06, [0x1234], 8), "B155000800");
    first(Settings::new(Profile::P07, [0x0A0B_0C0D], 24), "1FB2E737FCEDBCD900000018000000000A0B0C0D");
}

#[test]
fn senders_start_and_turn_as_the_profiles_say() {
    let ids = |profile: Profile| vec![1; profile.data_ids()];
    for (profile, first, last) in [
        (Profile::P01, 0, 14),
        (Profile::P02, 1, 15),
        (Profile::P05, 0, 255),
        (Profile::P11, 0, 14),
        (Profile::P22, 1, 15),
    ] {
        let protection = Arc::new(Protection::new(&Settings::new(profile, ids(profile), 8).scheme().unwrap()).unwrap());
        let mut sender = Sender::new(protection.clone());
        let mut payload = [0; 8];
        for expected in (first..=last).chain([0, 1]) {
            assert!(sender.protect(&mut payload));
            assert_eq!(protection.counter(&payload), Some(expected), "{profile}");
        }
        assert!(!sender.protect(&mut [0; 7]), "another length");
        assert_eq!(sender.next_counter(), 2);
        assert_eq!(Sender::resume(protection.clone(), 7).next_counter(), 7);
        assert_eq!(Sender::resume(protection, 256).next_counter(), first);
    }
    let settings = Settings::new(Profile::P07, [1], 20);
    let protection = Arc::new(Protection::new(&settings.scheme().unwrap()).unwrap());
    let mut sender = Sender::resume(protection.clone(), u32::MAX);
    let mut payload = [0; 20];
    assert!(sender.protect(&mut payload));
    assert_eq!((protection.counter(&payload), sender.next_counter()), (Some(u32::MAX), 0));
}

#[test]
fn counter_that_is_never_sent_is_not_protected() {
    let protection = Protection::new(&Settings::new(Profile::P01, [0x123], 8).scheme().unwrap()).unwrap();
    let mut payload = [0xFF; 8];
    assert!(!protection.protect_with(15, &mut payload));
    assert!(!protection.follow(&mut payload));
    assert_eq!((payload, protection.counter(&payload)), ([0xFF; 8], None));
}

/// A scheme as many makers have it: a sum of all halves of bytes, in the low half of the last byte, negated; the counter has
/// two bits; the identifier and a constant belong to the sum.
#[test]
fn four_bit_sums_with_two_bit_counters_are_possible() {
    let sum = Checksum::Sum { unit: Unit::Nibble, init: 8, negated: true, xorout: 0 };
    let mut scheme = Scheme::new(sum, Place::low_nibble(4), 5);
    let counter = Place { start: 36, bits: 2, order: ByteOrder::Little };
    scheme.counter = Some(Counter::new(counter));
    scheme.data_id.before = vec![vec![0x0E, 0x04]];
    let protection = Protection::new(&scheme).unwrap();
    let mut payload = [0x05, 0xA8, 0x01, 0x20, 0xC0];
    assert!(protection.protect_with(2, &mut payload));
    // 8 − (E + 4 + 5 + A + 8 + 1 + 2 + E) = −50, modulo 16.
    assert_eq!(payload, [0x05, 0xA8, 0x01, 0x20, 0xEE]);
    assert_eq!(protection.counter(&payload), Some(2));
}

/// CRC-8/AUTOSAR over bytes 1 to 7 and a byte chosen by the counter, but described by hand: P02.
#[test]
fn profiles_are_schemes() {
    let crc = Checksum::Crc(Algorithm::named("CRC-8/AUTOSAR").unwrap());
    let mut scheme = Scheme::new(crc, Place::byte(0), 8);
    scheme.counter = Some(Counter { first: 1, widens: true, ..Counter::new(Place::low_nibble(1)) });
    scheme.data_id = DataId { before: Vec::new(), after: (1..=16).map(|id| vec![id]).collect() };
    assert_eq!(scheme, Settings::new(Profile::P02, (1..=16).collect::<Vec<_>>(), 8).scheme().unwrap());
}
