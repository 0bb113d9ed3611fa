//! The `candor` command: see `candor --help`.
#![forbid(unsafe_code)]

mod cli;
mod cmd;
mod exit;
mod gateway_file;
mod netns;
mod render;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use exit::Exit;

fn main() -> ExitCode {
    if let Some(code) = cmd::guest::called_by_kernel() {
        return code;
    }
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Check(args) => cmd::check::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::Import(command) => cmd::import::run(&command),
        Command::Run(args) => cmd::run::run(&args),
        Command::Top(args) => cmd::top::run(&args),
        Command::Reload(args) => cmd::reload::run(&args),
        Command::Plan(args) => cmd::plan::run(&args),
        Command::Apply(args) => cmd::apply::run(&args),
        Command::Status(args) => cmd::status::run(&args),
        Command::Down(args) => cmd::down::run(&args),
        Command::Show(args) => cmd::show::run(&args),
        Command::Egress(command) => cmd::egress::run(&command),
        Command::Engines(args) => cmd::engines::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Tester(args) => cmd::tester::run(&args),
        Command::Papers(args) => cmd::papers::run(&args),
        Command::Measure(args) => cmd::measure::run(&args),
        Command::Merge(args) => cmd::measure::merge(&args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::Conformance(args) => cmd::conformance::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Wire(args) => cmd::wire::run(&args),
        Command::Lab(command) => cmd::lab::run(&command),
        Command::Demo(command) => cmd::demo::run(&command),
        Command::Generate(command) => cmd::generate::run(&command),
        Command::Guard(args) => cmd::guest::guard(&args),
    };
    result
        .unwrap_or_else(|error| {
            if render::is_broken_pipe(&*error) {
                return Exit::Fine;
            }
            render::error_chain(&*error);
            Exit::CouldNotRun
        })
        .into()
}
