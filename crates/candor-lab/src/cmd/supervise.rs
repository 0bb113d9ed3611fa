//! `candor-lab keep` and `candor-lab hold`: what belongs to a tester that may vanish.

use std::time::Duration;
use std::{fs, io};

use candor_io::process;
use candor_lab::experiment::name_of;
use candor_lab::supervisor;

use crate::cli::LabHoldArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// A folder outlives a tester that says nothing for so long.
const SILENCE: Duration = Duration::from_secs(60);

pub(crate) fn supervise() -> Outcome {
    // A Ctrl-C is for the tester, whose end is told by its line. Who leads a session already has no terminal.
    let _leads_already = process::start_session();
    supervisor::run(&std::env::current_exe()?, io::BufReader::new(io::stdin()), io::stdout())?;
    Ok(Exit::Fine)
}

pub(crate) fn hold(args: &LabHoldArgs) -> Outcome {
    let program = std::env::current_exe()?;
    // The folder is removed in the end, so it has to be the one that was made for this program.
    if program.parent() != Some(&fs::canonicalize(&args.folder)?) {
        let folder = args.folder.display();
        return Err(
            format!("candor-lab hold removes the folder that candor was sent to, and {folder} is another one").into()
        );
    }
    let _leads_already = process::start_session();
    // Who sent this program knows by it that all of it has come.
    render::out(&format!("holds {}\n", name_of(&fs::read(&program)?)))?;
    supervisor::hold(&args.folder, io::BufReader::new(io::stdin()), SILENCE)?;
    Ok(Exit::Fine)
}
