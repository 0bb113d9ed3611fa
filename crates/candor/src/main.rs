//! The program `candor`, a CAN gateway; see `candor --help`.
#![forbid(unsafe_code)]

mod cli;
mod cmd;
mod netns;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use cli::{Cli, Command, GenerateGateway};

fn main() -> ExitCode {
    if let Some(arguments) = cmd::lab::help(std::env::args_os().skip(1)) {
        return candor_cli::finish("candor", cmd::lab::run(&arguments));
    }
    let cli = Cli::from_arg_matches(&Cli::grouped().get_matches()).unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Init(args) => cmd::init::run(&args),
        Command::Check(args) => cmd::check::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::Import(command) => cmd::import::run(&command),
        Command::Run(args) => cmd::verifier::say(args.verbose, cmd::run::run(&args)),
        Command::Top(args) => cmd::top::run(&args),
        Command::Reload(args) => cmd::reload::run(&args),
        Command::Mode(args) => cmd::mode::run(&args),
        Command::Plan(args) => cmd::plan::run(&args),
        Command::Apply(args) => cmd::verifier::say(args.verbose, cmd::apply::run(&args)),
        Command::Status(args) => cmd::status::run(&args),
        Command::Down(args) => cmd::down::run(&args),
        Command::Show(args) => cmd::show::run(&args),
        Command::Bounds(args) => cmd::bounds::run(&args),
        Command::Egress(command) => cmd::egress::run(&command),
        Command::Dump(args) => cmd::dump::run(&args),
        Command::Record(args) => cmd::record::run(&args),
        Command::Watch(args) => cmd::watch::run(&args),
        Command::Engines(args) => cmd::engines::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Generate(GenerateGateway::Networkd(args)) => cmd::networkd::run(&args),
        Command::Generate(GenerateGateway::Common(command)) => {
            candor_cli::generate::run(&command, "candor", &Cli::grouped())
        }
        Command::Lab(args) => cmd::lab::run(&args.arguments),
        Command::Other(arguments) => cmd::lab::moved(&arguments),
    };
    candor_cli::finish("candor", result)
}
