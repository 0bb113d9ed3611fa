//! Results as text and JSON.

use candor_lab::stats::{Quantile, Series};
use serde::Serialize;

use super::{Calls, Measured, Results};
use crate::cli::LabCanSendArgs;
use crate::cmd::method::{Distribution, table};
use crate::cmd::tester;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    kernel_release: String,
    interface: &'a str,
    /// Number of times that each frame was sent.
    frames: usize,
    tracer: Option<Distribution>,
    measured: Vec<MeasuredView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MeasuredView<'a> {
    before: &'a str,
    rules: Option<u32>,
    calls: Vec<CallsView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallsView<'a> {
    frame: &'a str,
    gap_ns: u64,
    #[serde(flatten)]
    write: Distribution,
    refused: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    can_send: Option<Distribution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traced_write: Option<Distribution>,
}

impl<'a> View<'a> {
    pub(super) fn of(args: &'a LabCanSendArgs, results: &'a Results<'_>) -> Self {
        let call = |calls: &'a Calls| CallsView {
            frame: &calls.frame,
            gap_ns: u64::try_from(calls.gap.as_nanos()).unwrap_or(u64::MAX),
            write: Distribution::of(&calls.write),
            refused: calls.refused,
            can_send: calls.traced.as_ref().map(|traced| Distribution::of(&traced.function)),
            traced_write: calls.traced.as_ref().map(|traced| Distribution::of(&traced.write)),
        };
        let measured = |one: &'a Measured<'_>| MeasuredView {
            before: &one.before.name,
            rules: one.before.rules,
            calls: one.calls.iter().map(call).collect(),
        };
        Self {
            kernel_release: tester::kernel_release(),
            interface: &args.interface,
            frames: args.frames,
            tracer: results.own.as_ref().map(Distribution::of),
            measured: results.measured.iter().map(measured).collect(),
        }
    }
}

pub(super) fn text(args: &LabCanSendArgs, results: &Results<'_>) -> String {
    let is_matrix = !args.trace && args.set_ups.is_none() && args.gaps.len() <= 1;
    if is_matrix { matrix(args, results) } else { rows(args, results) }
}

/// A row for each queueing discipline, a column for each frame.
fn matrix(args: &LabCanSendArgs, results: &Results<'_>) -> String {
    let header = ["discipline".to_owned()].into_iter().chain(args.sent.iter().map(ToString::to_string));
    let rows = results.measured.iter().map(|one| {
        [one.before.name.clone()].into_iter().chain(one.calls.iter().map(|calls| p50(&calls.write))).collect()
    });
    format!(
        "One write() on {}, in ns of this machine (instructions, if it counts them): median\n\n{}",
        args.interface,
        table(header, rows)
    )
}

/// A row for each series of calls.
fn rows(args: &LabCanSendArgs, results: &Results<'_>) -> String {
    let mut header = vec!["discipline", "frame", "gap", "write", "refused"];
    header.extend(args.trace.then_some(["can_send min", "p50", "p90", "write, traced"]).into_iter().flatten());
    let row = |(one, calls): (&Measured<'_>, &Calls)| {
        let (name, frame) = (one.before.name.clone(), calls.frame.clone());
        let mut row = vec![name, frame, format!("{:?}", calls.gap), p50(&calls.write), calls.refused.to_string()];
        if let Some(traced) = &calls.traced {
            let (min, p90) = (traced.function.min(), traced.function.quantile(Quantile::P90));
            row.extend([min.0.to_string(), p50(&traced.function), p90.0.to_string(), p50(&traced.write)]);
        }
        row
    };
    let calls = results.measured.iter().flat_map(|one| one.calls.iter().map(move |calls| (one, calls)));
    let mut text = format!(
        "Frames on {}, in ns of this machine (instructions, if it counts them): median of write()\n\n{}",
        args.interface,
        table(header, calls.map(row))
    );
    if let Some(own) = &results.own {
        let own = p50(own);
        text += &format!("\nOverhead of the tracer: at most {own}, the duration of a trivial system call (getpid)\n");
    }
    text
}

fn p50(series: &Series) -> String {
    series.quantile(Quantile::P50).0.to_string()
}
