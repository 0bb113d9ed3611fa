//! The command line as types, the source of help, completions and man pages.

mod bounds;
mod check;
mod dump;
mod egress;
mod import;
mod init;
mod record;
mod run;
mod state;
mod verify;
mod watch;

pub(crate) use bounds::BoundsArgs;
pub(crate) use check::{CheckArgs, WARNINGS};
pub(crate) use dump::{BusesArgs, DumpArgs};
pub(crate) use egress::{
    EgressClearArgs, EgressCommand, EgressForm, EgressPlanArgs, EgressShowArgs, EgressWatchArgs, WantedArgs,
};
pub(crate) use import::{ImportCangwArgs, ImportCommand, ImportForm, ImportTcArgs, OutputArgs};
pub(crate) use init::{GenerateGateway, InitArgs, NetworkdArgs};
pub(crate) use record::{RecordArgs, Through};
pub(crate) use run::{Address, Identity, LogForm, ModeArgs, ReloadArgs, RunArgs, TopArgs};
pub(crate) use state::{ApplyArgs, DownArgs, ForeignArgs, KernelArgs, NetnsArgs, PlanArgs, StatusArgs, VerboseArgs};
pub(crate) use verify::VerifyArgs;
pub(crate) use watch::WatchArgs;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use candor_config::engine::Engine;
use candor_core::frame::Frame;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

/// A CAN gateway for Linux with measured, reproducible latency.
///
/// A gateway file defines which frames are forwarded from one bus to another, and how they are modified. candor runs it in the
/// kernel (can-gw), in user space, or in both.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands as `candor --help` groups them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Gateway file", &["init", "check", "explain", "show", "bounds", "import"]),
    ("Running", &["run", "reload", "mode", "top"]),
    ("Kernel state", &["plan", "apply", "status", "down", "egress"]),
    ("Diagnostics", &["dump", "record", "watch", "doctor", "engines"]),
    ("Laboratory", &["lab"]),
    ("Other", &["generate"]),
];

