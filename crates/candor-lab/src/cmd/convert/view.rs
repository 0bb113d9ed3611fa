//! What a conversion read and wrote.

use std::fmt::Write as _;

use candor_recording::{Counts, ReadError, ReadRecords, Sink};
use serde::Serialize;

use super::{Summary, files};
use crate::cli::ConvertArgs;

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View {
    #[serde(rename = "in")]
    input: Side,
    out: Side,
    /// Of the recording.
    buses: Vec<String>,
    /// Buses whose names OUT does not have.
    renamed: Vec<Renamed>,
    /// From the first frame to the last one.
    span_s: f64,
    /// Where and why reading ended before the end.
    ended_at: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Side {
    file: String,
    frames: u64,
    left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(in crate::cmd) struct LeftOut {
    pub(in crate::cmd) what: String,
    pub(in crate::cmd) count: u64,
}

impl LeftOut {
    pub(in crate::cmd) fn of(counts: &Counts) -> Vec<Self> {
        counts.iter().map(|(what, count)| Self { what: what.to_owned(), count }).collect()
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Renamed {
    bus: String,
    number: u16,
}

impl View {
    pub(super) fn of(
        args: &ConvertArgs,
        summary: &Summary,
        reader: &dyn ReadRecords,
        sink: &Sink,
        lost: &Counts,
        ended: Option<&ReadError>,
    ) -> Self {
        let side = |path, frames, counts| Side { file: files::name(path), frames, left_out: LeftOut::of(counts) };
        let buses = reader.buses();
        let renamed = sink.numbers(buses).into_iter().map(|(bus, number)| Renamed { bus: bus.to_owned(), number });
        Self {
            input: side(&args.input, summary.frames, reader.skipped()),
            out: side(&args.output, sink.written(), lost),
            buses: buses.names().map(str::to_owned).collect(),
            renamed: renamed.collect(),
            span_s: summary.span.map_or(0.0, |(first, last)| last.abs_diff(first) as f64 / 1e9),
            ended_at: ended.map(ToString::to_string),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let buses = counted(self.buses.len() as u64, "bus", "buses");
        for (side, more) in [(&self.input, format!(" of {buses}, {:.3} s", self.span_s)), (&self.out, String::new())] {
            let _ = writeln!(text, "{}: {}{more}", side.file, counted(side.frames, "frame", "frames"));
            for LeftOut { what, count } in &side.left_out {
                let _ = writeln!(text, "  {what}: {count}");
            }
        }
        for Renamed { bus, number } in &self.renamed {
            let _ = writeln!(text, "  bus {bus} is number {number}");
        }
        text
    }
}

pub(in crate::cmd) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
