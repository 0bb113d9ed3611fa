//! `candor learn`.

pub(super) mod allow;
pub(super) mod checksum;
pub(super) mod detect;
mod log;
pub(super) mod traffic;

use candor_cli::Outcome;

use crate::cli::LearnCommand;

pub(crate) fn run(command: &LearnCommand) -> Outcome {
    match command {
        LearnCommand::Allow(args) => allow::run(args),
        LearnCommand::Detect(args) => detect::run(args),
        LearnCommand::Checksum(args) => checksum::run(args),
        LearnCommand::Traffic(args) => traffic::run(args),
    }
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
