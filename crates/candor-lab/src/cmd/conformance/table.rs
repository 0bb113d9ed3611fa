//! The report for people and for programs.

use std::borrow::Cow;
use std::time::Duration;

use candor_lab::conformance::{Line, Report, Verdict};
use comfy_table::{Table, presets};
use serde::Serialize;

use super::gateway::State;
use crate::cli::ConformanceArgs;

pub(super) fn text(args: &ConformanceArgs, state: &State, report: &Report, took: Duration) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["property", "verdict", "what was seen"]);
    for line in &report.lines {
        let verdict = if line.verdict == Verdict::No { "NO" } else { line.verdict.name() };
        table.add_row([line.property, verdict, &line.detail]);
    }
    let count = |verdict| report.lines.iter().filter(|line| line.verdict == verdict).count();
    let (ok, no, rest) = (count(Verdict::Ok), count(Verdict::No), count(Verdict::NotApplicable));
    let rows: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!(
        "{}\n\n{rows}\n{ok} ok, {no} not, {rest} not applicable; {} frames in {:.1} s\n",
        waited(args, state, report),
        report.sent,
        took.as_secs_f64()
    )
}

/// The gateway, and the time until its first frame.
fn waited(args: &ConformanceArgs, state: &State, report: &Report) -> String {
    let gateway = match state {
        State::Already => "The running gateway".to_owned(),
        State::Returned { program } => format!("{program} (has returned)"),
        State::Runs { program } => format!("{program} (runs)"),
    };
    let first = report.first_frame_after.map_or_else(
        || "no frame crossed".to_owned(),
        |time| format!("the first frame crossed {} ms after the start", time.as_millis()),
    );
    let lost = args.lost_after.as_millis();
    format!(
        "{gateway}, {} to {}: {first}. A frame is lost if it is missing after {lost} ms without any frame.",
        args.from, args.to
    )
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    from: &'a str,
    to: &'a str,
    /// Empty if the gateway was already running.
    command: Vec<Cow<'a, str>>,
    state: &'static str,
    /// `null` if no frame crossed.
    first_frame_after_ms: Option<u64>,
    lost_after_ms: u64,
    seed: u64,
    sent_frames: u64,
    took_ms: u64,
    all_right: bool,
    properties: &'a [Line],
}

impl<'a> View<'a> {
    pub(super) fn of(args: &'a ConformanceArgs, state: &State, report: &'a Report, took: Duration) -> Self {
        Self {
            from: &args.from,
            to: &args.to,
            command: args.command.iter().map(|word| word.to_string_lossy()).collect(),
            state: match state {
                State::Already => "already there",
                State::Returned { .. } => "returned",
                State::Runs { .. } => "runs",
            },
            first_frame_after_ms: report.first_frame_after.map(millis),
            lost_after_ms: millis(args.lost_after),
            seed: args.seed,
            sent_frames: report.sent,
            took_ms: millis(took),
            all_right: report.all_right(),
            properties: &report.lines,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
