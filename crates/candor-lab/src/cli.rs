//! The command line of `candor-lab` as types. Help, completions and man pages are generated from it.

mod bounds;
mod bus;
mod convert;
mod database;
mod evidence;
mod experiment;
mod fault;
mod guests;
mod learn;
mod methods;
mod profile;
mod replay;
mod results;
mod tester;
mod wire;

pub(crate) use bounds::{BoundsArgs, GatewayQueue};
pub(crate) use bus::{AdapterSpec, BusSpec, check_buses};
pub(crate) use convert::ConvertArgs;
pub(crate) use database::DatabaseArgs;
pub(crate) use evidence::EvidenceArgs;
pub(crate) use experiment::{
    BatchScript, GuestLimits, MeasureArgs, MergeArgs, PapersArgs, Preset, TimelineArgs, WantedShard,
};
pub(crate) use fault::{FaultWords, Identifier, TimedFault};
pub(crate) use guests::{
    BareMetalArgs, BaselineArgs, DemoCommand, DemoInversionArgs, EvidenceRunsArgs, GuardArgs, GuestArgs, LabCellsArgs,
    LabHoldArgs, LabKernelsArgs, LabLoadArgs, LabRunArgs, LabShellArgs, PreflightArgs,
};
pub(crate) use learn::{BusLog, LearnAllowArgs, LearnChecksumArgs, LearnCommand, LearnDetectArgs, LearnTrafficArgs};
pub(crate) use methods::{
    LabBurstsArgs, LabCanSendArgs, LabHopsArgs, LabPrecisionArgs, LabSoakArgs, LabStreamArgs, LabSystemCallsArgs,
    PaperSetUps,
};
pub(crate) use profile::{Against, ProfileArgs};
pub(crate) use replay::{Onto, ReplayArgs};
pub(crate) use results::{CompareArgs, Figure, FigureArgs, Level, ReportArgs};
pub(crate) use tester::{
    BenchArgs, ConditionArgs, ConformanceArgs, TesterArgs, TesterPolicy, TrafficArgs, origin_name,
};
pub(crate) use wire::{InjectArgs, WireArgs, WireCommand};

use candor_cli::generate::GenerateCommand;
use candor_config::engine::{Engine, UserEngine};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};

/// CAN laboratory: boots real kernels with CAN interfaces on any machine, and makes reproducible measurements.
#[derive(Debug, Parser)]
#[command(name = "candor-lab", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(LabRunArgs),
    Shell(LabShellArgs),
    Kernels(LabKernelsArgs),
    Bench(BenchArgs),
    Measure(MeasureArgs),
    Merge(MergeArgs),
    Compare(CompareArgs),
    Profile(ProfileArgs),
    Report(ReportArgs),
    Tester(TesterArgs),
    Conformance(ConformanceArgs),
    Papers(PapersArgs),
    Timeline(TimelineArgs),
    Wire(WireArgs),
    Convert(ConvertArgs),
    Replay(ReplayArgs),
    Database(DatabaseArgs),
    #[command(subcommand)]
    Learn(LearnCommand),
    Evidence(EvidenceArgs),
    Bounds(BoundsArgs),
    #[command(subcommand)]
    Demo(DemoCommand),
    Baseline(BaselineArgs),
    BareMetal(BareMetalArgs),
    Bursts(LabBurstsArgs),
    CanSend(LabCanSendArgs),
    SystemCalls(LabSystemCallsArgs),
    Precision(LabPrecisionArgs),
    Hops(LabHopsArgs),
    Stream(LabStreamArgs),
    Soak(LabSoakArgs),
    #[command(subcommand)]
    Generate(GenerateCommand),
    #[command(hide = true)]
    EvidenceRuns(EvidenceRunsArgs),
    #[command(hide = true)]
    Figure(FigureArgs),
    /// Measure the cells that `candor-lab measure` ordered, in a guest.
    #[command(hide = true)]
    Cells(LabCellsArgs),
    /// Generate load until killed.
    #[command(hide = true)]
    Load(LabLoadArgs),
    /// Run a gateway and load for a tester in another process; end both when the tester disconnects.
    #[command(hide = true)]
    Supervise,
    /// Keep a directory for a tester on another machine; remove it when the tester disconnects.
    #[command(hide = true)]
    Hold(LabHoldArgs),
    /// Report what this machine lacks as a testbed.
    #[command(hide = true)]
    Preflight(PreflightArgs),
    /// Forward messages, as a part of a load.
    #[command(hide = true)]
    Relay,
    /// Kill a guest when the candor-lab that started it ends.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// Name, help and value of each value of an option.
type Values<T> = &'static [(&'static str, &'static str, T)];

/// A parser for the names of `values`.
fn named<T: Copy + Send + Sync + 'static>(values: Values<T>) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(|&(name, help, _)| match help {
        "" => PossibleValue::new(name),
        help => PossibleValue::new(name).help(help),
    });
    PossibleValuesParser::new(names).try_map(|name| {
        let found = values.iter().find(|(known, ..)| *known == name);
        found.map(|&(.., value)| value).ok_or("there is no such value")
    })
}

fn engine() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::all().map(|engine| PossibleValue::new(engine.name()));
    PossibleValuesParser::new(names).try_map(|name| Engine::named(&name).ok_or("no such engine"))
}

fn user_engines() -> impl TypedValueParser<Value = UserEngine> {
    let names = UserEngine::all().map(|engine| PossibleValue::new(engine.name()));
    PossibleValuesParser::new(names).try_map(|name| match Engine::named(&name) {
        Some(Engine::User(engine)) => Ok(engine),
        _ => Err("there is no user-space engine of this name"),
    })
}
