//! `generate`: man pages and shell completions.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Command, Subcommand, ValueEnum};
use clap_complete::{generate, shells};

use crate::{Exit, Outcome, render};

/// Generate man pages and shell completions.
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Write a man page for each command to a directory.
    Man {
        /// Directory, created if it does not exist.
        dir: PathBuf,
    },
    /// Print completions for a shell.
    Completions {
        /// Shell that reads the completions.
        shell: Shell,
    },
}

/// A shell of Linux.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Fish,
    Zsh,
}

/// Runs `generate` for a program.
///
/// # Errors
/// If the files cannot be written.
pub fn run(command: &GenerateCommand, name: &'static str, program: &Command) -> Outcome {
    let mut program = visible(name, program);
    match command {
        GenerateCommand::Completions { shell } => {
            let mut script = Vec::new();
            match shell {
                Shell::Bash => generate(shells::Bash, &mut program, name, &mut script),
                Shell::Fish => generate(shells::Fish, &mut program, name, &mut script),
                Shell::Zsh => generate(shells::Zsh, &mut program, name, &mut script),
            }
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

#[derive(Debug, thiserror::Error)]
#[error("cannot write man pages to {}", .dir.display())]
struct ManError {
    dir: PathBuf,
    source: io::Error,
}

/// The command without hidden subcommands, which completions would offer too.
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
