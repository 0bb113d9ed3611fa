//! `candor generate`: what the definition of the command line says, for shells and for `man`.

use std::fs;
use std::path::Path;

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

fn man(dir: &Path) -> Result<(), std::io::Error> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(visible(&Cli::command()), dir)
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
