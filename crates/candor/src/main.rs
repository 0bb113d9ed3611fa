//! The `candor` command: see `candor --help`.
#![forbid(unsafe_code)]

mod cli;
mod cmd;
mod netns;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use cli::{Cli, Command};

fn main() -> ExitCode {
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
        Command::Generate(command) => candor_cli::generate::run(&command, "candor", &Cli::command()),
        Command::Lab(args) => cmd::lab::run(&args.arguments),
        Command::Other(words) => cmd::lab::moved(&words),
    };
    candor_cli::finish("candor", result)
}
