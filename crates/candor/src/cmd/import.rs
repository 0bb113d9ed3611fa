//! `candor import`: conversion to a gateway file, which goes to standard output; messages go to standard error.

mod cangw;
mod tc;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use candor_cli::Outcome;
use candor_cli::gateway_file::{plural, tally};
use candor_cli::render::{self, Source};
use candor_config::config::{self, Loaded};
use candor_core::diagnostic::{Diagnostic, Position, Span};

use crate::cli::{ImportCommand, OutputArgs};

/// Skipped commands that are listed.
const MOST_LEFT_OUT: usize = 10;

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("{} already exists; use --force to overwrite it", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}", .path.display())]
    Other { path: PathBuf, source: io::Error },
}

/// The written gateway file does not parse to the imported gateway.
#[derive(Debug, thiserror::Error)]
#[error(
    "internal error: the gateway file would differ from the input, so it was not written; please report this with the input"
)]
struct Mismatch;

pub(crate) fn run(command: &ImportCommand) -> Outcome {
    match command {
        ImportCommand::Cangw(args) => cangw::run(args),
        ImportCommand::Tc(args) => tc::run(args),
    }
}

/// Checks the written file and prints its warnings; if it is not valid, prints the findings and returns `None`.
fn checked(output: &OutputArgs, written: &str) -> Option<Loaded> {
    let output = output.output.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
    let source = Source::new(output.clone(), written.as_bytes());
    match config::load(written.as_bytes()) {
        Ok(loaded) => {
            render::err(&render::text(&source, &loaded.warnings, render::wants_colour()));
            Some(loaded)
        }
        Err(findings) => {
            render::err(&render::text(&source, &findings, render::wants_colour()));
            render::err(&format!("{output}: not written: not valid: {}\n", tally(&findings)));
            None
        }
    }
}

fn not_imported(source: &Source, findings: &[Diagnostic]) {
    render::err(&render::text(source, findings, render::wants_colour()));
    render::err(&format!("{}: not imported: {}\n", source.name(), tally(findings)));
}

/// Lists commands that have no equivalent in a gateway file.
fn left_out(source: &Source, left_out: &[Span]) {
    let mut text = String::new();
    for span in left_out.iter().take(MOST_LEFT_OUT) {
        let Position { line, column } = source.position(span.start);
        let command = source.part(span.clone()).lines().next().unwrap_or_default();
        text.push_str(&format!("{}:{line}:{column}: skipped: {}\n", source.name(), command.escape_debug()));
    }
    if let Some(more) = left_out.len().checked_sub(MOST_LEFT_OUT).filter(|more| *more > 0) {
        text.push_str(&format!("{}: skipped: {} more\n", source.name(), plural(more, "command")));
    }
    render::err(&text);
}

pub(super) fn put(output: &OutputArgs, text: &str) -> Result<(), Box<dyn std::error::Error>> {
    match &output.output {
        Some(path) => write(path, text, output.force)?,
        None => render::out(text)?,
    }
    Ok(())
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), WriteError> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists(path.to_owned()),
        _ => WriteError::Other { path: path.to_owned(), source },
    })
}
