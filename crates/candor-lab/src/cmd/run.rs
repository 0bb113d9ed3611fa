//! `candor-lab run`.

use std::path::Path;

use candor_lab::guest;

use super::progress::Progress;
use crate::cli::LabRunArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

pub(crate) fn run(args: &LabRunArgs) -> Outcome {
    let mut spec = super::guests::specification(&args.guest, args.command.clone())?;
    spec.out.clone_from(&args.out);
    let mut progress = Progress::new();
    let exit = guest::run(&spec, &mut progress);
    progress.clear();
    if let Err(error) = &exit {
        super::guests::show_console(error);
    }
    let exit = exit?;
    if exit.status != 0 {
        hint_at_copy(args);
    }
    match progress.failed {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Guest(exit.status)),
    }
}

/// A failed command whose arguments name files of this machine probably looked for them in the guest.
fn hint_at_copy(args: &LabRunArgs) {
    let copied = |name: &str| args.guest.copy.iter().any(|file| file.ends_with(name));
    let files = args.command.iter().skip(1).filter(|word| Path::new(word).is_file() && !copied(word));
    for file in files {
        render::err(&format!(
            "candor-lab: {file} is a file of this machine; --copy {file} puts it into the guest's working directory\n"
        ));
    }
}
