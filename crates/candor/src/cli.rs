//! The command line as types. Help, completions and man pages all come from here.

mod egress;
mod import;
mod reload;
mod state;
mod top;

pub(crate) use egress::{
    EgressApplyArgs, EgressClearArgs, EgressCommand, EgressForm, EgressPlanArgs, EgressShowArgs, EgressVerifyArgs,
    EgressWatchArgs, WantedArgs,
};
pub(crate) use import::{ImportCangwArgs, ImportCommand, ImportForm, ImportTcArgs, OutputArgs};
pub(crate) use reload::ReloadArgs;
pub(crate) use state::{ApplyArgs, DownArgs, ForeignArgs, NetnsArgs, PlanArgs, StatusArgs};
pub(crate) use top::TopArgs;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use candor_cli::generate::GenerateCommand;
use candor_config::engine::Engine;
use candor_core::frame::Frame;
use candor_core::units::parse_duration;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cmd::check::{AllowedCode, Denied, ExplainedCode};
use crate::cmd::run::log::LogForm;
use crate::cmd::run::metrics::Address;
use crate::cmd::run::user::Identity;

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
    Top(TopArgs),
    Reload(ReloadArgs),
    Plan(PlanArgs),
    Apply(ApplyArgs),
    Status(StatusArgs),
    Down(DownArgs),
    Show(ShowArgs),
    #[command(subcommand)]
    Egress(EgressCommand),
    Engines(EnginesArgs),
    Doctor(DoctorArgs),
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// Run a command of the laboratory: `candor lab ARGS` is `candor-lab ARGS`.
    #[command(disable_help_flag = true)]
    Lab(LabArgs),
    /// A command that candor-lab has.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
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
    #[arg(long, value_parser = engines(), hide_possible_values = true)]
    pub(crate) engine: Option<Engine>,
    /// Look at this machine: which interfaces are up, how large their frames are, what its can-gw can do.
    #[arg(long)]
    pub(crate) live: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run the gateway of a file until SIGINT or SIGTERM.
///
/// Prints what it did, and the counters of every route at the end. Leaves nothing behind.
///
/// SIGHUP, or candor reload, has it read the file again and go over to the new routes between two frames. A file that is
/// broken changes nothing. If the terminal that it was started from goes away, it ends.
///
/// Exit status: 0 it ran until the signal, 1 the file is not valid, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: PathBuf,
    /// Print the counters at this interval, for example 1s or 500ms.
    #[arg(long, value_name = "INTERVAL", value_parser = parse_duration)]
    pub(crate) stats: Option<Duration>,
    /// Serve metrics in OpenMetrics text over HTTP: unix:/PATH, or a loopback address such as 127.0.0.1:9316.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Address>,
    /// Measure how long each frame is under way, for --metrics and candor top; only routes in user space. Costs two readings of a clock
    /// for each frame.
    #[arg(long)]
    pub(crate) latency: bool,
    /// Run this engine instead of the one that the file names; candor engines lists them.
    #[arg(long, value_parser = engines(), hide_possible_values = true)]
    pub(crate) engine: Option<Engine>,
    /// Run as this user and group, by name or number, with the capabilities that the file needs: NAME, or NAME:GROUP. Only
    /// root can.
    #[arg(long, value_name = "USER[:GROUP]")]
    pub(crate) user: Option<Identity>,
    /// Have the kernel refuse every system call that a gateway does not make: programs, namespaces, tracing, modules.
    #[arg(long)]
    pub(crate) seccomp: bool,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Log what happens instead of printing it for somebody who looks on.
    #[arg(long, value_name = "FORM", conflicts_with = "json")]
    pub(crate) log: Option<LogForm>,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Every engine by its name.
fn engines() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::all().map(|engine| PossibleValue::new(engine.name()));
    PossibleValuesParser::new(names).try_map(|name| Engine::named(&name).ok_or("no engine has this name"))
}

/// List the engines, which of them this kernel and this user can run, and what is missing for the rest.
///
/// Nothing is left behind by looking.
///
/// Exit status: 0 they were listed, 2 the kernel could not be asked.
#[derive(Args, Debug)]
pub(crate) struct EnginesArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Look whether this machine lets a gateway run, and run in time: ok, weak or missing, each with what to do.
///
/// Kernel, modules, privileges, clock and sleep of the processors, interrupts, and for each CAN interface its state, queue
/// and driver. With a file its interfaces are looked at, and its engine and `[realtime]` decide what is needed; without one
/// all CAN interfaces. Nothing is changed.
///
/// Exit status: 0 nothing is missing, 1 something is, or the file is not valid, 2 the machine could not be looked at.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    pub(crate) about: Option<DoctorCommand>,
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to look at more closely.
#[derive(Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    Egress(DoctorEgressArgs),
}

/// Explain ENOBUFS: which program waits when the bus is slower than it, which one fails, and after how many frames.
///
/// Looks at the queue of each interface, the send buffers of programs, the driver and the state of the bus, and reckons
/// a length of the queue and a SO_SNDBUF that fit together.
///
/// Exit status: 0 nothing is missing, 1 an interface cannot send, 2 it could not be looked at.
#[derive(Args, Debug)]
pub(crate) struct DoctorEgressArgs {
    /// Only this interface (repeatable; default: all CAN interfaces).
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    /// How many programs write to it at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) programs: NonZeroU32,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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

/// Arguments for candor-lab.
#[derive(Args, Debug)]
pub(crate) struct LabArgs {
    /// Command of candor-lab and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
