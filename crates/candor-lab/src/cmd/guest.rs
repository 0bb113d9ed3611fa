//! What candor does inside and around a laboratory guest: first process, modprobe, and guard.

use std::process::ExitCode;
use std::time::Duration;

use candor_lab::guard::{self, Settings};
use candor_lab::init;

use crate::cli::GuardArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// In a guest the kernel starts candor without any command: as init, or as modprobe.
pub(crate) fn called_by_kernel() -> Option<ExitCode> {
    if init::is_init() {
        return Some(finish(init::run().map_err(Into::into)));
    }
    init::is_modprobe().then(|| finish(init::modprobe().map_err(Into::into)))
}

pub(crate) fn guard(args: &GuardArgs) -> Outcome {
    let settings = Settings {
        deadline: Duration::from_secs(args.seconds),
        command: &args.command,
        remove: args.remove.as_deref(),
    };
    Ok(Exit::Guest(guard::run(&settings)?.status()))
}

fn finish(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            render::error_chain("candor-lab", &*error);
            ExitCode::FAILURE
        }
    }
}
