//! `candor-lab demo inversion`: how long urgent frames wait, without and with `[egress]`.
//!
//! ```text
//!  host ─▶ guest: candor-lab demo inversion --here --json ─▶ each run of each act: buses, [egress], gateway, programs ─▶ Report
//!   └─────────────────────────── table, files, latency profiles ◀─ JSON ───────────────────────────────────────────────┘
//! ```

mod act;
mod bound;
mod guest;
mod latency;
mod picture;
mod report;
mod stage;
mod text;

use std::fs;
use std::path::Path;

use candor_io::signal::EndingSignals;

use crate::cli::DemoInversionArgs;
use crate::cmd::tester;
use act::{ACTS, Act, Run};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;
use report::{OfAct, OfRun, Report};
use stage::Pattern;

type Failure = Box<dyn std::error::Error>;

pub(crate) fn run(args: &DemoInversionArgs) -> Outcome {
    if let Some(folder) = &args.out {
        let failed = |error| format!("Cannot make the folder {}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let report = if args.here { play(args)? } else { guest::play(args)? };
    if let Some(folder) = &args.out {
        write(folder, &report)?;
    }
    let exit = if report.acts.iter().all(OfAct::holds) { Exit::Fine } else { Exit::No };
    let text = if args.json { report.to_json()? } else { text::of(&report, args.out.as_deref()) };
    render::answer(&text, exit)
}

/// All acts, on this machine.
fn play(args: &DemoInversionArgs) -> Result<Report, Failure> {
    // From here on a signal waits until everything can be undone.
    let signals = EndingSignals::block()?;
    let pattern = Pattern { every: args.every, frames: args.frames, depth: args.depth };
    let mut acts = Vec::new();
    for (number, act) in (1..).zip(&ACTS) {
        let mut runs = Vec::new();
        for run in act.runs {
            // A log and somebody who waits want to know how far it is.
            render::err(&format!("candor-lab: act {number} of {}, {}: {}\n", ACTS.len(), act.title, run.name));
            runs.push(play_run(act, run, &pattern, &signals)?);
        }
        acts.push(OfAct { title: act.title.to_owned(), runs });
    }
    let every_ns = u64::try_from(args.every.as_nanos())?;
    Ok(Report { kernel_release: tester::kernel_release(), every_ns, depth_frames: args.depth.get(), acts })
}

fn play_run(act: &Act, run: &Run, pattern: &Pattern, signals: &EndingSignals) -> Result<OfRun, Failure> {
    let bound = if run.files.is_empty() { None } else { bound::of(act, run, pattern.depth.get(), pattern.frames)? };
    let measured = stage::play(act, run, pattern, signals)?;
    let files = run.files.iter().map(|file| file.name.to_owned()).collect();
    Ok(OfRun::new(run.name, files, pattern.frames, measured, bound))
}

/// What people take home.
fn write(folder: &Path, report: &Report) -> Result<(), Failure> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("Cannot write {}: {error}", path.display()))
    };
    for file in ACTS.iter().flat_map(|act| act.runs).flat_map(|run| run.files) {
        write(file.name, file.text)?;
    }
    for (number, act) in (1..).zip(&report.acts) {
        write(&format!("act-{number}.svg"), &picture::of(number, act, report))?;
    }
    write("inversion.json", &report.to_json()?)?;
    Ok(())
}
