//! Arguments of the commands that measure gateways and parts of the kernel by a method of their own.

use std::path::PathBuf;
use std::time::Duration;

use candor_config::placement::MAX_MAX_HOPS;
use candor_core::frame::Frame;
use candor_core::units::{BitRate, parse_duration, parse_duration_or_zero};
use candor_lab::bursts::Way;
use candor_lab::experiment::load::Load;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

use super::tester::{InterfaceArgs, StampArgs, TrafficArgs};

/// Measure system calls for frames: read() and recvmmsg(), write() and sendmmsg(), for 1 to 50 000 frames.
///
/// The method of the 2014 report (section 3.1, figure 4.1): frames are sent on a virtual interface until a socket with a large enough
/// buffer holds them all, then read; each direction is timed as a whole. The slopes of the lines through the times are the cost per
/// frame. For a machine that counts instructions: `candor-lab run --testbed icount`.
///
/// Exit status: 0 measured, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabSystemCallsArgs {
    /// Virtual interface without other senders.
    #[arg(long, value_name = "IFACE", default_value = "vcan0")]
    pub(crate) interface: String,
    /// Numbers of frames.
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = RangedU64ValueParser::<usize>::new().range(1..=50_000),
          default_value = "1,2,5,10,20,50,100,200,500,1000,2000,5000,10000,20000,30000,40000,50000")]
    pub(crate) points: Vec<usize>,
    /// Passes for each number, of which the median is used.
    #[arg(long, default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub(crate) repeats: usize,
    /// Frame to send, in can-utils notation; a number replaces its first two payload bytes.
    #[arg(long, default_value = "123#0011223344556677")]
    pub(crate) frame: Frame,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure the latency of write() under different queueing disciplines.
///
/// Applies `[egress.BUS]` of each gateway file to an interface, and measures single write() calls with an empty queue and without
/// receivers. The interface is measured first as it is, and restored at the end. For a machine with one CPU that counts
/// instructions: `candor-lab run --testbed icount`.
///
/// With --trace the kernel records the duration of its function can_send() for each frame, as in the reports of 2011 and 2012;
/// --set-ups has their configurations and frames.
///
/// Exit status: 0 measured, 1 a gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabCanSendArgs {
    /// Gateway files, one after another.
    #[arg(value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Interface to send on.
    #[arg(long, value_name = "IFACE")]
    pub(crate) interface: String,
    /// Frame to send, in can-utils notation (repeatable: each is measured separately).
    #[arg(long = "frame", value_name = "FRAME", default_value = "123#0000")]
    pub(crate) sent: Vec<Frame>,
    /// Configurations and frames of a paper, after the gateway files. The queue holds 1000 frames then (txqueuelen).
    #[arg(long, value_name = "WHICH")]
    pub(crate) set_ups: Option<PaperSetUps>,
    /// Pauses before each frame (each is measured separately); 0ms is as fast as possible.
    #[arg(long = "gap", value_name = "TIME,...", value_delimiter = ',', default_value = "1ms", value_parser = parse_duration_or_zero)]
    pub(crate) gaps: Vec<Duration>,
    /// Trace can_send() in the kernel, too (function_graph in tracefs; needs root).
    #[arg(long)]
    pub(crate) trace: bool,
    /// Repetitions of each frame.
    #[arg(long, default_value_t = 100, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub(crate) frames: usize,
    /// Set these interfaces down first, to avoid their overhead.
    #[arg(long, value_delimiter = ',', value_name = "IFACE,...")]
    pub(crate) down: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Configurations of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaperSetUps {
    /// The table of the 2012 note on em_canid: default_qdisc to prio_2last, in both formats.
    EmCanid,
    /// Figure 4.6 of the 2011 report: 1 to 512 rules, of which the last matches; 11 bits use its bitmap, 29 bits its array.
    #[value(name = "figure-4.6")]
    Figure46,
    /// Table 4.1 of that report: pfifo_fast to prio_sfq_inc (figures 4.5 and 4.7).
    #[value(name = "table-4.1")]
    Table41,
}

/// Measure the cost of each further pass through the kernel's CAN layer and can-gw.
///
/// The multi-hop experiment of the 2011 paper (section 3.8, figure 15): chains of one route, of two, and so on, through virtual
/// interfaces that are created if necessary (hop1, hop2, ...). Every chain passes interrupt, softirq and driver once, so the line
/// through the medians separates them from the passes. can-gw must allow as many hops as the longest chain has (max_hops).
///
/// Exit status: 0 measured, 1 a chain forwarded no frame, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab run --testbed icount --topology kvaser --module-parameter can_gw.max_hops=6 -- \\
      candor-lab hops --send can0 --monitor can1 --from can2 --to can3 --receive can4")]
