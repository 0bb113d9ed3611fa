//! Arguments of the commands that measure parts of the kernel by the papers' own methods.

use std::path::PathBuf;
use std::time::Duration;

use candor_config::placement::MAX_MAX_HOPS;
use candor_core::frame::Frame;
use candor_core::units::{BitRate, parse_duration_or_zero};
use candor_lab::experiment::load::Load;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

use super::measure::{StampArgs, TrafficArgs};

/// Measure what the system calls for frames take: read() and recvmmsg(), write() and sendmmsg(), for 1 to 50 000 frames.
///
/// The method of the report of 2014 (section 3.1, figure 4.1): frames are sent on a virtual interface until a socket with room for
/// all of them has them, and then read, each timed as a whole. The lines through the times say what one more frame takes. For a
/// machine whose clock counts instructions: `candor-lab run --testbed icount`.
///
/// Exit status: 0 it was measured, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabSystemCallsArgs {
    /// The virtual interface, on which nobody else may send.
    #[arg(long, value_name = "IFACE", default_value = "vcan0")]
    pub(crate) interface: String,
    /// Numbers of frames.
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = RangedU64ValueParser::<usize>::new().range(1..=50_000),
          default_value = "1,2,5,10,20,50,100,200,500,1000,2000,5000,10000,20000,30000,40000,50000")]
    pub(crate) points: Vec<usize>,
    /// Passes of each number, whose median counts.
    #[arg(long, default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub(crate) repeats: usize,
    /// Frame to send, in can-utils notation; a number replaces its first two payload bytes.
    #[arg(long, default_value = "123#0011223344556677")]
    pub(crate) frame: Frame,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure what it costs a program to hand a frame over, by what stands before the bus.
///
/// Gives an interface what each gateway file says in `[egress.BUS]`, and measures how long one write() takes, with the queue
/// empty. Nobody hears the frames. First it is measured as it is, and in the end it gets back what it had. For a machine with
/// one processor whose clock counts instructions: `candor-lab run --testbed icount`.
///
/// With --trace the kernel says of each frame how long its function can_send() took, as the reports of 2011 and 2012 measured
/// it; --set-ups has their configurations and frames.
///
/// Exit status: 0 it was measured, 1 a gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabCanSendArgs {
    /// Gateway files, one after another.
    #[arg(value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Where frames leave.
    #[arg(long, value_name = "IFACE")]
    pub(crate) interface: String,
    /// A frame to send, in can-utils notation (repeatable: each is measured by itself).
    #[arg(long = "frame", value_name = "FRAME", default_value = "123#0000")]
    pub(crate) sent: Vec<Frame>,
    /// Configurations of a paper, and their frames, after the gateway files. The queue holds 1000 frames meanwhile (txqueuelen).
    #[arg(long, value_name = "WHICH")]
    pub(crate) set_ups: Option<PaperSetUps>,
    /// Times before each frame (repeatable by commas: each is measured by itself); 0ms is as fast as can be.
    #[arg(long = "gap", value_name = "TIME,...", value_delimiter = ',', default_value = "1ms", value_parser = parse_duration_or_zero)]
    pub(crate) gaps: Vec<Duration>,
    /// Trace can_send() in the kernel, too (function_graph in tracefs; needs root).
    #[arg(long)]
    pub(crate) trace: bool,
    /// How often each frame is sent.
    #[arg(long, default_value_t = 100, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub(crate) frames: usize,
    /// Take these interfaces down before, so that nothing runs for them.
    #[arg(long, value_delimiter = ',', value_name = "IFACE,...")]
    pub(crate) down: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Configurations of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaperSetUps {
    /// The table of the note on em_canid of 2012: default_qdisc to prio_2last, in both formats.
    EmCanid,
    /// Figure 4.6 of the report of 2011: 1 to 512 rules, of which the last matches; 11 bits are its bitmap, 29 bits its array.
    #[value(name = "figure-4.6")]
    Figure46,
    /// Table 4.1 of that report: pfifo_fast to prio_sfq_inc (figures 4.5 and 4.7).
    #[value(name = "table-4.1")]
    Table41,
}

