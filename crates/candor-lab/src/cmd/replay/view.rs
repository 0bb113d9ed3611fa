//! What was sent, and how late.

use std::fmt::Write as _;

use candor_lab::stats::{Quantile, Series};
use serde::Serialize;

use super::lane::Lane;
use super::reading::Read;
use crate::cli::ReplayArgs;
use crate::cmd::convert::{LeftOut, counted, files};
use crate::cmd::method::{Distribution, table};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View {
    file: String,
    speed: f64,
    /// Sent.
    frames: u64,
    /// From the time at which the first frame was due until the last one was sent.
    took_s: f64,
    onto: Vec<OntoView>,
    /// Frames of FILE that were not sent.
    left_out: Vec<LeftOut>,
    /// Buses of FILE that --onto does not name.
    other_buses: Vec<OtherBus>,
    /// Frames with times before those of earlier frames, which were sent at once.
    unordered: u64,
    /// Where and why reading ended before the end.
    ended_at: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OntoView {
    /// `null`: all buses that have no other interface.
    bus: Option<String>,
    interface: String,
    frames: u64,
    /// `null` without a frame.
    late: Option<Distribution>,
    /// Calls that a full queue refused, and that were repeated.
    refused: u64,
    /// Frames that the interface cannot send.
    unfit: u64,
    #[serde(skip)]
    series: Option<Series>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OtherBus {
    bus: String,
    frames: u64,
}

impl View {
    pub(super) fn of(args: &ReplayArgs, lanes: Vec<Lane>, read: &Read, unordered: u64, took_ns: i64) -> Self {
        let onto = lanes.into_iter().map(|lane| {
            let (frames, series) = (lane.late.frames, lane.late.series());
            let late = series.as_ref().map(Distribution::of);
            let (bus, interface) = (lane.onto.bus, lane.onto.interface);
            OntoView { bus, interface, frames, late, refused: lane.refused, unfit: lane.unfit, series }
        });
        let onto: Vec<_> = onto.collect();
        let others = read.others.iter().map(|(bus, frames)| OtherBus { bus: bus.clone(), frames: *frames });
        Self {
            file: files::name(&args.file),
            speed: args.speed,
            frames: onto.iter().map(|onto| onto.frames).sum(),
            took_s: took_ns as f64 / 1e9,
            onto,
            left_out: LeftOut::of(&read.left_out),
            other_buses: others.collect(),
            unordered,
            ended_at: read.ended.as_ref().map(ToString::to_string),
        }
    }

    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }

    pub(super) fn text(&self) -> String {
        let frames = counted(self.frames, "frame", "frames");
        let mut text = format!("{}: {frames} sent in {:.3} s", self.file, self.took_s);
        if (self.speed - 1.0).abs() > f64::EPSILON {
            let _ = write!(text, ", at {} times the speed", self.speed);
        }
        text += "; late in µs:\n\n";
        let rows = self.onto.iter().map(|onto| {
            let late = |quantile| {
                let series = onto.series.as_ref();
                series
                    .map_or_else(|| "-".to_owned(), |series| format!("{:.1}", series.quantile(quantile).microseconds()))
            };
            let max =
                onto.series.as_ref().map_or_else(|| "-".to_owned(), |late| format!("{:.1}", late.max().microseconds()));
            let bus = onto.bus.as_deref().unwrap_or("others");
            let name = format!("{bus} onto {}", onto.interface);
            let [p50, p99] = [Quantile::P50, Quantile::P99].map(late);
            vec![name, onto.frames.to_string(), p50, p99, max, onto.refused.to_string()]
        });
        text += &table(["bus", "frames", "p50", "p99", "max", "refused by a full queue"], rows);
        for LeftOut { what, count } in &self.left_out {
            let _ = writeln!(text, "  {what}: {count}");
        }
        for OtherBus { bus, frames } in &self.other_buses {
            let _ = writeln!(text, "  frames of {bus} left out: {frames}; --onto {bus}=INTERFACE sends them");
        }
        for OntoView { interface, unfit, .. } in self.onto.iter().filter(|onto| onto.unfit > 0) {
            let _ = writeln!(text, "  frames that {interface} cannot send, such as CAN FD: {unfit}");
        }
        if self.unordered > 0 {
            let _ =
                writeln!(text, "  frames with a time before that of an earlier one, sent at once: {}", self.unordered);
        }
        text
    }
}
