//! Instructions per frame in the compiled rule set, and from received to sent bytes, counted by valgrind, for the
//! tables of `docs/speed.md`.
//!
//! `cargo bench -p candor-core --bench instructions`
#![expect(clippy::disallowed_methods, reason = "the program runs itself under valgrind")]
#![expect(clippy::print_stdout, reason = "prints a table")]

mod sets;

use std::hint::black_box;
use std::process::{Command, ExitCode};

use candor_core::frame::{CANFD_MTU, Frame};
use candor_core::job::BusIndex;
use candor_core::ruleset::{RuleSet, Visit};
use sets::{BUSES, FRAMES, Kind};

/// Numbers of rules.
const COUNTS: [usize; 5] = [1, 16, 256, 2048, 16_384];

/// Names of the measured functions.
const RULES: &str = "route_all";
const BYTES: &str = "forward_all";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let outcome = match &arguments[1..] {
        [flag, work, kind, count] if flag == "--measured" => run_measured(work, kind, count),
        _ => tables(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::from(2)
        }
    }
}

fn tables() -> Result<(), String> {
    println!("Instructions per frame of 8 bytes, by number of rules:\n");
    table(RULES)?;
    println!("\nThe same, from received bytes to sent bytes:\n");
    table(BYTES)
}

fn table(work: &str) -> Result<(), String> {
    println!("| rules | {} | 16 384 : 1 |", COUNTS.map(|count| count.to_string()).join(" | "));
    println!("|---|{}---|", "---|".repeat(COUNTS.len()));
    for kind in Kind::ALL {
        let counted: Vec<f64> =
            COUNTS.into_iter().map(|count| per_frame(work, kind, count)).collect::<Result<_, _>>()?;
        let cells: Vec<_> = counted.iter().map(|count| format!("{count:.0}")).collect();
        println!("| {} | {} | {:.2} |", kind.name(), cells.join(" | "), counted[COUNTS.len() - 1] / counted[0]);
    }
    Ok(())
}

/// Runs this program under callgrind, which counts one function and its callees.
fn per_frame(work: &str, kind: Kind, count: usize) -> Result<f64, String> {
    let itself = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", &format!("--toggle-collect=*{work}*")])
        .arg(itself)
        .args(["--measured", work, kind.name(), &count.to_string()])
        .output()
        .map_err(|error| format!("cannot start valgrind: {error}; install it (Debian: apt install valgrind)"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let counted = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse::<u32>().ok());
    match counted {
        Some(counted) if output.status.success() && counted > 0 => {
            Ok(f64::from(counted) / f64::from(u32::try_from(FRAMES).unwrap_or(1)))
        }
        _ => Err(format!("valgrind counted nothing; its output:\n{text}")),
    }
}

fn run_measured(work: &str, kind: &str, count: &str) -> Result<(), String> {
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind).ok_or("unknown kind of rules")?;
    let count = count.parse().map_err(|error| format!("{count} is not a number of rules: {error}"))?;
    let jobs = kind.jobs(count);
    let (rules, frames) = (RuleSet::compile(&jobs, BUSES), as_bytes(&kind.frames(&jobs)));
    let fired = if work == BYTES { forward_all(&rules, &frames) } else { route_all(&rules, &frames) };
    let expected = kind.fire(count) * FRAMES;
    if fired == expected { Ok(()) } else { Err(format!("{fired} jobs matched instead of {expected}")) }
}

/// Counts results.
#[derive(Default)]
struct Fired(usize);

impl Visit for Fired {
    fn pass(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        black_box((job, to, bytes));
        self.0 += 1;
    }

    fn send(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        black_box((job, to, bytes));
        self.0 += 1;
    }

    fn delete(&mut self, job: usize) {
        black_box(job);
        self.0 += 1;
    }
}

#[inline(never)]
fn route_all(rules: &RuleSet, received: &[([u8; CANFD_MTU], usize)]) -> usize {
    let mut fired = Fired::default();
    let rules = rules.from_bus(BusIndex(0));
    for (bytes, len) in received {
        rules.route(&bytes[..*len], &mut fired);
    }
    fired.0
}

fn as_bytes(frames: &[Frame]) -> Vec<([u8; CANFD_MTU], usize)> {
    let bytes_of = |frame: &Frame| {
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        (bytes, len)
    };
    frames.iter().map(bytes_of).collect()
}

/// Writes the bytes of sent frames.
#[derive(Default)]
struct Writer(usize);

impl Visit for Writer {
    fn pass(&mut self, job: usize, to: BusIndex, received: &[u8]) {
        let mut bytes = [0; CANFD_MTU];
        bytes[..received.len()].copy_from_slice(received);
        black_box((job, to, &bytes[..received.len()]));
        self.0 += 1;
    }

    fn send(&mut self, job: usize, to: BusIndex, bytes: &[u8]) {
        self.pass(job, to, bytes);
    }

    fn delete(&mut self, _job: usize) {
        self.0 += 1;
    }
}

/// The work of an engine per frame, without system calls, queue and counters.
#[inline(never)]
fn forward_all(rules: &RuleSet, received: &[([u8; CANFD_MTU], usize)]) -> usize {
    let mut writer = Writer::default();
    let rules = rules.from_bus(BusIndex(0));
    for (bytes, len) in received {
        rules.route(&bytes[..*len], &mut writer);
    }
    writer.0
}
