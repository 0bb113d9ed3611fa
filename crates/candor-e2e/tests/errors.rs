//! What cannot be compiled, and the text that says why.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::ops::RangeInclusive;

use candor_e2e::{Algorithm, ByteOrder, Checksum, Counter, IdMode, Place, Profile, Protection, Scheme, Settings, Unit};

fn scheme(change: impl FnOnce(&mut Scheme)) -> Scheme {
    let crc = Checksum::Crc(Algorithm::named("CRC-8/AUTOSAR").unwrap());
    let mut scheme = Scheme::new(crc, Place::byte(0), 8);
    scheme.counter = Some(Counter::new(Place::low_nibble(1)));
    change(&mut scheme);
    scheme
}

fn text(change: impl FnOnce(&mut Scheme)) -> String {
    Protection::new(&scheme(change)).map(drop).unwrap_err().to_string()
}

fn counter(change: impl FnOnce(&mut Counter)) -> String {
    text(|scheme| change(scheme.counter.as_mut().unwrap()))
}

#[test]
fn schemes_that_cannot_be_compiled_say_why() {
    assert!(Protection::new(&scheme(|_| ())).is_ok());
    let crc = |change: fn(&mut Algorithm)| {
        text(|scheme| {
            let Checksum::Crc(algorithm) = &mut scheme.checksum else { unreachable!() };
            change(algorithm);
        })
    };
    assert_eq!(crc(|one| one.width = 65), "A CRC of 65 bits is not possible: it has 1 to 64 bits");
    assert_eq!(crc(|one| one.width = 0), "A CRC of 0 bits is not possible: it has 1 to 64 bits");
    assert_eq!(crc(|one| one.polynomial = 0x12F), "The polynomial of the CRC, 0x12F, does not fit into its 8 bits");
    assert_eq!(
        text(|one| one.place = Place { start: 3, bits: 64, order: ByteOrder::Little }),
        "The checksum has 64 bits from bit 3 on: a field has 1 to 64 bits in at most 8 bytes"
    );
    assert_eq!(
        text(|one| one.place = Place::byte(8)),
        "The checksum ends in byte 8, but the shortest payload has 8 bytes"
    );
    assert_eq!(
        text(|one| one.place = Place::bytes(0, 2, ByteOrder::Big)),
        "The checksum has 16 bits in the payload, but the CRC has only 8"
    );
    assert_eq!(
        text(|one| one.constants.push((Place::byte(1), 0))),
        "The counter and the constant share byte 1: their bits must differ"
    );
    assert_eq!(
        text(|one| one.constants.push((Place::high_nibble(1), 16))),
        "The constant 0x10 does not fit into its field, which holds up to 0xF"
    );
    assert_eq!(
        text(|one| one.len = RangeInclusive::new(9, 8)),
        "The payload has 9 to 8 bytes: the first number must not be larger, and not 0"
    );
    assert_eq!(
        text(|one| (one.len, one.length) = (8..=300, Some(Place::byte(2)))),
        "A payload of 300 bytes is longer than its length field can say, up to 255"
    );
    let range = "The checksum covers bytes 1 to 8: the first must not be larger, and both must be below 8";
    assert_eq!(text(|one| one.over = (1, Some(8))), range);
}

#[test]
fn counters_that_cannot_be_compiled_say_why() {
    assert_eq!(
        counter(|one| one.max = 16),
        "The counter has the values 0 to 16: at least two, and up to 15 in its field"
    );
    let wide = Place::bytes(1, 5, ByteOrder::Little);
    assert_eq!(counter(|one| one.place = wide), "The counter has 40 bits: up to 32 are possible");
    assert_eq!(counter(|one| one.first = 16), "The first counter is 16: it must be one of 0 to 15");
    assert_eq!(counter(|one| one.max_delta = 0), "The largest step of the counter is 0: 1 to 15 are allowed");
    assert_eq!(counter(|one| one.max_delta = 16), "The largest step of the counter is 16: 1 to 15 are allowed");
    assert_eq!(
        text(|one| (one.counter, one.data_id.after) = (None, vec![vec![1], vec![2]])),
        "A list of 2 Data-IDs needs a counter, which chooses one"
    );
    assert_eq!(
        text(|one| one.data_id.after = vec![vec![1]; 17]),
        "A list of 17 Data-IDs needs a counter of at least 17 and at most 256 values; it has 16"
    );
}

#[test]
fn settings_that_no_profile_allows_say_why() {
    let text = |settings: Settings| settings.scheme().unwrap_err().to_string();
    let p01 = || Settings::new(Profile::P01, [0x123], 8);
    assert_eq!(text(Settings::new(Profile::P02, [1, 2, 3], 8)), "P02 needs 16 Data-ID(s), not 3");
    assert_eq!(text(Settings::new(Profile::P01, [], 8)), "P01 needs 1 Data-ID(s), not 0");
    assert_eq!(
        text(Settings::new(Profile::P05, [0x1_0000], 8)),
        "The Data-ID 0x10000 is too large: P05 has up to 0xFFFF here"
    );
    assert_eq!(
        text(Settings { mode: IdMode::Nibble, ..Settings::new(Profile::P11, [0x1000], 8) }),
        "The Data-ID 0x1000 is too large: P11 has up to 0xFFF here"
    );
    assert_eq!(
        text(Settings { mode: IdMode::Low, ..Settings::new(Profile::P11, [1], 8) }),
        "P11 does not have the Data-ID mode low: use both or nibble"
    );
    assert_eq!(
        text(Settings { mode: IdMode::Low, ..Settings::new(Profile::P05, [1], 8) }),
        "P05 does not have the Data-ID mode low: only P01 and P11 have modes"
    );
    assert_eq!(text(Settings { offset: 7, ..p01() }), "P01 at byte 7 needs payloads of 9 to 30 bytes, not 8");
    assert_eq!(text(Settings::new(Profile::P04, [1], 8)), "P04 at byte 0 needs payloads of 12 to 4096 bytes, not 8");
    assert_eq!(
        text(Settings { offset: u16::MAX, ..p01() }),
        "The header of P01 at byte 65535 ends in byte 65536, but payloads have up to 30 bytes"
    );
    assert_eq!(text(Settings { len: 8..=9, ..p01() }), "P01 has payloads of one length, not 8 to 9 bytes");
    let too_large = Settings { max_delta: 15, ..p01() };
    assert_eq!(
        Protection::new(&too_large.scheme().unwrap()).map(drop).unwrap_err().to_string(),
        "The largest step of the counter is 15: 1 to 14 are allowed"
    );
}

#[test]
fn profiles_and_modes_have_names() {
    for profile in Profile::ALL {
        assert_eq!(Profile::named(&profile.to_string()), Some(profile));
    }
    assert_eq!(Profile::named("P03"), None);
    assert_eq!(IdMode::ALL.map(|mode| IdMode::named(mode.name())), IdMode::ALL.map(Some));
}

#[test]
fn one_byte_payload_with_a_nibble_is_possible() {
    let xor = Checksum::Xor { unit: Unit::Nibble, init: 0 };
    let protection = Protection::new(&Scheme::new(xor, Place::low_nibble(0), 1)).unwrap();
    let mut payload = [0xA0];
    assert!(protection.protect_with(0, &mut payload));
    assert_eq!(payload, [0xAA]);
}
