//! The command line as types. Help, completions and man pages all come from here.

mod conformance;
mod state;

pub(crate) use conformance::ConformanceArgs;
pub(crate) use state::{ApplyArgs, DownArgs, ForeignArgs, NetnsArgs, PlanArgs, StatusArgs};

use std::path::PathBuf;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::units::{BitRate, parse_duration};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cmd::check::{AllowedCode, Denied, ExplainedCode};

/// A CAN gateway for Linux whose timing can be believed.
///
/// One file says which frames cross from which bus to which and how they are changed. candor puts that into the
/// kernel (can-gw) or runs it in user space, and measures what each choice costs.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(CheckArgs),
    Explain(ExplainArgs),
    #[command(subcommand)]
    Import(ImportCommand),
    Run(RunArgs),
    Plan(PlanArgs),
    Apply(ApplyArgs),
    Status(StatusArgs),
    Down(DownArgs),
    Show(ShowArgs),
    Tester(TesterArgs),
    Conformance(ConformanceArgs),
    Report(ReportArgs),
    #[command(subcommand)]
    Lab(LabCommand),
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// Keeps a laboratory guest from outliving the candor that started it.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// Say whether a gateway file is right, and everything that is wrong with it.
///
/// Nothing is sent to the kernel.
///
/// Exit status: 0 the file is valid, 1 it is not or has findings that are denied, 2 it could not be read.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The gateway file (candor.toml); - is standard input.
    #[arg(required_unless_present = "explain")]
    pub(crate) file: Option<PathBuf>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 if there are findings of this code, or any warnings (repeatable).
    #[arg(long, value_name = "CODE|warnings")]
    pub(crate) deny: Vec<Denied>,
    /// Leave out warnings or notes of this code (repeatable).
    #[arg(long, value_name = "CODE")]
    pub(crate) allow: Vec<AllowedCode>,
    /// Say what a code means and what to do about its findings, such as W0601.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["file", "json", "deny", "allow"])]
    pub(crate) explain: Option<ExplainedCode>,
}

/// Explain what becomes of a frame: every rule that takes it, the frame after each step, and which counter moves.
///
/// Nothing is sent and no gateway need run: the answer comes from the file. Where no rule takes the frame, the nearest
/// misses are told.
///
/// Exit status: 0 it was explained, 1 the file is not valid, 2 it could not be explained (an unknown bus, for example).
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: PathBuf,
    /// Bus on which the frame comes in: its name in the file, or its interface.
    #[arg(long, value_name = "BUS")]
    pub(crate) on: String,
    /// Frame in can-utils notation, for example 123#1122, 12345678#R, 123##1AABB (repeatable).
    #[arg(long, value_name = "FRAME", required = true)]
    pub(crate) frame: Vec<Frame>,
    /// Tell of every other route from this bus why it does not take the frame.
    #[arg(long)]
    pub(crate) all: bool,
    /// Explain this engine instead of the one that the file names.
    #[arg(long)]
    pub(crate) engine: Option<EngineArg>,
    /// Look at this machine: which interfaces are up, how large their frames are, how many hops can-gw allows.
    #[arg(long)]
    pub(crate) live: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a gateway file of what other tools have.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    Cangw(ImportCangwArgs),
}

/// Read can-gw jobs from cangw commands, from a script with them, or from what `cangw -L` prints.
///
/// Prints the gateway file, and on standard error what may not be meant as written and what was left out. Nothing runs,
/// and nothing is sent to the kernel: what only a running script could know is an error.
///
/// Exit status: 0 every job was imported, 1 something cannot be imported and nothing was written, 2 it could not be
/// read or written.
#[derive(Args, Debug)]
pub(crate) struct ImportCangwArgs {
    /// The script or listing; - is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Write the gateway file here and not to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it is there already.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Read it as this (default: a listing if every line ends with counters and the first is not #!).
    #[arg(long = "as", value_name = "FORM")]
    pub(crate) form: Option<ImportForm>,
}

/// How the order of the lines is to be understood.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImportForm {
    /// What `cangw -L` prints: the first line is delivered to first.
    Listing,
    /// Commands: the last one is delivered to first.
    Script,
}

/// Run the gateway of a file until SIGINT or SIGTERM.
///
/// Prints what it did, and the counters of every route at the end. Leaves nothing behind.
///
/// Exit status: 0 it ran until the signal, 1 the file is not valid, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: PathBuf,
    /// Print the counters at this interval, for example 1s or 500ms.
    #[arg(long, value_name = "INTERVAL", value_parser = parse_duration)]
    pub(crate) stats: Option<Duration>,
    /// Run this engine instead of the one that the file names.
    #[arg(long)]
    pub(crate) engine: Option<EngineArg>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EngineArg {
    /// Each route in the kernel if can-gw can do it, otherwise in user space.
    Auto,
    /// can-gw jobs in the kernel.
    Kernel,
    /// A user-space gateway: read(), compiled rules, write().
    ReadWrite,
}

