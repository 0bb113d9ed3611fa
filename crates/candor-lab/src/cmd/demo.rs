//! `candor-lab demo …`: one file per subcommand.

mod inversion;

use crate::cli::DemoCommand;
use candor_cli::Outcome;

pub(crate) fn run(command: &DemoCommand) -> Outcome {
    match command {
        DemoCommand::Inversion(args) => inversion::run(args),
    }
}
