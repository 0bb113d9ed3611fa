//! The command line of `candor-lab` as types. Help, completions and man pages all come from here.

mod compare;
mod conformance;
mod demo;
mod experiment;
mod fault;
mod figure;
mod guests;
mod measure;
mod methods;
mod papers;
mod traffic;
mod wire;

pub(crate) use compare::{CompareArgs, Level};
pub(crate) use conformance::ConformanceArgs;
pub(crate) use demo::{DemoCommand, DemoInversionArgs};
pub(crate) use experiment::{GuestLimits, MeasureArgs, MergeArgs, Preset};
pub(crate) use fault::{FaultWords, Identifier, TimedFault};
pub(crate) use figure::{Figure, FigureArgs};
pub(crate) use guests::{
    BaselineArgs, BenchArgs, GuardArgs, GuestArgs, LabCellsArgs, LabHoldArgs, LabKernelsArgs, LabLoadArgs, LabRunArgs,
    LabShellArgs, PreflightArgs, TestbedArg, TopologyArg,
};
pub(crate) use measure::{ConditionArgs, FramesFrom, ReportArgs, TesterArgs, TesterPolicy, TrafficArgs};
pub(crate) use methods::{LabCanSendArgs, LabHopsArgs, LabPrecisionArgs, LabSystemCallsArgs, PaperSetUps};
pub(crate) use papers::PapersArgs;
pub(crate) use traffic::{LabBurstsArgs, LabSoakArgs, LabStreamArgs};
pub(crate) use wire::{InjectArgs, WireArgs, WireCommand, WireModel, WireOrder};

use candor_cli::generate::GenerateCommand;
use candor_config::engine::{Engine, UserEngine};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};

/// The laboratory of candor: real kernels with CAN on a machine that has none, and measurements that repeat.
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
    Report(ReportArgs),
    Tester(TesterArgs),
    Conformance(ConformanceArgs),
    Papers(PapersArgs),
    Wire(WireArgs),
    #[command(subcommand)]
    Demo(DemoCommand),
    Baseline(BaselineArgs),
    Bursts(LabBurstsArgs),
    CanSend(LabCanSendArgs),
    SystemCalls(LabSystemCallsArgs),
    Precision(LabPrecisionArgs),
    Hops(LabHopsArgs),
    Stream(LabStreamArgs),
    Soak(LabSoakArgs),
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// Makes tables and figures of the documentation.
    #[command(hide = true)]
    Figure(FigureArgs),
    /// Measures the cells that `candor-lab measure` ordered, in a guest.
    #[command(hide = true)]
    Cells(LabCellsArgs),
    /// Generates load until it is ended.
    #[command(hide = true)]
    Load(LabLoadArgs),
    /// Runs a gateway and a load for a tester in another process, and ends both when the tester is gone.
    #[command(hide = true)]
    Supervise,
    /// Holds a folder for a tester on another machine, and removes it when the tester is gone.
    #[command(hide = true)]
    Hold(LabHoldArgs),
    /// Reports what this machine lacks to be a testbed.
    #[command(hide = true)]
    Preflight(PreflightArgs),
    /// Passes messages on, as a part of a load.
    #[command(hide = true)]
    Relay,
    /// Keeps a guest from outliving the candor-lab that started it.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// Every engine of user space by its name.
fn user_engines() -> impl TypedValueParser<Value = UserEngine> {
    let names = UserEngine::all().map(|engine| PossibleValue::new(engine.name()));
    PossibleValuesParser::new(names).try_map(|name| match Engine::named(&name) {
        Some(Engine::User(engine)) => Ok(engine),
        _ => Err("no engine of user space has this name"),
    })
}
