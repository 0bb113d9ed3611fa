//! Frames that the checksum functions of opendbc made, for identifiers and layouts of its DBC files. The first line of a file
//! names the scheme. The payloads are made up, but for their checksums; no code of opendbc is here.
//!
//! # Source
//! <https://github.com/commaai/opendbc>, `opendbc/car/*/*can.py`, whose licence is MIT (Copyright (c) 2020, Comma.ai, Inc.)
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use candor_e2e::{Algorithm, Checksum, IdMode, Place, Profile, Protection, Scheme, Unit};
use candor_learn::{Ambiguity, Hypothesis, Outcome, learn};

#[path = "support/accepted.rs"]
mod accepted;

use accepted::must_be_accepted;

/// Frames that are learned from; the others must be predicted.
const LEARNED: usize = 150;

fn load(name: &str) -> (u32, Vec<Vec<u8>>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/makers").join(name).with_extension("log");
    let text = std::fs::read_to_string(path).unwrap();
    let identifier = text.lines().find_map(|line| line.strip_prefix("# identifier ")).unwrap();
    let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    let payload = |line: &str| line.as_bytes().chunks(2).map(byte).collect();
    let payloads = text.lines().filter(|line| !line.starts_with('#')).map(payload).collect();
    (u32::from_str_radix(identifier, 16).unwrap(), payloads)
}

/// The best hypothesis for the first frames of a maker, which predicts all others.
fn found(name: &str) -> Hypothesis {
    let (identifier, payloads) = load(name);
    let (seen, unseen) = payloads.split_at(LEARNED);
    let learned = learn(seen.iter().map(|payload| &payload[..]), Some(identifier));
    assert_eq!(learned.outcome, Outcome::Found, "{name}: {learned:?}");
    let best = learned.schemes[0].clone();
    assert_eq!((best.explained, best.of), (LEARNED, LEARNED), "{name}: {best:?}");
    must_be_accepted(&learned, &payloads);
    let protection = Protection::new(&best.scheme).unwrap();
    for payload in unseen {
        let mut copy = payload.clone();
        assert!(protection.follow(&mut copy) && copy == *payload, "{name}: {payload:X?} {best:?}");
    }
    best
}

fn counter(scheme: &Scheme) -> Option<(Place, u32, u32)> {
    scheme.counter.map(|one| (one.place, one.min, one.max))
}

/// Checks the first hypothesis: the checksum, its place, the Data-ID before the payload.
fn check(name: &str, checksum: Checksum, place: Place, before: &[u8]) -> Scheme {
    let best = found(name);
    assert_eq!((best.scheme.checksum, best.scheme.place), (checksum, place), "{name}: {best:?}");
    assert_eq!(best.scheme.data_id.before.concat(), before, "{name}: {best:?}");
    assert_eq!((best.scheme.over, best.settings), ((0, None), None), "{name}");
    best.scheme
}

fn sum(unit: Unit, init: u64, negated: bool) -> Checksum {
    Checksum::Sum { unit, init, negated, xorout: 0 }
}

#[test]
fn toyota_adds_identifier_and_length() {
    assert_eq!(counter(&check("toyota", sum(Unit::Byte, 8, false), Place::byte(7), &[0x02, 0xE4])), None);
    check("toyota-5", sum(Unit::Byte, 5, false), Place::byte(4), &[0x01, 0x91]);
}

#[test]
fn honda_subtracts_halves_of_bytes_from_8() {
    let two_bits = |start| Some((Place { bits: 2, ..Place::low_nibble(0) }, start));
    let scheme = check("honda", sum(Unit::Nibble, 8, true), Place::low_nibble(4), &[0xE4]);
    assert_eq!(scheme.counter.map(|one| (Place { start: 0, ..one.place }, one.place.start)), two_bits(36));
    let scheme = check("honda-8", sum(Unit::Nibble, 8, true), Place::low_nibble(7), &[0x01, 0xFA]);
    assert_eq!(scheme.counter.map(|one| (Place { start: 0, ..one.place }, one.place.start)), two_bits(60));
}

