//! The commands of `candor-lab`, which is a program of its own: `candor lab ARGS` runs it as git and cargo run theirs.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use candor_cli::Outcome;
use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind as UsageError};

use crate::cli::Cli;

/// The program.
const LAB: &str = "candor-lab";

/// Commands that candor had before the laboratory was a program of its own.
const MOVED: [&str; 9] = ["compare", "conformance", "demo", "measure", "merge", "papers", "report", "tester", "wire"];

/// Replaces this process by `candor-lab` with these arguments.
pub(crate) fn run(arguments: &[OsString]) -> Outcome {
    let error = Command::new(find()).args(arguments).exec();
    Err(match error.kind() {
        ErrorKind::NotFound => format!(
            "the laboratory is a program of its own, {LAB}, and it is neither next to candor nor in PATH; to install it: \
             cargo install --path crates/candor-lab"
        )
        .into(),
        _ => format!("cannot start {LAB}: {error}").into(),
    })
}

/// Runs a command that moved to `candor-lab`; any other word is a mistake, which clap explains.
pub(crate) fn moved(words: &[OsString]) -> Outcome {
    let word = words.first().map(OsString::as_os_str).unwrap_or_default();
    if MOVED.iter().any(|moved| OsStr::new(moved) == word) {
        return run(words);
    }
    let mut command = Cli::command();
    let mut error = clap::Error::new(UsageError::InvalidSubcommand).with_cmd(&command);
    let word = word.to_string_lossy().into_owned();
    let near = command.get_subcommands().filter(|known| !known.is_hide_set()).map(|known| known.get_name());
    let near = near.map(|known| (strsim::jaro(&word, known), known.to_owned())).filter(|(score, _)| *score > 0.7);
    let near = near.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, known)| known);
    error.insert(ContextKind::InvalidSubcommand, ContextValue::String(word));
    error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    if let Some(near) = near {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
    }
    error.exit()
}

/// The one next to this program, else the first in `PATH`.
fn find() -> PathBuf {
    let sibling = std::env::current_exe().ok().map(|this| this.with_file_name(LAB));
    sibling.filter(|path| path.is_file()).unwrap_or_else(|| LAB.into())
}
