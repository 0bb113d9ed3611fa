//! Nanoseconds and instructions per frame: `cargo bench -p candor-e2e`
//!
//! The smallest time of many runs counts: other load of the machine only adds. Instructions are counted by valgrind, in this
//! program started again; without valgrind, the columns are empty. The last line is the loop over the frames, which is a part
//! of all others.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

#[path = "support/counted.rs"]
mod counted;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use counted::instructions;

use candor_e2e::{
    Checksum, Counter, IdMode, Place, Profile, Protection, Receiver, Scheme, Sender, Settings, Unit, Verdict,
};

const FRAMES: usize = 1000;
const ROUNDS: usize = 300;
const CASES: [&str; 11] = [
    "P01 both, 8 bytes",
    "P01 alternating, 8 bytes",
    "P01 nibble, 8 bytes",
    "P02, 8 bytes",
    "P05, 8 bytes",
    "P05, 64 bytes",
    "P04, 64 bytes",
    "P07, 64 bytes",
    "sum of bytes in byte 7, 8 bytes",
    "XOR of halves in 4 bits, 8 bytes",
    "nothing",
];
/// The last case.
const NOTHING: usize = CASES.len() - 1;

fn main() {
    // cargo passes --bench, and names of benchmarks that this program does not have.
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, case, work] = &arguments[..]
        && flag == "--measured"
    {
        measured(case.parse().unwrap(), work);
        return;
    }
    println!("| scheme | protect: ns | instructions | check: ns | instructions |\n|---|--:|--:|--:|--:|");
    for (case, name) in CASES.iter().enumerate() {
        let [protect, check] = times(case);
        let [protected, checked] = ["protected_frames", "checked_frames"].map(|work| instructions(case, work, FRAMES));
        println!("| {name} | {protect:.1} | {protected} | {check:.1} | {checked} |");
    }
}

fn protection(case: usize) -> (Arc<Protection>, usize) {
    let mode = |mode| Settings { mode, ..Settings::new(Profile::P01, [0x123], 8) }.scheme().unwrap();
    let profile = |profile: Profile, len| Settings::new(profile, vec![0x12; profile.data_ids()], len).scheme().unwrap();
    let own = |checksum, place| {
        let mut scheme = Scheme::new(checksum, place, 8);
        scheme.counter = Some(Counter::new(Place::low_nibble(6)));
        scheme
    };
    let scheme = match case {
        0 => mode(IdMode::Both),
        1 => mode(IdMode::Alternating),
        2 => mode(IdMode::Nibble),
        3 => profile(Profile::P02, 8),
        4 => profile(Profile::P05, 8),
        5 => profile(Profile::P05, 64),
        6 => profile(Profile::P04, 64),
        7 => profile(Profile::P07, 64),
        8 => own(Checksum::Sum { unit: Unit::Byte, init: 0, negated: false, xorout: 0 }, Place::byte(7)),
        _ => own(Checksum::Xor { unit: Unit::Nibble, init: 0 }, Place::low_nibble(7)),
    };
    (Arc::new(Protection::new(&scheme).unwrap()), *scheme.len.end())
}

/// Valid frames that follow each other.
fn frames(protection: &Arc<Protection>, len: usize) -> Vec<Vec<u8>> {
    let mut sender = Sender::new(protection.clone());
    let mut frames = vec![vec![0x5A; len]; FRAMES];
    frames.iter_mut().for_each(|frame| assert!(sender.protect(frame)));
    frames
}

#[inline(never)]
fn protected_frames(mut protect: impl FnMut(&mut [u8]) -> bool, frames: &mut [Vec<u8>]) {
    for frame in frames {
        black_box(protect(black_box(frame)));
    }
}

#[inline(never)]
fn checked_frames(mut check: impl FnMut(&[u8]) -> Verdict, frames: &[Vec<u8>]) {
    for frame in frames {
        black_box(check(black_box(frame)));
    }
}

fn protect(case: usize, protection: &Arc<Protection>, frames: &mut [Vec<u8>]) {
    let mut sender = Sender::new(protection.clone());
    if case == NOTHING {
        protected_frames(|_| true, frames)
    } else {
        protected_frames(|one| sender.protect(one), frames)
    }
}

fn check(case: usize, protection: &Arc<Protection>, frames: &[Vec<u8>]) {
    let mut receiver = Receiver::new(protection.clone());
    if case == NOTHING {
        checked_frames(|_| Verdict::Ok, frames)
    } else {
        checked_frames(|one| receiver.check(one), frames)
    }
}

/// One pass, for valgrind.
fn measured(case: usize, work: &str) {
    let (protection, len) = protection(case);
    let mut frames = frames(&protection, len);
    if work == "protected_frames" {
        protect(case, &protection, &mut frames);
    } else {
        check(case, &protection, &frames);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark")]
fn times(case: usize) -> [f64; 2] {
    let (protection, len) = protection(case);
    let mut frames = frames(&protection, len);
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        protect(case, &protection, &mut frames);
        let middle = Instant::now();
        check(case, &protection, &frames);
        let times = [middle - start, middle.elapsed()];
        for (best, time) in best.iter_mut().zip(times) {
            *best = best.min(time.as_nanos() as f64 / FRAMES as f64);
        }
    }
    best
}