/// Show the gateway of a file: as a picture, as cangw commands, as a graph.
///
/// Exit status: 0 it was shown, 1 the file is not valid, 2 it could not be read.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: PathBuf,
    /// Print the gateway in this form (default: tree).
    #[arg(long = "as", value_name = "FORM", conflicts_with_all = ["dot", "json"])]
    pub(crate) form: Option<ShowForm>,
    /// Print a graph for Graphviz's dot.
    #[arg(long, conflicts_with = "json")]
    pub(crate) dot: bool,
    /// Print the checked gateway as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ShowForm {
    /// cangw commands that install the same jobs.
    Cangw,
    /// A text tree.
    Tree,
}

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

/// Virtual laboratories: real kernels with CAN on a machine that has none.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    Run(LabRunArgs),
    Shell(LabShellArgs),
    Kernels(LabKernelsArgs),
    Measure(LabMeasureArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TestbedArg {
    /// User-mode Linux: real CAN stack as a process, boots in seconds; its times mean nothing.
    Uml,
    /// QEMU with an instruction-counted clock: 1 ns is one instruction, runs repeat exactly.
    Icount,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TopologyArg {
    /// vcan0, vcan1, vcan2.
    Vcan,
    /// can0 to can4 on two buses of emulated Kvaser PCI cards, as in Figure 1 of the 2011 paper (icount only).
    Kvaser,
}

#[derive(Args, Debug)]
pub(crate) struct GuestArgs {
    /// Which laboratory.
    #[arg(long, default_value = "uml")]
    pub(crate) testbed: TestbedArg,
    /// Kernel by its name in `candor lab kernels` (icount; default: Debian stable).
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Interfaces of the guest.
    #[arg(long, default_value = "vcan")]
    pub(crate) topology: TopologyArg,
    /// Put this file into the guest's working directory (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) copy: Vec<PathBuf>,
    /// Put this program and the libraries it needs into the guest's PATH; can-utils are fetched where they are missing
    /// (repeatable).
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
    /// Set this variable for the command (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// An instruction lasts 2^SHIFT ns (icount only).
    #[arg(long, value_name = "SHIFT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=10))]
    pub(crate) shift: u8,
    /// End the guest after this time on the host's clock.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

/// Boot a guest, run a command in it as root, and exit with its status.
///
/// The guest holds candor, the command if it is a program of this machine (with its libraries), and what --copy and
/// --program bring. There is no shell in it unless you bring one.
///
/// Exit status: that of the command, 127 if the guest has no such command, 126 if it cannot be started, 128 and the
/// number of the signal if one ended it; 2 if the laboratory could not run it.
#[derive(Args, Debug)]
pub(crate) struct LabRunArgs {
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    /// Bring the files that the command leaves in $CANDOR_OUT into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Command and arguments, after `--`.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// Boot a guest and work in it, with the can-utils and iproute2 of this machine.
#[derive(Args, Debug)]
pub(crate) struct LabShellArgs {
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

/// List the kernels that can be had and those that are cached.
#[derive(Args, Debug)]
pub(crate) struct LabKernelsArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure gateway files in the instruction-counted laboratory and report.
///
/// Boots the icount guest once, measures every gateway with the same traffic, prints the table and writes the report.
///
/// Exit status: 0 it was measured, 1 a gateway file is not valid or no frame arrived, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct LabMeasureArgs {
    /// Gateway files; their interfaces must be those of the topology's gateway (kvaser: can2 to can3, vcan: vcan0 to
    /// vcan1 with echo).
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Interfaces of the guest.
    #[arg(long, default_value = "kvaser")]
    pub(crate) topology: TopologyArg,
    /// What to send and how many times.
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Kernel by its name in `candor lab kernels` (default: Debian stable).
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// End the guest after this time on the host's clock.
    #[arg(long, value_name = "TIME", default_value = "30min", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Folder for the raw records.
    #[arg(long, value_name = "DIR", default_value = "records")]
    pub(crate) records: PathBuf,
    /// Self-contained HTML report.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write shell completions and man pages.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Man pages of all commands, into a folder.
    Man {
        /// Folder to write to.
        dir: PathBuf,
    },
    /// Completions for a shell, to standard output.
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    /// Seconds after which the guest is ended.
    #[arg(long)]
    pub(crate) seconds: u64,
    /// Folder to remove if the candor that started this goes first.
    #[arg(long, value_name = "DIR")]
    pub(crate) remove: Option<PathBuf>,
    /// Command line of the guest.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}
