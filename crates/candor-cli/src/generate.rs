//! `generate`: man pages and shell completions from the definition of the command line.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Command, Subcommand};

use crate::{Exit, Outcome, render};

/// Write shell completions and man pages.
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Man pages of all commands, into a folder.
    Man {
        /// Folder to write to.
        dir: PathBuf,
    },
    /// Completions for a shell, to standard output.
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
}

/// Runs `generate` for the program of this command line.
///
/// # Errors
/// If the files cannot be written.
pub fn run(command: &GenerateCommand, name: &'static str, program: &Command) -> Outcome {
    let mut program = visible(name, program);
    match command {
        GenerateCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut program, name, &mut script);
            render::out(&String::from_utf8(script)?)?;
        }
        GenerateCommand::Man { dir } => man(dir, program)?,
    }
    Ok(Exit::Fine)
}

fn man(dir: &Path, program: Command) -> Result<(), ManError> {
    let written = if dir.exists() && !dir.is_dir() {
        Err(io::ErrorKind::NotADirectory.into())
    } else {
        fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(program, dir))
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
fn visible(name: &'static str, command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned();
    Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about(command.get_about().cloned().unwrap_or_default())
        .long_about(command.get_long_about().cloned().unwrap_or_default())
        .subcommand_required(true)
        .subcommands(shown)
}
