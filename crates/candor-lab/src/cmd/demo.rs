//! `candor-lab demo inversion`: waiting times of urgent frames, without and with `[egress]`.
//!
//! ```text
//!  host ─▶ guest: candor-lab demo inversion --here --json ─▶ each run of each act: buses, [egress], gateway, programs ─▶ Report
//!   └─────────────────────────── table, files, latency profiles ◀─ JSON ───────────────────────────────────────────────┘
//! ```

mod act;
mod bound;
pub(super) mod report;
mod stage;
mod text;

use std::fs;
use std::path::Path;

use candor_cli::{Exit, Outcome, render};
use candor_egress::netlink::arbitration;
use candor_io::signal::EndingSignals;
use candor_lab::guest::{self, GuestSpec};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;
use candor_lab::report::{Picture, Rule, Summary, TimeUnit};
use candor_lab::stats::LatencyNs;

use super::progress::Progress;
use super::{guests, tester};
use crate::cli::{DemoCommand, DemoInversionArgs};
use act::{Act, Run};
use report::{OfAct, OfRun, Report};
use stage::Pattern;

type Failure = Box<dyn std::error::Error>;

pub(crate) fn run(command: &DemoCommand) -> Outcome {
    let DemoCommand::Inversion(args) = command;
    if let Some(folder) = &args.out {
        let failed = |error| format!("Cannot create the directory {}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let report = if args.here { play(args)? } else { play_in_guest(args)? };
    if let Some(folder) = &args.out {
        write(folder, &report)?;
    }
    let exit = if report.acts.iter().all(OfAct::holds) { Exit::Fine } else { Exit::No };
    let text = if args.json { report.to_json()? } else { text::of(&report, args.out.as_deref()) };
    render::answer(&text, exit)
}

/// Runs all acts on this machine.
fn play(args: &DemoInversionArgs) -> Result<Report, Failure> {
    // From here on a signal waits until everything can be undone.
    let signals = EndingSignals::block()?;
    let pattern = Pattern { every: args.every, frames: args.frames, depth: args.depth };
    let all = act::acts();
    let mut acts = Vec::new();
    for (number, act) in (1..).zip(&all) {
        let mut runs = Vec::new();
        for run in &act.runs {
            if run.has_arbitration()
                && let Err(why) = arbitration::layout()
            {
                render::err(&format!("candor-lab: without act {number}, {}: {why}\n", run.name));
                continue;
            }
            render::err(&format!("candor-lab: act {number} of {}, {}: {}\n", all.len(), act.title, run.name));
            runs.push(play_run(act, run, &pattern, &signals)?);
        }
        acts.push(OfAct { title: act.title.clone(), runs });
    }
    let every_ns = u64::try_from(args.every.as_nanos())?;
    Ok(Report { kernel_release: tester::kernel_release(), every_ns, depth_frames: args.depth.get(), acts })
}

fn play_run(act: &Act, run: &Run, pattern: &Pattern, signals: &EndingSignals) -> Result<OfRun, Failure> {
    let bound = if run.files.is_empty() { None } else { bound::of(act, run, pattern.depth.get(), pattern.frames)? };
    let measured = stage::play(act, run, pattern, signals)?;
    Ok(OfRun::new(&run.name, run.files.clone(), pattern.frames, measured, bound))
}

/// Runs all acts in a guest that counts instructions.
fn play_in_guest(args: &DemoInversionArgs) -> Result<Report, Failure> {
    let mut words = ["candor-lab", "demo", "inversion", "--here", "--json"].map(str::to_owned).to_vec();
    words.extend([format!("--every={}ns", args.every.as_nanos()), format!("--frames={}", args.frames)]);
    words.push(format!("--depth={}", args.depth));
    let mut spec = GuestSpec::new(Testbed::Icount, Topology::Vcan, guest::guest_lab()?, words);
    spec.kernel.clone_from(&args.kernel);
    spec.timeout = args.timeout;
    let mut progress = Progress::new();
    progress.kept = Some(Vec::new());
    let exit = guest::run(&spec, &mut progress);
    progress.clear();
    let exit = exit.inspect_err(guests::show_console)?;
    // Status 1 means that a bound does not hold.
    if exit.status > 1 {
        return Err(format!("The demonstration failed in the guest (status {})", exit.status).into());
    }
    guests::report_platform(&exit, "played");
    let report = serde_json::from_slice(&progress.kept.unwrap_or_default());
    Ok(report.map_err(|error| format!("The guest printed no figures: {error}"))?)
}

/// Writes the files of `--out`.
fn write(folder: &Path, report: &Report) -> Result<(), Failure> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("Cannot write {}: {error}", path.display()))
    };
    for (name, text) in act::files() {
        write(name, text)?;
    }
    for (number, act) in (1..).zip(&report.acts) {
        write(&format!("act-{number}.svg"), &picture(number, act, report))?;
    }
    write("inversion.json", &report.to_json()?)?;
    Ok(())
}

/// The latency profile of an act.
fn picture(number: usize, act: &OfAct, report: &Report) -> String {
    let summary =
        |run: &OfRun| Summary::of_series(&run.name, run.frames.into(), run.refused + run.lost, run.series().as_ref());
    let summaries: Vec<Summary> = act.runs.iter().map(summary).collect();
    let rule = |(of, run): (usize, &OfRun)| {
        let at = LatencyNs(i64::try_from(run.bound?.total_ns).ok()?);
        Some(Rule { of, at, name: format!("bound {}: {:.1} ms", run.name, at.microseconds() / 1000.0) })
    };
    let rules: Vec<Rule> = act.runs.iter().enumerate().filter_map(rule).collect();
    let (depth, release) = (report.depth_frames, &report.kernel_release);
    let title =
        format!("Act {number}, {}: latency of urgent frames (controller of {depth}, Linux {release})", act.title);
    let of = "from the program's call to the last bit on the bus";
    Picture { title: &title, of, unit: TimeUnit::Milliseconds, summaries: &summaries, rules: &rules }.to_svg()
}
