//! The `candor-lab` command: see `candor-lab --help`.
#![forbid(unsafe_code)]

mod cli;
mod cmd;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use cli::{Cli, Command};

fn main() -> ExitCode {
    if let Some(code) = cmd::roles::called_by_kernel() {
        return code;
    }
    let result = match Cli::parse().command {
        Command::Run(args) => cmd::guests::run(&args),
        Command::Shell(args) => cmd::guests::shell(&args),
        Command::Kernels(args) => cmd::guests::kernels(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Measure(args) => cmd::measure::run(&args),
        Command::Merge(args) => cmd::measure::merge::run(&args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::Profile(args) => cmd::profile::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Tester(args) => cmd::tester::run(&args),
        Command::Conformance(args) => cmd::conformance::run(&args),
        Command::Convert(args) => cmd::convert::run(&args),
        Command::Replay(args) => cmd::replay::run(&args),
        Command::Papers(args) => cmd::papers::run(&args),
        Command::Timeline(args) => cmd::timeline::run(&args),
        Command::Database(args) => cmd::database::run(&args),
        Command::Learn(command) => cmd::learn::run(&command),
        Command::Evidence(args) => cmd::evidence::run(&args),
        Command::Bounds(args) => cmd::bounds::run(&args),
        Command::Wire(args) => cmd::wire::run(&args),
        Command::Demo(command) => cmd::demo::run(&command),
        Command::BareMetal(args) => cmd::bare_metal::run(&args),
        Command::Baseline(args) => cmd::baseline::run(&args),
        Command::Bursts(args) => cmd::bursts::run(&args),
        Command::CanSend(args) => cmd::can_send::run(&args),
        Command::SystemCalls(args) => cmd::system_calls::run(&args),
        Command::Precision(args) => cmd::precision::run(&args),
        Command::Hops(args) => cmd::hops::run(&args),
        Command::Stream(args) => cmd::stream::run(&args),
        Command::Soak(args) => cmd::soak::run(&args),
        Command::Generate(command) => candor_cli::generate::run(&command, "candor-lab", &Cli::command()),
        Command::EvidenceRuns(args) => cmd::evidence_runs::run(&args),
        Command::Figure(args) => cmd::figure::run(&args),
        Command::Cells(args) => cmd::cells::run(&args),
        Command::Load(args) => cmd::roles::load(&args.load),
        Command::Supervise => cmd::roles::supervise(),
        Command::Hold(args) => cmd::roles::hold(&args),
        Command::Preflight(args) => cmd::preflight::run(&args),
        Command::Relay => cmd::roles::relay(),
        Command::Guard(args) => cmd::roles::guard(&args),
    };
    candor_cli::finish("candor-lab", result)
}
