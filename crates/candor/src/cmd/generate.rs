//! `candor generate`: what the definition of the command line says, for shells and for `man`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Command, CommandFactory};

use crate::cli::{Cli, GenerateCommand};
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::render;

pub(crate) fn run(command: &GenerateCommand) -> Outcome {
    match command {
        GenerateCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut visible(&Cli::command()), "candor", &mut script);
            render::out(&String::from_utf8(script)?)?;
        }
        GenerateCommand::Man { dir } => man(dir)?,
    }
    Ok(Exit::Fine)
}

fn man(dir: &Path) -> Result<(), ManError> {
    let written = if dir.exists() && !dir.is_dir() {
        Err(io::ErrorKind::NotADirectory.into())
    } else {
        fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(visible(&Cli::command()), dir))
    };
    written.map_err(|source| ManError { dir: dir.to_owned(), source })
}

/// A folder that takes no man pages.
#[derive(Debug)]
struct ManError {
    dir: PathBuf,
    source: io::Error,
}

impl std::fmt::Display for ManError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cannot write man pages to {}", self.dir.display())
    }
}

impl std::error::Error for ManError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The command without what is hidden: completions would offer the hidden commands too.
fn visible(command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned();
    Command::new("candor")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about(command.get_about().cloned().unwrap_or_default())
        .long_about(command.get_long_about().cloned().unwrap_or_default())
        .subcommand_required(true)
        .subcommands(shown)
}
