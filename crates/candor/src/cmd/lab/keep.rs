//! `candor lab keep` and `candor lab hold`: what belongs to a tester that may vanish.

use std::time::Duration;
use std::{fs, io};

use candor_core::experiment::name_of;
use candor_io::process;
use candor_lab::keeper;

use crate::cli::LabHoldArgs;
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::render;

/// A folder outlives a tester that says nothing for so long.
const SILENCE: Duration = Duration::from_secs(60);

pub(super) fn keep() -> Outcome {
    // A Ctrl-C is for the tester, whose end is told by its line. Who leads a session already has no terminal.
    let _leads_already = process::start_session();
    keeper::keep(&std::env::current_exe()?, io::BufReader::new(io::stdin()), io::stdout())?;
    Ok(Exit::Fine)
}

pub(super) fn hold(args: &LabHoldArgs) -> Outcome {
    let _leads_already = process::start_session();
    // Who sent this program knows by it that all of it has come.
    render::out(&format!("holds {}\n", name_of(&fs::read(std::env::current_exe()?)?)))?;
    keeper::hold(&args.folder, io::BufReader::new(io::stdin()), SILENCE)?;
    Ok(Exit::Fine)
}
