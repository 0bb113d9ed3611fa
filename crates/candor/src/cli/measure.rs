//! Arguments of the commands that measure gateways and report what was measured.

use std::path::PathBuf;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::units::{BitRate, parse_duration};
use clap::{Args, ValueEnum};

/// Measure the latency of gateways between two buses of this machine, one frame at a time.
///
/// Sends a tagged frame, waits for it on the far side, and takes the kernel's receive time stamps on the monitor and
/// on the far side. Each gateway file given is started as a process of its own, measured and stopped.
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
    /// Who comes first on a processor that tester and gateway share.
    #[arg(long, default_value = "auto")]
    pub(crate) policy: PolicyArg,
    /// Folder for the records.
    #[arg(long, value_name = "DIR")]
    pub(crate) records: PathBuf,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Scheduling policy of the tester.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PolicyArg {
    /// idle on a machine with a single processor, else fifo.
    Auto,
    /// SCHED_FIFO 95: the tester comes first and is never late.
    Fifo,
    /// SCHED_IDLE: the gateway comes first, so that the tester does not hold it up.
    Idle,
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

/// Make the table and the report of recorded measurements.
///
/// Exit status: 0 they were made, 2 they could not be.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// Record files or folders with records.
    #[arg(required = true)]
    pub(crate) records: Vec<PathBuf>,
    /// Write a self-contained HTML report here.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
