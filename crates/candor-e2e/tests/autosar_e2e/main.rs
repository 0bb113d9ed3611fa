//! Random payloads, protected and checked by candor and by autosar-e2e, which must agree on every byte.
//!
//! `CANDOR_AUTOSAR_E2E` is a directory with `venv`, in which the Python package is installed. `cargo xtask test` makes it and
//! sets the variable; without it, the test prints `SKIP` and the reason. The package has no P22; its bytes are those of P02.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

#[path = "../../../candor-lab/tests/support/judge.rs"]
mod judge;
#[path = "../../../candor-lab/tests/support/require.rs"]
mod require;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use candor_e2e::{IdMode, Profile, Protection, Receiver, Settings, Verdict, oracle};
use judge::judged;
use require::require;

/// Payloads of each profile, mode and counter, if the counter has at most 256 values.
const PAYLOADS: usize = 32;
/// Of counters with 32 bits: this many values from each end and from the middle. Those with 16 bits have all their values.
const VALUES: u32 = 4096;

#[test]
fn frames_of_autosar_e2e_are_the_same() {
    let Some(peer) = peer() else { return };
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/autosar_e2e/judge.py");
    let counts = judged(Command::new(peer.join("venv/bin/python")).arg(judge), cases);
    assert!(counts["protected"] > 150_000 && counts.len() == Profile::ALL.len() + 1, "{counts:?}");
}

/// The directory of the package. `None` after saying why there is none.
fn peer() -> Option<PathBuf> {
    let found = std::env::var_os("CANDOR_AUTOSAR_E2E").map(PathBuf::from);
    require("autosar-e2e", found, "CANDOR_AUTOSAR_E2E is not set; cargo xtask autosar-e2e prints it")
}

/// The lines that judge.py describes.
fn cases() -> String {
    let mut random = Random(28);
    let mut text = String::new();
    for profile in Profile::ALL.into_iter().filter(|profile| *profile != Profile::P22) {
        let modes: &[_] = match profile {
            Profile::P01 => &[IdMode::Both, IdMode::Alternating, IdMode::Low, IdMode::Nibble],
            Profile::P11 => &[IdMode::Both, IdMode::Nibble],
            _ => &[IdMode::Both],
        };
        for mode in modes {
            let max = Settings::new(profile, vec![0; profile.data_ids()], 20).scheme().unwrap().counter.unwrap().max;
            let every: Vec<u32> = if max == u32::MAX {
                let from = |first: u32| first..=first + (VALUES - 1);
                from(0).chain(from(max / 2)).chain(from(max - (VALUES - 1))).collect()
            } else {
                let payloads = if max < 256 { PAYLOADS } else { 1 };
                (0..=max).flat_map(|value| std::iter::repeat_n(value, payloads)).collect()
            };
            every.into_iter().for_each(|counter| case(profile, *mode, counter, &mut random, &mut text));
        }
    }
    text
}

fn case(profile: Profile, mode: IdMode, counter: u32, random: &mut Random, text: &mut String) {
    let header = profile.header();
    let longest = if matches!(profile, Profile::P01 | Profile::P02 | Profile::P11) { 30 } else { 64 };
    let len = header + random.below(longest + 1 - header);
    // autosar-e2e has P02 at byte 0 only.
    let offset = if profile == Profile::P02 { 0 } else { random.below(len + 1 - header) };
    let mask = match profile {
        Profile::P02 => 0xFF,
        Profile::P04 | Profile::P07 => u32::MAX,
        _ if mode == IdMode::Nibble => 0xFFF,
        _ => 0xFFFF,
    };
    let ids: Vec<u32> = (0..profile.data_ids()).map(|_| random.next() & mask).collect();
    let settings =
        Settings { mode, offset: u16::try_from(offset).unwrap(), ..Settings::new(profile, ids.clone(), len) };
    let scheme = settings.scheme().unwrap();
    let protection = Arc::new(Protection::new(&scheme).unwrap());
    let place = scheme.counter.unwrap();

    let mut before: Vec<u8> = (0..len).map(|_| random.next().to_be_bytes()[0]).collect();
    oracle::set(place.place, &mut before, counter.checked_sub(1).unwrap_or(place.max).into());
    let mut same = before.clone();
    oracle::set(place.place, &mut same, counter.into());
    let mut protected = before.clone();
    assert!(protection.protect_with(counter, &mut protected));
    let mut damaged = protected.clone();
    let bit = random.below(8 * len);
    damaged[bit / 8] ^= 1 << (bit % 8);
    assert_eq!(Receiver::new(protection.clone()).check(&protected), Verdict::Initial);
    assert_eq!(Receiver::new(protection).check(&damaged), Verdict::WrongChecksum);

    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    let name = profile.name().to_lowercase();
    write!(text, "{name} {} {offset} {}", mode.name(), ids.join(",")).unwrap();
    for payload in [before, same, protected, damaged] {
        text.push(' ');
        payload.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
    }
    text.push('\n');
}

/// xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 32).unwrap()
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