/// Measure what a frame takes for each further pass through the kernel's CAN layer and can-gw.
///
/// The experiment of the paper of 2011 with several hops (section 3.8, figure 15): chains of one route, of two, and so on, through
/// virtual interfaces that are made where they are missing (hop1, hop2, ...). Interrupt, softirq and driver are passed once by each
/// chain, so the line through the medians tells them from the passes. can-gw must allow as many hops as the longest chain has:
/// `candor-lab run --testbed icount --topology kvaser --module-parameter can_gw.max_hops=6 -- candor-lab hops --send can0
/// --monitor can1 --from can2 --to can3 --receive can4`.
///
/// Exit status: 0 it was measured, 1 some chain let no frame through, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabHopsArgs {
    /// Interface to send from.
    #[arg(long, value_name = "IFACE")]
    pub(crate) send: String,
    /// Interface that watches the first bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) monitor: String,
    /// Interface on the first bus that chains begin with.
    #[arg(long, value_name = "IFACE")]
    pub(crate) from: String,
    /// Interface on the second bus that chains end with.
    #[arg(long, value_name = "IFACE")]
    pub(crate) to: String,
    /// Interface that receives on the second bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) receive: String,
    /// Frames that leave the chain are heard on this machine, too: needed if `--to` is a virtual interface.
    #[arg(long)]
    pub(crate) echo: bool,
    /// Routes of the longest chain; each has one virtual interface fewer.
    #[arg(long, value_name = "N", default_value_t = MAX_MAX_HOPS, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_MAX_HOPS)))]
    pub(crate) routes: u8,
    /// What to send and how many times.
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure how far the tester's own stamps can be believed.
///
/// The study of the paper of 2011 (section 2.4): without any gateway, what the tester takes of a frame itself, by load of its
/// machine (figure 5), and by how much two taps on one bus differ in the same frame. With --wire-log, which candor-lab wire writes
/// meanwhile, also how evenly stamps follow the end of a frame on the wire; and with a gateway file total latencies through that gateway by
/// stamps and by the wire (figure 4): `candor-lab run --testbed icount --topology wire`.
///
/// Exit status: 0 it was measured, 1 the gateway file is not valid or no frame arrived, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabPrecisionArgs {
    /// A gateway file, for total latencies.
    #[arg(value_name = "GATEWAY", requires_all = ["wire_log", "receive"])]
    pub(crate) gateway: Option<PathBuf>,
    /// Interface to send from.
    #[arg(long, value_name = "IFACE")]
    pub(crate) send: String,
    /// Interface that watches the first bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) monitor: String,
    /// Interface on the first bus that is the second tap; nothing else may use it without a gateway.
    #[arg(long, value_name = "IFACE")]
    pub(crate) tap: String,
    /// Interface that receives on the second bus, with a gateway.
    #[arg(long, value_name = "IFACE", requires = "gateway")]
    pub(crate) receive: Option<String>,
    /// The log of candor-lab wire, as it is being written.
    #[arg(long, value_name = "FILE")]
    pub(crate) wire_log: Option<PathBuf>,
    /// Names of the first and the second bus in it.
    #[arg(long, value_names = ["FIRST", "SECOND"], num_args = 2, default_values = ["first", "second"])]
    pub(crate) buses: Vec<String>,
    /// Loads of this machine, each measured by itself, as in a plan.
    #[arg(long, value_delimiter = ',', value_name = "LOAD,...", default_value = "none,ethernet")]
    pub(crate) loads: Vec<Load>,
    /// What to send and how many times.
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) stamps: StampArgs,
    /// Nominal bit rate of the buses, whose frame time is subtracted. Leave it out where frames take no time.
    #[arg(long, value_name = "RATE")]
    pub(crate) wire_bitrate: Option<BitRate>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
