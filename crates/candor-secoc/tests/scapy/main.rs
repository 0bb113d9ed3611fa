//! Random frames, secured and verified by candor, by scapy and by the Python package cryptography, which must agree on every bit.
//!
//! `CANDOR_SCAPY` is a directory with `venv`, in which the Python packages are installed. `cargo xtask test` makes it and sets the
//! variable; without it, the test prints `SKIP` and the reason.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

#[path = "../../../candor-lab/tests/support/judge.rs"]
mod judge;
#[path = "../../../candor-lab/tests/support/require.rs"]
mod require;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use candor_secoc::{Freshness, Key, Protection, Scheme, Synchronised, Verdict};
use judge::judged;
use require::require;

/// Frames of each kind.
const FRAMES: usize = 5_000;

#[test]
fn frames_of_scapy_and_cryptography_are_the_same() {
    let Some(peer) = peer() else { return };
    let counts = judged(&mut judge(&peer), cases);
    let frames = FRAMES as u64;
    assert_eq!(counts, BTreeMap::from([("cmac".to_owned(), frames), ("scapy".to_owned(), frames)]));
}

/// scapy secures, candor verifies, with the value before as the last accepted one.
#[test]
fn frames_made_by_scapy_are_accepted() {
    let Some(peer) = peer() else { return };
    let output = judge(&peer).arg("make").output().expect("cannot start the Python of scapy");
    assert!(output.status.success(), "judge.py: {}", String::from_utf8_lossy(&output.stderr));
    let mut accepted = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [key, payload, freshness, frame] = line.split(' ').map(bytes).collect::<Vec<_>>().try_into().unwrap();
        let protection = Protection::new(&Scheme::profile_1(0x131, 4, 32), &Key::parse(&key).unwrap()).unwrap();
        let value = u64::from(u32::from_be_bytes(freshness.try_into().unwrap()));
        assert_eq!(&frame[..4], payload);
        assert_eq!(protection.judge(&frame, value.checked_sub(1), None), (Verdict::Ok, Some(value)), "{line}");
        assert_ne!(protection.judge(&frame, Some(value), None).0, Verdict::Ok);
        accepted += 1;
    }
    assert_eq!(accepted, 2000);
}

/// The directory of the packages. `None` after saying why there is none.
fn peer() -> Option<PathBuf> {
    let found = std::env::var_os("CANDOR_SCAPY").map(PathBuf::from);
    require("scapy", found, "CANDOR_SCAPY is not set; cargo xtask scapy prints it")
}

fn judge(peer: &Path) -> Command {
    let mut command = Command::new(peer.join("venv/bin/python"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scapy/judge.py"));
    command
}

/// The lines that judge.py describes.
fn cases() -> String {
    let (mut random, mut text) = (Random(28), String::new());
    for _ in 0..FRAMES {
        of_scapy(&mut random, &mut text);
        of_cryptography(&mut random, &mut text);
    }
    text
}

/// Profile 1 in frames up to 64 bytes.
fn of_scapy(random: &mut Random, text: &mut String) {
    let key = random.array();
    let lengths = [1, 2, 3, 4, 8, 12, 16, 20, 28, 44, 60];
    let len = lengths[random.below(lengths.len())];
    let payload = random.bytes(len);
    let freshness: [u8; 4] = random.array();
    let [high, low] = random.array();
    let data_id = u16::from_be_bytes([high, low]);
    let protection = Protection::new(&Scheme::profile_1(data_id, payload.len(), 32), &Key::new(key)).unwrap();
    let value = u32::from_be_bytes(freshness).into();
    let mut frame = [&payload[..], &[0; 4]].concat();
    assert!(protection.secure(&mut frame, value));
    let mut damaged = frame.clone();
    let bit = random.below(8 * frame.len());
    damaged[bit / 8] ^= 1 << (bit % 8);
    assert_eq!(protection.judge(&frame, value.checked_sub(1), None), (Verdict::Ok, Some(value)));
    assert_eq!(protection.judge(&damaged, value.checked_sub(1), None).0, Verdict::WrongMac);
    line(text, "scapy", &[&key, &[high, low], &payload, &freshness, &frame, &damaged]);
}

/// Any widths, with the MAC read back from where it is in the frame.
fn of_cryptography(random: &mut Random, text: &mut String) {
    let key = random.array();
    let [payload, data_id] = std::array::from_fn(|_| {
        let len = random.below(17);
        random.bytes(len)
    });
    let counter = u8::try_from(1 + random.below(32)).unwrap();
    let synchronised = (random.below(2) == 1).then(|| Synchronised {
        trip: u8::try_from(random.below(17)).unwrap(),
        reset: u8::try_from(8 + random.below(9)).unwrap(),
        flag: u8::try_from(random.below(9)).unwrap(),
    });
    let sent = u8::try_from(random.below(usize::from(counter) + 1)).unwrap();
    let mac = u8::try_from(8 + random.below(121)).unwrap();
    let freshness = Freshness { synchronised, counter, sent, at: 0, attempts: 1, start: 0 };
    let scheme = Scheme { data_id: data_id.clone(), ..Scheme::after(0, payload.len(), Some(freshness), mac) };
    let protection = Protection::new(&scheme, &Key::new(key)).unwrap();
    let (trip, reset, flag) = synchronised.map_or((0, 0, 0), |one| (one.trip, one.reset, one.flag));
    let bits = u32::from(trip) + u32::from(reset) + u32::from(counter);
    let value = u64::from_be_bytes(random.array()) >> (64 - bits);
    let mut frame = payload.clone();
    frame.resize(scheme.len, 0);
    assert!(protection.secure(&mut frame, value));
    // The simple way: a text of bits.
    let mut whole = format!("{value:0width$b}", width = bits as usize);
    if flag > 0 {
        let reset_end = usize::from(trip) + usize::from(reset);
        let flag = whole[reset_end - usize::from(flag)..reset_end].to_owned();
        whole.push_str(&flag);
    }
    let filled = whole.len().next_multiple_of(8);
    whole.extend(std::iter::repeat_n('0', filled - whole.len()));
    let whole: Vec<u8> = whole.as_bytes().chunks(8).map(|bits| from_bits(std::str::from_utf8(bits).unwrap())).collect();
    let all: String = frame.iter().map(|byte| format!("{byte:08b}")).collect();
    let (at, width) = (usize::from(scheme.mac.0), usize::from(mac));
    let found = &all[at..at + width];
    let found = format!("{found:0>width$}", width = width.next_multiple_of(8));
    let found: Vec<u8> = found.as_bytes().chunks(8).map(|bits| from_bits(std::str::from_utf8(bits).unwrap())).collect();
    line(text, "cmac", &[&key, &data_id, &payload, &whole, &[mac], &found]);
}

fn from_bits(bits: &str) -> u8 {
    u8::from_str_radix(bits, 2).unwrap()
}

fn line(text: &mut String, kind: &str, fields: &[&[u8]]) {
    text.push_str(kind);
    for field in fields {
        text.push(' ');
        field.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
    }
    text.push('\n');
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
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

    fn array<const LEN: usize>(&mut self) -> [u8; LEN] {
        std::array::from_fn(|_| self.next().to_be_bytes()[0])
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_be_bytes()[0]).collect()
    }
}
