//! Exit codes, output and gateway files, shared by the programs `candor` and `candor-lab`.
#![forbid(unsafe_code)]

pub mod exit;
pub mod gateway_file;
pub mod generate;
pub mod render;
#[cfg(feature = "schema")]
pub mod schema;
pub mod socket;

pub use exit::Exit;

use std::process::ExitCode;

/// An exit status, or an error that [`finish`] prints with its causes.
pub type Outcome = Result<Exit, Box<dyn std::error::Error>>;

/// Prints the error of a command, if there is one, after the name of the program. A closed pipe is not an error.
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
