//! The allow-list as a gateway file.

use std::fmt::Write as _;

use candor_cli::gateway_file::plural;
use candor_core::frame::CAN_RTR_FLAG;
use candor_learn::allow::{Gaps, Key};
use candor_learn::{Outcome, name, written};

use super::{Entry, Logs, Verdicts};
use crate::cli::LearnAllowArgs;

/// Logs below this miss what is rarely sent.
const SHORT_S: f64 = 600.0;

pub(super) fn text(logs: &Logs, entries: &[Entry], verdicts: &Verdicts, args: &LearnAllowArgs) -> String {
    let (from, to) = buses(logs, args);
    let mut text = String::from("# Allow-list, learned by candor-lab learn allow.\n");
    for log in &logs.names {
        let _ = writeln!(text, "#   {}", log.replace(['\n', '\r'], " "));
    }
    let frames = plural(verdicts.frames, "frame");
    let ids = plural(entries.len(), "identifier");
    let _ = writeln!(text, "# {frames} of {ids} in {:.1} s.", logs.seconds());
    if logs.seconds() < SHORT_S {
        text += "#\n# Warning: the logs are short. Diagnostics, and frames that are sent on rare events, may be missing, and bits that\n\
                 # rarely change look constant. Record at least 10 minutes, with everything that the vehicle does.\n";
    }
    text += "#\n# Violations are counted only. Let the list run for some days before on-violation = \"drop\" is written.\n#\n";
    text += &replay(verdicts, &[("# ", "The logs by this list")]);
    let _ = write!(text, "\nengine = \"auto\"\n\n[bus.{}]\ninterface = {:?}\n", key(from), logs.interface);
    let other = if logs.interface == "can1" { "can0" } else { "can1" };
    let _ = writeln!(text, "\n[bus.{}]\ninterface = {other:?}", key(to));
    if let Some(database) = &args.database {
        let _ = writeln!(text, "\n[database]\n{} = {:?}", key(from), database.display().to_string());
    }
    for entry in entries {
        text += &route(entry, from, to);
    }
    text
}

/// Names of the buses from and to which the routes go.
pub(super) fn buses<'a>(logs: &'a Logs, args: &'a LearnAllowArgs) -> (&'a str, &'a str) {
    let from = args.from.as_deref().unwrap_or(&logs.interface);
    (from, args.to.as_deref().unwrap_or(if from == "can1" { "can0" } else { "can1" }))
}

/// A key as TOML writes it.
fn key(text: &str) -> String {
    let is_bare = !text.is_empty() && text.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
    if is_bare { text.to_owned() } else { format!("{text:?}") }
}

/// What would be dropped, each line after this prefix.
pub(super) fn replay(verdicts: &Verdicts, about: &[(&str, &str)]) -> String {
    let [(prefix, what)] = about else { return String::new() };
    let mut text =
        format!("{prefix}{what}: {} of {} would be dropped.\n", verdicts.bad, plural(verdicts.frames, "frame"));
    for ((id, violated), count) in &verdicts.counts {
        let what = match violated {
            Key::Silent => format!("silent, {}", plural(*count, "time")),
            Key::Unknown => format!("not in the list, {}", plural(*count, "frame")),
            key => format!("{}, {}", key.name(), plural(*count, "frame")),
        };
        let _ = writeln!(text, "{prefix}  {}: {what}", name(*id));
    }
    text
}

fn route(entry: &Entry, from: &str, to: &str) -> String {
    let id = name(entry.seen.id);
    let mut text = format!("\n# {}\n", about(entry));
    for line in comments(entry) {
        let _ = writeln!(text, "# {line}");
    }
    if entry.seen.frames > 0 {
        let _ = writeln!(text, "[[route]]\nname = \"{id}\"\nfrom = {from:?}\nto = {to:?}\nmatch = \"{id}\"");
        text += &match entry.guard.written() {
            guard if guard.is_empty() => "# no guard: nothing is known of its frames\n".to_owned(),
            guard => guard + "guard.on-violation = \"count\"\n",
        };
    }
    if entry.guard.has_remote {
        let remote = format!("{:08X}", entry.seen.id | CAN_RTR_FLAG);
        let _ = writeln!(
            text,
            "\n# {id}: remote frames\n[[route]]\nname = \"{id}-remote\"\nfrom = {from:?}\nto = {to:?}\nmatch = \"{remote}\""
        );
    }
    text
}

fn about(entry: &Entry) -> String {
    let seen = &entry.seen;
    let mut text = format!("{}: {}", name(seen.id), plural(seen.frames, "frame"));
    if seen.frames > 0 {
        let _ = write!(text, ", {} different", seen.distinct);
    }
    if seen.remote > 0 {
        let _ = write!(text, ", {}", plural(seen.remote, "remote frame"));
    }
    text
}

/// Times in ms with three digits.
fn ms(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

fn comments(entry: &Entry) -> Vec<String> {
    let Entry { seen, guard, learned, mux } = entry;
    let mut lines = Vec::new();
    match &seen.gaps {
        Some(gaps) => lines.push(period(gaps)),
        None if seen.frames == 0 => return lines,
        None => lines.push("one frame: nothing is known about time".into()),
    }
    if guard.rate.is_none() {
        lines.push("too few frames for a rate".into());
    } else if guard.min_gap_ns.is_none() && seen.gaps.is_some_and(|gaps| gaps.is_cyclic()) {
        lines.push("two frames were so close that no min-gap is possible".into());
    }
    if guard.min_gap_ns.is_some() && guard.silent_ns.is_none() {
        lines.push(format!("it ended {} before a log, so silence is usual", ms(seen.ended_before_ns)));
    }
    let bits: usize = 8 * seen.constant.mask.len();
    match &guard.constant {
        Some(constant) => lines.push(format!("{} of {bits} bits never changed", constant.bits())),
        None if seen.frames > 0 && seen.constant.bits() > 0 => {
            lines.push("too few frames to say which bits never change".into());
        }
        None => {}
    }
    if let Some(mux) = mux {
        let values: Vec<_> = mux.values.iter().map(|one| format!("{one:02X}")).collect();
        let last = mux.start + u16::from(mux.bits) - 1;
        lines.push(format!("multiplexed by bits {} to {last}: {}", mux.start, values.join(", ")));
    }
    if let (Outcome::Found, Some(best)) = (learned.outcome, learned.schemes.first()) {
        let explained = format!("{} of {}", best.explained, plural(best.of, "frame"));
        match written(best, &learned.counters) {
            Ok(written) => lines.push(format!("{}   # {explained}", written.check)),
            Err(why) => lines.push(format!("a checksum explains {explained}: {why}")),
        }
    }
    lines
}

fn period(gaps: &Gaps) -> String {
    let Gaps { median_ns, mad_ns, min_ns, max_ns, .. } = *gaps;
    let kind = if gaps.is_cyclic() { "period" } else { "no period; gap" };
    format!("{kind} {} (median), deviation {} (MAD), {} to {}", ms(median_ns), ms(mad_ns), ms(min_ns), ms(max_ns))
}
