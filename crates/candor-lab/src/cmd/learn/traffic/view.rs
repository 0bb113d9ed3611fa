//! The output of `candor learn traffic`: `[[traffic]]` tables, and JSON.

use std::fmt::Write as _;
use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_core::frame::FrameFormat;
use candor_learn::{Arrivals, duration, name};
use serde::Serialize;

use super::{Learned, Logs};

/// Logs below this miss what is rarely sent.
const SHORT_S: f64 = 600.0;

/// What no log has.
const NOT_SHOWN: &str = "\
# A log does not show
#   who sends a frame: each message is a node of its own, until there is sender = \"NODE\"
#   the shortest gap that can occur, only the shortest one that did
#   when a frame was due: times are those of its end on the bus, so jitter contains what it waited for the bus, and bounds
#   count this again
#   deadlines: without one, it is the period or min-gap
#   messages that were not sent
";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View {
    files: Vec<String>,
    buses: Vec<Bus>,
    /// By bus and identifier.
    messages: Vec<Message>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Bus {
    name: String,
    duration_s: f64,
    frames: usize,
    error_frames: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Message {
    bus: String,
    id_hex: String,
    frames: usize,
    remote_frames: usize,
    /// Longest payload.
    length_byte: u8,
    /// `classic` or `fd`.
    format: &'static str,
    bit_rate_switch: bool,
    /// null: it has no period.
    period_ns: Option<u64>,
    /// The least that explains all frames with this period.
    jitter_ns: Option<u64>,
    /// The shortest gap that was seen; null with one frame.
    min_gap_ns: Option<u64>,
    median_gap_ns: Option<u64>,
    /// Why there is no table for it.
    left_out: Option<String>,
    /// The table, for a gateway file.
    traffic: Option<String>,
}

/// The lines of a gateway file.
fn table(one: &Learned) -> Option<String> {
    let (period, jitter) = one.timing()?;
    let text = |time: Duration| duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let key = if matches!(one.arrivals, Arrivals::Cyclic { .. }) { "period" } else { "min-gap" };
    let mut table =
        format!("[[traffic]]\nbus = {:?}\nid = \"{}\"\nlength = {}\n", one.bus, name(one.id), one.shape.len);
    if one.shape.format == FrameFormat::Fd {
        table += "frames = \"fd\"\n";
        if !one.shape.bit_rate_switch {
            table += "bit-rate-switch = false\n";
        }
    }
    let _ = writeln!(table, "{key} = \"{}\"", text(period));
    if !jitter.is_zero() {
        let _ = writeln!(table, "jitter = \"{}\"", text(jitter));
    }
    Some(table)
}

impl View {
    pub(super) fn of(logs: &Logs, learned: &[Learned]) -> Self {
        let bus = |(name, bus): (&String, &super::logs::LoggedBus)| Bus {
            name: name.clone(),
            duration_s: bus.seconds(),
            frames: bus.frames(),
            error_frames: bus.error_frames,
        };
        let message = |one: &Learned| {
            let (period_ns, jitter_ns) = match one.arrivals {
                Arrivals::Cyclic { period_ns, jitter_ns } => (Some(period_ns), Some(jitter_ns)),
                Arrivals::Sporadic { .. } | Arrivals::Once => (None, None),
            };
            Message {
                bus: one.bus.clone(),
                id_hex: name(one.id),
                frames: one.frames,
                remote_frames: one.shape.remote,
                length_byte: one.shape.len,
                format: if one.shape.format == FrameFormat::Fd { "fd" } else { "classic" },
                bit_rate_switch: one.shape.bit_rate_switch,
                period_ns,
                jitter_ns,
                min_gap_ns: one.gaps.map(|gaps| gaps.min_ns),
                median_gap_ns: one.gaps.map(|gaps| gaps.median_ns),
                left_out: one.left_out.clone(),
                traffic: table(one).filter(|_| one.left_out.is_none()),
            }
        };
        Self {
            files: logs.names.clone(),
            buses: logs.buses.iter().map(bus).collect(),
            messages: learned.iter().map(message).collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::from("# Traffic, learned by candor-lab learn traffic.\n");
        for file in &self.files {
            let _ = writeln!(text, "#   {}", file.replace(['\n', '\r'], " "));
        }
        for bus in &self.buses {
            let ids = self.messages.iter().filter(|one| one.bus == bus.name).count();
            let (frames, ids) = (plural(bus.frames, "frame"), plural(ids, "identifier"));
            let _ = write!(text, "# {}: {frames} of {ids} in {:.1} s", bus.name, bus.duration_s);
            if bus.error_frames > 0 {
                let _ =
                    write!(text, ", and {}: see --errors of candor bounds", plural(bus.error_frames, "error frame"));
            }
            text += "\n";
        }
        if self.buses.iter().any(|bus| bus.duration_s < SHORT_S) {
            text += "#\n# Warning: the logs are short. Record at least 10 minutes, with everything that the vehicle does.\n";
        }
        text += "#\n";
        text += NOT_SHOWN;
        for one in &self.messages {
            match &one.traffic {
                Some(table) => {
                    let _ = write!(text, "\n{}{table}", one.about());
                }
                None => {
                    let _ = writeln!(text, "\n# left out: {}", one.left_out.as_deref().unwrap_or_default());
                }
            }
        }
        text
    }
}

impl Message {
    fn about(&self) -> String {
        let ms = |ns: Option<u64>| format!("{:.3} ms", ns.unwrap_or_default() as f64 / 1e6);
        let mut text = format!("# {}", plural(self.frames, "frame"));
        if self.remote_frames > 0 {
            let _ = write!(text, ", and {} that the table does not have", plural(self.remote_frames, "remote frame"));
        }
        let _ = write!(text, "; gaps: shortest {}, median {}", ms(self.min_gap_ns), ms(self.median_gap_ns));
        if self.period_ns.is_none() {
            text += "; no period";
        }
        if self.min_gap_ns == Some(0) {
            text += "; frames with the same time: write the true min-gap";
        }
        text + "\n"
    }
}
