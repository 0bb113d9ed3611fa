//! What was measured, for people and for programs.

use std::fmt::Write as _;

use candor_lab::stats::{Quantile, Series};
use serde_json::json;

use super::{Calls, FUNCTION, Measured, Results};
use crate::cli::LabCanSendArgs;
use crate::cmd::distribution::distribution;
use crate::cmd::tester;

pub(super) fn json(args: &LabCanSendArgs, results: &Results<'_>) -> String {
    let call = |calls: &Calls| {
        let mut call = distribution(&calls.write);
        call["frame"] = calls.frame.as_str().into();
        call["gap_ns"] = u64::try_from(calls.gap.as_nanos()).unwrap_or(u64::MAX).into();
        call["refused"] = calls.refused.into();
        if let Some(traced) = &calls.traced {
            call[FUNCTION] = distribution(&traced.function);
            call["traced_write"] = distribution(&traced.write);
        }
        call
    };
    let one = |one: &Measured<'_>| {
        let calls: Vec<_> = one.calls.iter().map(call).collect();
        json!({ "before": one.before.name, "rules": one.before.rules, "calls": calls })
    };
    let value = json!({
        "kernel_release": tester::kernel_release(),
        "interface": args.interface,
        "frames": args.frames,
        "tracer": results.own.as_ref().map(distribution),
        "measured": results.measured.iter().map(one).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

pub(super) fn text(args: &LabCanSendArgs, results: &Results<'_>) -> String {
    if args.trace || args.set_ups.is_some() || args.gaps.len() > 1 {
        rows(args, results)
    } else {
        matrix(args, results)
    }
}

/// A row for what stands before the bus, a column for each frame.
fn matrix(args: &LabCanSendArgs, results: &Results<'_>) -> String {
    let mut text = format!(
        "One write() of {}, in ns of this machine (instructions in the counting laboratory): median\n\n{:<24}",
        args.interface, "before the bus"
    );
    let cell = |text: &mut String, of: &str| write!(text, " {of:>22}").expect("a String takes everything");
    args.sent.iter().for_each(|frame| cell(&mut text, &frame.to_string()));
    for one in &results.measured {
        write!(text, "\n{:<24}", one.before.name).expect("a String takes everything");
        one.calls.iter().for_each(|calls| cell(&mut text, &p50(&calls.write)));
    }
    text.push('\n');
    text
}

/// A row for everything that was sent.
fn rows(args: &LabCanSendArgs, results: &Results<'_>) -> String {
    let mut text = format!(
        "Frames on {}, in ns of this machine (instructions in the counting laboratory): median of write(){}\n\n",
        args.interface,
        if args.trace {
            "; smallest, median and 90 % of can_send() in the kernel; median of write() meanwhile"
        } else {
            ""
        }
    );
    let line = |text: &mut String, cells: [&str; 9]| {
        let [before, frame, gap, figures @ ..] = cells;
        write!(text, "{before:<16} {frame:<34} {gap:>6}").expect("a String takes everything");
        figures.iter().for_each(|figure| write!(text, " {figure:>9}").expect("a String takes everything"));
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    let traced = if args.trace { ["smallest", "median", "90 %", "traced"] } else { [""; 4] };
    let [smallest, median, p90, during] = traced;
    line(&mut text, ["before the bus", "frame", "gap", "write", smallest, median, p90, during, "refused"]);
    for one in &results.measured {
        for calls in &one.calls {
            let traced = calls.traced.as_ref().map(|traced| {
                let function = &traced.function;
                [
                    function.min().0.to_string(),
                    p50(function),
                    function.quantile(Quantile::P90).0.to_string(),
                    p50(&traced.write),
                ]
            });
            let [smallest, median, p90, during] = traced.unwrap_or_default();
            let refused = if calls.refused > 0 { calls.refused.to_string() } else { String::new() };
            let (gap, write) = (format!("{:?}", calls.gap), p50(&calls.write));
            let name = &one.before.name;
            line(&mut text, [name, &calls.frame, &gap, &write, &smallest, &median, &p90, &during, &refused]);
        }
    }
    if let Some(own) = &results.own {
        writeln!(
            text,
            "\nThe tracer shows {} for a system call that does next to nothing (getpid): so much of each duration is its own at most",
            p50(own)
        )
        .expect("a String takes everything");
    }
    text
}

fn p50(series: &Series) -> String {
    series.quantile(Quantile::P50).0.to_string()
}