pub(crate) struct LabHopsArgs {
    #[command(flatten)]
    pub(crate) interfaces: InterfaceArgs,
    /// First interface of the chains, on the first bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) from: String,
    /// Last interface of the chains, on the second bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) to: String,
    /// Loop frames back at the end of the chain; required if `--to` is a virtual interface.
    #[arg(long)]
    pub(crate) echo: bool,
    /// Routes of the longest chain, which has one virtual interface fewer.
    #[arg(long, value_name = "N", default_value_t = MAX_MAX_HOPS, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_MAX_HOPS)))]
    pub(crate) routes: u8,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure the accuracy of the tester's timestamps.
///
/// The study of the 2011 paper (section 2.4): without a gateway, the tester's own share of the latency, by load of its machine
/// (figure 5), and the difference between two taps on one bus for the same frame. With --wire-log, the log of a running candor-lab
/// wire, also the jitter of stamps relative to the end of a frame on the bus; and with a gateway file, total latencies through that
/// gateway by stamps and by the bus (figure 4): `candor-lab run --testbed icount --topology wire`.
///
/// Exit status: 0 measured, 1 the gateway file is not valid or no frame arrived, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabPrecisionArgs {
    /// Gateway file, for total latencies.
    #[arg(value_name = "GATEWAY", requires_all = ["wire_log", "receive"])]
    pub(crate) gateway: Option<PathBuf>,
    /// Interface to send on.
    #[arg(long, value_name = "IFACE")]
    pub(crate) send: String,
    /// Interface that monitors the first bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) monitor: String,
    /// Interface on the first bus for the second tap, unused except by a gateway.
    #[arg(long, value_name = "IFACE")]
    pub(crate) tap: String,
    /// Interface that receives on the second bus, with a gateway.
    #[arg(long, value_name = "IFACE", requires = "gateway")]
    pub(crate) receive: Option<String>,
    /// Log of a running candor-lab wire.
    #[arg(long, value_name = "FILE")]
    pub(crate) wire_log: Option<PathBuf>,
    /// Names of the first and the second bus in the log.
    #[arg(long, value_names = ["FIRST", "SECOND"], num_args = 2, default_values = ["first", "second"])]
    pub(crate) buses: Vec<String>,
    /// Loads of this machine, as in a plan (each is measured separately).
    #[arg(long, value_delimiter = ',', value_name = "LOAD,...", default_value = "none,ethernet")]
    pub(crate) loads: Vec<Load>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) stamps: StampArgs,
    /// Nominal bit rate of the buses, whose frame time is subtracted. Omit it where frames take no time.
    #[arg(long, value_name = "RATE")]
    pub(crate) wire_bitrate: Option<BitRate>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure the cost of a frame in a burst.
///
/// The tester sends bursts with a priority above that of the gateway, and a tap records when each frame leaves. The cost of sending
/// and tapping is measured, too, and subtracted. A gateway that waits for frames runs at SCHED_FIFO 90, one that polls as a normal
/// process. For a machine with one CPU that counts instructions: `candor-lab run --testbed icount`.
///
/// Exit status: 0 measured, 1 a gateway file is not valid or frames were lost, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabBurstsArgs {
    /// Gateway files to measure, one after another.
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Interfaces of the gateway; SEND:FROM:TO to send on another interface (repeatable: all at once).
    #[arg(long = "way", required = true, value_name = "FROM:TO")]
    pub(crate) ways: Vec<Way>,
    /// Frames of a burst on each way.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) sizes: Vec<u16>,
    /// Bursts of each size.
    #[arg(long, default_value_t = 400)]
    pub(crate) bursts: u32,
    /// Bursts of each size before the first measured one.
    #[arg(long, default_value_t = 50)]
    pub(crate) warm_up: u32,
    /// Measure single frames, too: sent by a timer, between taps at both interfaces of the first way.
    #[arg(long)]
    pub(crate) single: bool,
    /// After each gateway with a user-space engine, measure its baseline loop (`candor-lab baseline`).
    #[arg(long)]
    pub(crate) baselines: bool,
    /// Create missing interfaces as virtual ones; they are kept.
    #[arg(long)]
    pub(crate) create: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Send frames with a fixed period to gateways, and report latencies, losses and backlog.
///
/// The tester has a higher priority than the gateway and keeps the period; the figures include the measured period of the frames.
/// The share of the tester in a period is measured first.
///
/// Exit status: 0 measured, 1 a gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabStreamArgs {
    /// Gateway files to measure, one after another.
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Interfaces of the gateway; SEND:FROM:TO to send on another interface.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) way: Way,
    /// Periods of frames, one stream for each.
    #[arg(long, value_delimiter = ',', required = true, value_name = "TIME,...", value_parser = parse_duration)]
    pub(crate) periods: Vec<Duration>,
    /// Frames of a stream.
    #[arg(long, default_value_t = 3200, value_parser = clap::value_parser!(u32).range(2..=8000))]
    pub(crate) frames: u32,
    /// Frame to send, in can-utils notation; a number replaces its first payload byte.
    #[arg(long, default_value = "123#0000")]
    pub(crate) frame: Frame,
    /// Set these interfaces down first, to avoid their overhead.
    #[arg(long, value_delimiter = ',', value_name = "IFACE,...")]
    pub(crate) down: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a gateway under load for a long time: detect lost, duplicate and reordered frames, and memory growth.
///
/// Exit status: 0 every frame left once and in order, and the memory did not grow; 1 otherwise, or the gateway file is not valid;
/// 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabSoakArgs {
    /// Gateway file.
    #[arg(value_name = "GATEWAY")]
    pub(crate) gateway: PathBuf,
    /// Interfaces of the gateway; SEND:FROM:TO to send on another interface.
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) way: Way,
    /// Duration.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// Bus load of the frames, in percent.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) load: u8,
    /// Bit rate for which the load is computed. Virtual and emulated buses have none.
    #[arg(long, value_name = "RATE", default_value = "1Mbit/s")]
    pub(crate) bitrate: BitRate,
    /// Frame to send, in can-utils notation; a number replaces its first payload byte.
    #[arg(long, default_value = "123#0011223344556677")]
    pub(crate) frame: Frame,
    /// Set these interfaces down first, to avoid their overhead.
    #[arg(long, value_delimiter = ',', value_name = "IFACE,...")]
    pub(crate) down: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