impl Cli {
    /// The command line with its grouped help.
    pub(crate) fn grouped() -> clap::Command {
        let command = Self::command();
        let styles = clap::builder::Styles::default();
        let (header, literal) = (styles.get_header(), styles.get_literal());
        let mut help = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
        for (title, names) in GROUPS {
            help += &format!("\n{header}{title}:{header:#}\n");
            for name in *names {
                let about =
                    command.find_subcommand(name).and_then(clap::Command::get_about).cloned().unwrap_or_default();
                help += &format!("  {literal}{name:<8}{literal:#}  {about}\n");
            }
        }
        help += &format!("\n{header}Options:{header:#}\n{{options}}\n\nRun candor COMMAND --help for examples.\n");
        command.help_template(help)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(InitArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    #[command(subcommand)]
    Import(ImportCommand),
    Run(RunArgs),
    Top(TopArgs),
    Reload(ReloadArgs),
    Mode(ModeArgs),
    Plan(PlanArgs),
    Apply(ApplyArgs),
    Status(StatusArgs),
    Down(DownArgs),
    Show(ShowArgs),
    Bounds(BoundsArgs),
    #[command(subcommand)]
    Egress(EgressCommand),
    Dump(DumpArgs),
    Record(RecordArgs),
    Watch(WatchArgs),
    Engines(EnginesArgs),
    Doctor(DoctorArgs),
    #[command(subcommand)]
    Generate(GenerateGateway),
    /// Run a command of candor-lab: experiments, kernels, adapters.
    ///
    /// candor lab ARGS runs candor-lab ARGS. So do candor measure, merge, compare, report, tester, conformance, papers, wire,
    /// learn, evidence and demo.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Lab(LabArgs),
    /// A command of candor-lab, or a mistake.
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Trace a frame through the rules of a gateway file.
///
/// Shows each matching rule, the frame after each modification, the outcome and the counters. If no rule matches, shows the
/// nearest misses. Sends nothing and needs no running gateway: the answer follows from the file.
///
/// Exit status: 0 the frame was explained, 1 the file is not valid, 2 another error, such as an unknown bus.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor explain car.toml --on powertrain --frame 123#1122
  candor explain car.toml --on can0 --frame 123#11 --all        every route that does not match
  candor explain car.toml --on can0 --frame 123##1AABB --live   on this machine")]
pub(crate) struct ExplainArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    /// Bus that receives the frame: its name in the file, or its interface.
    #[arg(long, value_name = "BUS")]
    pub(crate) on: String,
    /// Frame in can-utils notation, for example 123#1122, 12345678#R, 123##1AABB (repeatable).
    #[arg(long, value_name = "FRAME", required = true)]
    pub(crate) frame: Vec<Frame>,
    /// For every other route from this bus, show why it does not match.
    #[arg(long)]
    pub(crate) all: bool,
    /// In this mode of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// Use this engine instead of the one in the file.
    #[arg(long, value_parser = engines(), hide_possible_values = true)]
    pub(crate) engine: Option<Engine>,
    /// Include the state of this machine: interfaces that are down, their MTU, and the features of its can-gw.
    #[arg(long)]
    pub(crate) live: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn engines() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::all().map(|engine| PossibleValue::new(engine.name()));
    PossibleValuesParser::new(names).try_map(|name| Engine::named(&name).ok_or("no engine has this name"))
}

/// List the engines that this kernel and this user can run.
///
/// For each other engine, prints the reason and the command that fixes it. Changes nothing.
///
/// Exit status: 0 the engines were listed, 2 the kernel could not be queried.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor engines
  candor engines --json | jq -r '.engines[] | select(.runs_here) | .engine'")]
pub(crate) struct EnginesArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check that this machine can run a gateway and meet its deadlines.
///
/// Checks the kernel, modules, privileges, CPU frequency and sleep states, interrupts, and the state, queue and driver of each
/// CAN interface. Reports each as ok, weak or missing, with the command that fixes it. With a file, checks its interfaces
/// against its engine and `[realtime]`; without one, all CAN interfaces. Changes nothing.
///
/// Exit status: 0 nothing is missing, 1 something is missing or the file is not valid, 2 the machine could not be checked.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  sudo candor doctor car.toml        the machine against a file, as root
  candor doctor                      all CAN interfaces
  candor doctor egress --programs 3  queue lengths, for three senders
  candor doctor --json | jq '.checks[] | select(.verdict != \"ok\")'")]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    pub(crate) about: Option<DoctorCommand>,
    /// Gateway file; - reads standard input.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// One subject in depth.
#[derive(Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    Egress(DoctorEgressArgs),
}

/// Explain ENOBUFS: predict which programs block and which fail when the bus is slower than they are.
///
/// Reads the queue of each interface, the default send buffer, the driver and the bus state, and computes a matching
/// txqueuelen and SO_SNDBUF.
///
/// Exit status: 0 nothing is missing, 1 an interface cannot send, 2 the machine could not be checked.
#[derive(Args, Debug)]
pub(crate) struct DoctorEgressArgs {
    /// Check only this interface (repeatable; default: all CAN interfaces).
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    /// Number of programs that send at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) programs: NonZeroU32,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// Print a gateway file as a tree, cangw commands, a graph or JSON.
///
/// Exit status: 0 the gateway was printed, 1 the file is not valid, 2 it could not be read.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor show car.toml                         each route in words
  candor show car.toml --as cangw              the same jobs as cangw commands
  candor show car.toml --dot | dot -Tsvg       a picture
  candor show car.toml --json | jq .routes")]
pub(crate) struct ShowArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    /// Output format (default: tree).
    #[arg(long = "as", value_name = "FORM", conflicts_with_all = ["dot", "json"])]
    pub(crate) form: Option<ShowForm>,
    /// Print a graph for Graphviz.
    #[arg(long, conflicts_with = "json")]
    pub(crate) dot: bool,
    /// In this mode of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ShowForm {
    /// cangw commands that add the same jobs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Cli::command();
        let mut known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
        Cli::grouped().debug_assert();
    }
}
