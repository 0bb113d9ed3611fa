//! What the commands `candor` and `candor-lab` share.
#![forbid(unsafe_code)]

pub mod exit;
pub mod gateway_file;
pub mod generate;
pub mod render;
pub mod socket;

pub use exit::Exit;

use std::process::ExitCode;

/// The result of a command: an exit status, or an error that [`finish`] prints with its causes.
pub type Outcome = Result<Exit, Box<dyn std::error::Error>>;

/// Ends a command: prints its error, if it has one, under the name of the program. A closed pipe is not an error.
pub fn finish(program: &str, outcome: Outcome) -> ExitCode {
    outcome
        .unwrap_or_else(|error| {
            if render::is_broken_pipe(&*error) {
                return Exit::Fine;
            }
            render::error_chain(program, &*error);
            Exit::CouldNotRun
        })
        .into()
}
