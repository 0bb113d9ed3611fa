//! Arguments of the commands that send without waiting for what comes back.

use std::path::PathBuf;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::units::{BitRate, parse_duration};
use candor_lab::bursts::Way;
use clap::Args;

/// Measure what a frame costs when several come at once.
///
/// The tester sends bursts with a priority above the gateway's, and a tap writes down when each frame leaves. What sending
/// and listening take is measured, too, and taken off. A gateway that waits for frames runs at SCHED_FIFO 90, one that never
/// waits as any process does. For a machine with one processor whose clock counts instructions: `candor-lab run --testbed icount`.
///
/// Exit status: 0 it was measured, 1 a gateway file is not valid or frames were lost, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabBurstsArgs {
    /// Gateway files to measure, one after another.
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Where frames come in and leave; SEND:FROM:TO where another interface sends (repeatable: all ways at once).
    #[arg(long = "way", required = true, value_name = "FROM:TO")]
    pub(crate) ways: Vec<Way>,
    /// Frames of a burst on each way.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) sizes: Vec<u16>,
    /// Bursts of each size.
    #[arg(long, default_value_t = 400)]
    pub(crate) bursts: u32,
    /// Bursts of each size before the first that counts.
    #[arg(long, default_value_t = 50)]
    pub(crate) warm_up: u32,
    /// Measure frames that come alone, too: from a timer, between the taps at both interfaces of the first way.
    #[arg(long)]
    pub(crate) single: bool,
    /// After each gateway with an engine of user space measure its baseline loop, too (`candor-lab baseline`).
    #[arg(long)]
    pub(crate) baselines: bool,
    /// Make those interfaces that are missing, as virtual ones; they stay.
    #[arg(long)]
    pub(crate) create: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Send frames with a fixed period to gateways, and tell what they make of them: latencies, losses, what is left behind.
///
/// The tester comes before the gateway and keeps the period, whatever the gateway does; the figures name the period that the
/// frames had as they came in. What the tester itself takes of a period is measured first.
///
/// Exit status: 0 it was measured, 1 a gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabStreamArgs {
    /// Gateway files to measure, one after another.
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Where frames come in and leave; SEND:FROM:TO where another interface sends.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) way: Way,
    /// Times from frame to frame, one stream for each.
    #[arg(long, value_delimiter = ',', required = true, value_name = "TIME,...", value_parser = parse_duration)]
    pub(crate) periods: Vec<Duration>,
    /// Frames of a stream.
    #[arg(long, default_value_t = 3200, value_parser = clap::value_parser!(u32).range(2..=8000))]
    pub(crate) frames: u32,
    /// Frame to send, in can-utils notation; a number replaces its first payload byte.
    #[arg(long, default_value = "123#0000")]
    pub(crate) frame: Frame,
    /// Take these interfaces down before, so that nothing runs for them.
    #[arg(long, value_delimiter = ',', value_name = "IFACE,...")]
    pub(crate) down: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Load a gateway for long: is a frame lost, doubled or out of order, does its memory grow?
///
/// Exit status: 0 every frame left once and in order, and the memory stayed; 1 not so, or the gateway file is not valid; 2
/// it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabSoakArgs {
    /// The gateway file.
    #[arg(value_name = "GATEWAY")]
    pub(crate) gateway: PathBuf,
    /// Where frames come in and leave; SEND:FROM:TO where another interface sends.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) way: Way,
    /// How long.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// Share of the bus that the frames take, in percent.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) load: u8,
    /// Bit rate that the load is of. Virtual and emulated buses have none of their own.
    #[arg(long, value_name = "RATE", default_value = "1Mbit/s")]
    pub(crate) bitrate: BitRate,
    /// Frame to send, in can-utils notation; a number replaces its first payload byte.
    #[arg(long, default_value = "123#0011223344556677")]
    pub(crate) frame: Frame,
    /// Take these interfaces down before, so that nothing runs for them.
    #[arg(long, value_delimiter = ',', value_name = "IFACE,...")]
    pub(crate) down: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
