//! `candor lab run`.

use candor_lab::guest;

use super::progress::Progress;
use crate::cli::LabRunArgs;
use crate::cmd::Outcome;
use crate::exit::Exit;

pub(crate) fn run(args: &LabRunArgs) -> Outcome {
    let mut spec = super::specification(&args.guest, args.command.clone())?;
    spec.out.clone_from(&args.out);
    let mut progress = Progress::new();
    let exit = guest::run(&spec, &mut progress);
    progress.clear();
    if let Err(error) = &exit {
        super::show_console(error);
    }
    let exit = exit?;
    match progress.failed {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Guest(exit.status)),
    }
}
