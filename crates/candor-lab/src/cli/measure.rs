//! Arguments of the commands that measure gateways and report what was measured.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::realtime::{RtPriority, Sched};
use candor_core::units::{BitRate, parse_duration};
use candor_io::schedule::Policy;
use candor_lab::tester::StampSource;
use clap::{Args, ValueEnum};

/// Measure the latency of gateways between two buses of this machine, one frame at a time.
///
/// Sends a tagged frame, waits for it on the far side, and takes the receive time stamps of the kernel, or of the adapter, on the
/// monitor and on the far side. Each gateway file given is started as a process of its own, measured and stopped.
///
/// Exit status: 0 it was measured, 1 a gateway file is not valid or no frame arrived, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct TesterArgs {
    /// Gateway files to measure, one after another (or none: something else forwards the frames).
    #[arg(value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Interface to send from.
    #[arg(long, value_name = "IFACE")]
    pub(crate) send: String,
    /// Interface that watches the first bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) monitor: String,
    /// Interface that receives on the second bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) receive: String,
    /// What to send and how many times.
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Nominal bit rate of the second bus, whose frame time is subtracted. Leave it out where frames take no time.
    #[arg(long, value_name = "RATE")]
    pub(crate) wire_bitrate: Option<BitRate>,
    /// Data-phase bit rate of the second bus.
    #[arg(long, value_name = "RATE", requires = "wire_bitrate")]
    pub(crate) wire_data_bitrate: Option<BitRate>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    #[command(flatten)]
    pub(crate) stamps: StampArgs,
    /// Folder for the records.
    #[arg(long, value_name = "DIR")]
    pub(crate) records: PathBuf,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How tester and gateways share what they have. All gateways of one command are measured under the same conditions.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ConditionArgs {
    /// What sends the frames: `call`, the tester itself, or `timer`, the kernel while the tester sleeps (needs can-bcm).
    /// `auto` is `timer` where an engine that never waits (readnb, mmapbusy) would share the only processor with the
    /// tester, else `call`.
    #[arg(long, value_name = "auto|call|timer", default_value = "auto", hide_possible_values = true)]
    pub(crate) frames_from: FramesFrom,
    /// Scheduling policy of the tester. `idle`: the gateway comes first, so that the tester does not hold it up; `fifo`
    /// (as `fifo:95`): the tester comes first and is never late; `other`: as the gateway. `auto` is `idle` where they share
    /// the only processor and the tester sends, else `fifo`.
    #[arg(long, value_name = "auto|idle|other|fifo|fifo:N|rr:N", default_value = "auto")]
    pub(crate) policy: TesterPolicy,
    /// After each gateway with an engine of user space measure its baseline loop, too: the same system calls without rules
    /// (`candor-lab baseline`). The figures between the two are what candor costs.
    #[arg(long)]
    pub(crate) baselines: bool,
}

/// Whose stamps are taken.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StampArgs {
    /// Whose receive stamps are taken: the `kernel`'s, or with `hardware` those that the adapter takes on the wire. For these the
    /// monitor and the far side have to be channels of one adapter, because two have two clocks.
    #[arg(long = "stamps", value_name = "kernel|hardware", default_value = "kernel", hide_possible_values = true)]
    from: StampsFrom,
}

impl StampArgs {
    /// What the tester calls it.
    pub(crate) const fn source(self) -> StampSource {
        match self.from {
            StampsFrom::Hardware => StampSource::Hardware,
            StampsFrom::Kernel => StampSource::Kernel,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StampsFrom {
    Hardware,
    Kernel,
}

/// What sends the frames of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FramesFrom {
    Auto,
    Call,
    Timer,
}

/// Scheduling policy of the tester; `None` is for candor to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TesterPolicy(pub(crate) Option<Policy>);

impl TesterPolicy {
    /// Above every gateway, below the kernel's own threads that a gateway depends on.
    pub(crate) const FIFO: Policy = Policy::Fifo(RtPriority::new(95).expect("95 is between 1 and 99"));
}

impl FromStr for TesterPolicy {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let policy = match written {
            "auto" => None,
            "idle" => Some(Policy::Idle),
            "fifo" => Some(Self::FIFO),
            _ => Some(
                written
                    .parse::<Sched>()
                    .map_err(|error| format!("{error}; it takes auto, idle, other, fifo, fifo:N or rr:N"))?
                    .into(),
            ),
        };
        Ok(Self(policy))
    }
}

impl fmt::Display for TesterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(Policy::Idle) => f.write_str("idle"),
            Some(Policy::Normal) => f.write_str("other"),
            Some(Policy::Fifo(priority)) => write!(f, "fifo:{priority}"),
            Some(Policy::RoundRobin(priority)) => write!(f, "rr:{priority}"),
        }
    }
}

/// The traffic of a measurement.
#[derive(Args, Debug)]
pub(crate) struct TrafficArgs {
    /// Frames to measure for each gateway.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) frames: u32,
    /// Frame to send, in can-utils notation; a number replaces its first two payload bytes.
    #[arg(long, default_value = "123#0000")]
    pub(crate) frame: Frame,
    /// Frames before the first that counts.
    #[arg(long, default_value_t = 500)]
    pub(crate) warm_up: u32,
    /// Shortest pause between a reception and the next frame.
    #[arg(long, value_name = "TIME", default_value = "500us", value_parser = parse_duration)]
    pub(crate) gap_min: Duration,
    /// Longest pause between a reception and the next frame.
    #[arg(long, value_name = "TIME", default_value = "1500us", value_parser = parse_duration)]
    pub(crate) gap_max: Duration,
    /// Seed of the random pauses.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// When a frame counts as lost.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub(crate) lost_after: Duration,
}

/// Make the table and the report of recorded measurements, or of a plan.
///
/// A folder that candor-lab measure has filled is reported as a whole: each cell of its plan with its figures, and with --html a map of
/// all cells. Nothing is measured.
///
/// The files of frames have a row for each frame, with the levels of its cell beside its times in ns; docs/plans.md tells their
/// columns.
///
/// Exit status: 0 they were made, 2 they could not be.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Record files or folders with records; or one folder with the results of a plan.
    #[arg(required = true)]
    pub(crate) records: Vec<PathBuf>,
    /// Write a self-contained HTML report here.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write a table of all cells as Markdown here.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write all frames as comma-separated values here.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write all frames as JSON here, one on each line.
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Write all frames as Parquet here.
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written() {
        for written in ["auto", "idle", "other", "fifo:1", "fifo:99", "rr:1"] {
            assert_eq!(written.parse::<TesterPolicy>().map(|policy| policy.to_string()).as_deref(), Ok(written));
        }
        assert_eq!("fifo".parse(), Ok(TesterPolicy(Some(TesterPolicy::FIFO))));
        for wrong in ["", "fifo:", "fifo:0", "fifo:100", "fifo:x", "rr"] {
            assert!(wrong.parse::<TesterPolicy>().is_err(), "{wrong}");
        }
    }
}
