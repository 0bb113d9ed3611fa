//! Instructions for each frame in the compiled rule set, counted by valgrind: the table of `docs/speed.md`.
//!
//! `cargo bench -p candor-core --bench instructions`
#![expect(clippy::disallowed_methods, reason = "a program that starts itself again under valgrind")]
#![expect(clippy::print_stdout, reason = "it prints a table")]

mod sets;

use std::hint::black_box;
use std::process::{Command, ExitCode};

use candor_core::frame::Frame;
use candor_core::plan::BusIndex;
use candor_core::ruleset::RuleSet;
use sets::{BUSES, FRAMES, Kind};

/// How many rules a set has.
const COUNTS: [usize; 5] = [1, 16, 256, 2048, 16_384];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let outcome = match &arguments[1..] {
        [flag, kind, count] if flag == "--measured" => run_measured(kind, count),
        _ => table(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::from(2)
        }
    }
}

fn table() -> Result<(), String> {
    println!("Instructions for each frame of 8 bytes, by number of rules:\n");
    println!("| rules | {} | 16 384 : 1 |", COUNTS.map(|count| count.to_string()).join(" | "));
    println!("|---|{}---|", "---|".repeat(COUNTS.len()));
    for kind in Kind::ALL {
        let counted: Vec<f64> = COUNTS.into_iter().map(|count| per_frame(kind, count)).collect::<Result<_, _>>()?;
        let cells: Vec<_> = counted.iter().map(|count| format!("{count:.0}")).collect();
        println!("| {} | {} | {:.2} |", kind.name(), cells.join(" | "), counted[COUNTS.len() - 1] / counted[0]);
    }
    Ok(())
}

/// Runs this program under callgrind, which counts in [`route_all`] and in what it calls.
fn per_frame(kind: Kind, count: usize) -> Result<f64, String> {
    let itself = std::env::current_exe().map_err(|error| format!("this program is not to be found: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*route_all*"])
        .arg(itself)
        .args(["--measured", kind.name(), &count.to_string()])
        .output()
        .map_err(|error| format!("valgrind does not start: {error}; install it (Debian: apt install valgrind)"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let counted = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse::<u32>().ok());
    match counted {
        Some(counted) if output.status.success() && counted > 0 => {
            Ok(f64::from(counted) / f64::from(u32::try_from(FRAMES).unwrap_or(1)))
        }
        _ => Err(format!("valgrind counted nothing; it said:\n{text}")),
    }
}

fn run_measured(kind: &str, count: &str) -> Result<(), String> {
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind).ok_or("no such kind of rules")?;
    let count = count.parse().map_err(|error| format!("{count} is no number of rules: {error}"))?;
    let jobs = kind.jobs(count);
    let (rules, frames) = (RuleSet::compile(&jobs, BUSES), kind.frames(&jobs));
    let fired = route_all(&rules, &frames);
    let expected = kind.fire(count) * FRAMES;
    if fired == expected { Ok(()) } else { Err(format!("{fired} jobs have fired instead of {expected}")) }
}

#[inline(never)]
fn route_all(rules: &RuleSet, frames: &[Frame]) -> usize {
    let mut fired = 0;
    for frame in frames {
        rules.route(BusIndex(0), frame, |job, routed| {
            black_box((job, routed));
            fired += 1;
        });
    }
    fired
}