#[test]
fn subaru_and_tesla_add_the_identifier() {
    let scheme = check("subaru", sum(Unit::Byte, 0, false), Place::byte(0), &[0x01, 0x22]);
    assert_eq!(counter(&scheme), Some((Place::low_nibble(1), 0, 15)));
    let scheme = check("tesla", sum(Unit::Byte, 0, false), Place::byte(7), &[0x04, 0x88]);
    assert_eq!(counter(&scheme), Some((Place::high_nibble(6), 0, 15)));
    check("tesla-4", sum(Unit::Byte, 0, false), Place::byte(3), &[0x02, 0x7D]);
}

#[test]
fn chrysler_hyundai_and_nissan_have_the_crc_of_j1850() {
    let crc = Checksum::Crc(Algorithm::named("SAE-J1850").unwrap());
    let scheme = check("chrysler", crc, Place::byte(7), &[]);
    assert_eq!(counter(&scheme), Some((Place::high_nibble(6), 0, 15)));
    check("hyundai", crc, Place::byte(7), &[]);
    check("nissan", crc, Place::byte(7), &[]);
    let giorgio = Algorithm { xorout: 0xF6, init: 0, ..Algorithm::named("SAE-J1850").unwrap() };
    check("giorgio", Checksum::Crc(giorgio), Place::byte(7), &[]);
}

/// The Data-ID is the identifier XOR F800, whatever the length.
#[test]
fn hyundai_fd_is_p05() {
    for name in ["hyundai-fd-8", "hyundai-fd-16", "hyundai-fd-24", "hyundai-fd-32"] {
        let settings = found(name).settings.unwrap();
        let id = load(name).0 ^ 0xF800;
        assert_eq!((settings.profile, settings.offset, settings.data_ids), (Profile::P05, 0, vec![id]), "{name}");
    }
}

#[test]
fn volkswagen_mqb_is_p02() {
    let settings = found("vw-mqb").settings.unwrap();
    assert_eq!((settings.profile, settings.offset), (Profile::P02, 0));
    #[rustfmt::skip]
    let ids = [0xB4, 0xEF, 0xF8, 0x49, 0x1E, 0xE5, 0xC2, 0xC0, 0x97, 0x19, 0x3C, 0xC9, 0xF1, 0x98, 0xD6, 0x61];
    assert_eq!(settings.data_ids, ids);
    let settings = found("vw-mqb-hca").settings.unwrap();
    assert_eq!((settings.profile, settings.data_ids), (Profile::P02, vec![0xDA; 16]));
}

/// XOR holds for each of its bytes.
#[test]
fn volkswagen_pq_is_xor() {
    let xor = |init| Checksum::Xor { unit: Unit::Byte, init };
    check("vw-pq", xor(0), Place::byte(0), &[]);
    check("vw-pq-7", xor(0), Place::byte(7), &[]);
    check("vw-mlb", xor(0), Place::byte(0), &[0x01, 0x09]);
    let best = found("vw-pq");
    assert!(
        best.ambiguities.iter().any(|one| matches!(one, Ambiguity::Places(places) if places.contains(&Place::byte(4))))
    );
}

/// All halves of all bytes together are B. The log does not say which of them is the checksum.
#[test]
fn psa_subtracts_halves_of_bytes_from_11() {
    let best = found("psa");
    assert_eq!((best.scheme.checksum, best.scheme.zeroed), (sum(Unit::Nibble, 11, true), true));
    let mut places = vec![best.scheme.place];
    places.extend(best.ambiguities.iter().flat_map(|one| match one {
        Ambiguity::Places(places) => places.clone(),
        _ => Vec::new(),
    }));
    assert!(places.contains(&Place::low_nibble(5)), "{best:?}");
}

#[test]
fn rivian_is_p01() {
    let settings = found("rivian").settings.unwrap();
    assert_eq!((settings.profile, settings.mode, settings.offset), (Profile::P01, IdMode::Low, 0));
}

/// A CRC over the bytes in reversed order: no scheme of candor.
#[test]
fn reversed_bytes_are_not_found() {
    let (identifier, payloads) = load("body");
    let learned = learn(payloads.iter().map(|payload| &payload[..]), Some(identifier));
    assert_eq!((learned.outcome, learned.schemes.len(), learned.counters.len()), (Outcome::Nothing, 0, 1));
}
