//! `candor lab …`: one file per subcommand.

mod kernels;
mod measure;
mod run;
mod shell;

use crate::cli::LabCommand;
use crate::cmd::Outcome;

pub(crate) fn run(command: &LabCommand) -> Outcome {
    match command {
        LabCommand::Run(args) => run::run(args),
        LabCommand::Shell(args) => shell::run(args),
        LabCommand::Kernels(args) => kernels::run(args),
        LabCommand::Measure(args) => measure::run(args),
    }
}
