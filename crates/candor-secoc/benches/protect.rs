//! Nanoseconds and instructions per frame: `cargo bench -p candor-secoc`
//!
//! The smallest time of many runs counts: other load of the machine only adds. Instructions are counted by valgrind, in this
//! program started again; without valgrind, the columns are empty. The last line is the loop over the frames, which is a part
//! of all others. `RUSTFLAGS='--cfg aes_backend="soft"'` measures AES without its instructions.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

#[path = "../../candor-e2e/benches/support/counted.rs"]
mod counted;

use std::hint::black_box;
use std::time::Instant;

use counted::instructions;

use candor_core::frame::{Frame, RawId};
use candor_core::job::{Compute, RealtimeNs};
use candor_core::rule::Verdict;
use candor_secoc::{Check, Key, Options, Payload, Protect, Scheme};

const FRAMES: usize = 200;
const ROUNDS: usize = 300;
const CASES: [&str; 5] =
    ["profile 1, 8 bytes", "profile 3, 8 bytes", "profile 1, 64 bytes", "profile 1, 8 bytes, wrong key", "nothing"];
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
    println!("| scheme | add: ns | instructions | verify and strip: ns | instructions |\n|---|--:|--:|--:|--:|");
    for (case, name) in CASES.iter().enumerate() {
        let [protect, check] = times(case);
        let [protected, checked] = ["protected_frames", "checked_frames"].map(|work| instructions(case, work, FRAMES));
        println!("| {name} | {protect:.1} | {protected} | {check:.1} | {checked} |");
    }
}

/// Sender, receiver and a plain frame.
fn ends(case: usize) -> (Protect, Check, Frame) {
    let key = Key::new([7; 16]);
    let (scheme, sync) = match case {
        1 => {
            let check = Check::new(Scheme::sync(0xF), &key, None, Options::default()).unwrap();
            let mut frame = Frame::EMPTY;
            let sender = Protect::new(Scheme::sync(0xF), &key, None).unwrap();
            assert!(
                sender.change_frame(RealtimeNs::UNKNOWN, &mut frame) == Verdict::Send
                    && check.change_frame(RealtimeNs::UNKNOWN, &mut frame) == Verdict::Send
            );
            (Scheme::profile_3(0x131, 4), Some(check.sync_source("sync".into())))
        }
        2 => (Scheme::profile_1(0x131, 48, 32), None),
        _ => (Scheme::profile_1(0x131, 4, 32), None),
    };
    let plain = Frame::fd(RawId(0x131), 0, &vec![0x5A; scheme.payload.len()]).unwrap();
    let other = if case == 3 { Key::new([8; 16]) } else { key.clone() };
    let options = Options { payload: Payload::Plain, ..Options::default() };
    let receiver = Check::new(scheme.clone(), &other, sync.clone(), options).unwrap();
    (Protect::new(scheme, &key, sync).unwrap(), receiver, plain)
}

#[inline(never)]
fn protected_frames(protect: impl Fn(&mut Frame) -> Verdict, frames: &mut [Frame]) {
    for frame in frames {
        black_box(protect(black_box(frame)));
    }
}

#[inline(never)]
fn checked_frames(check: impl Fn(&mut Frame) -> Verdict, frames: &mut [Frame]) {
    for frame in frames {
        black_box(check(black_box(frame)));
    }
}

fn protect(case: usize, protect: &Protect, frames: &mut [Frame]) {
    if case == NOTHING {
        protected_frames(|_| Verdict::Send, frames)
    } else {
        protected_frames(|frame| protect.change_frame(RealtimeNs::UNKNOWN, frame), frames)
    }
}

fn check(case: usize, check: &Check, frames: &mut [Frame]) {
    if case == NOTHING {
        checked_frames(|_| Verdict::Send, frames)
    } else {
        checked_frames(|frame| check.change_frame(RealtimeNs::UNKNOWN, frame), frames)
    }
}

/// One pass, for valgrind.
fn measured(case: usize, work: &str) {
    let (sender, receiver, plain) = ends(case);
    let mut frames = vec![plain; FRAMES];
    if work == "protected_frames" {
        protect(case, &sender, &mut frames);
    } else {
        frames.iter_mut().for_each(|frame| assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, frame), Verdict::Send));
        check(case, &receiver, &mut frames);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark")]
fn times(case: usize) -> [f64; 2] {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let (sender, receiver, plain) = ends(case);
        let mut frames = vec![plain; FRAMES];
        let start = Instant::now();
        protect(case, &sender, &mut frames);
        let middle = Instant::now();
        check(case, &receiver, &mut frames);
        let times = [middle - start, middle.elapsed()];
        for (best, time) in best.iter_mut().zip(times) {
            *best = best.min(time.as_nanos() as f64 / FRAMES as f64);
        }
    }
    best
}
