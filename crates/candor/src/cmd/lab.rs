//! `candor lab` and the former commands of candor that are now in `candor-lab`.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use candor_cli::Outcome;
use candor_core::document::closest;
use clap::error::{ContextKind, ContextValue, ErrorKind as UsageError};

use crate::cli::Cli;

const LAB: &str = "candor-lab";

/// The commands that only candor-lab has.
const MOVED: [&str; 23] = [
    "baseline",
    "bench",
    "bursts",
    "can-send",
    "compare",
    "conformance",
    "database",
    "demo",
    "evidence",
    "hops",
    "kernels",
    "learn",
    "measure",
    "merge",
    "papers",
    "precision",
    "report",
    "shell",
    "soak",
    "stream",
    "system-calls",
    "tester",
    "wire",
];

/// Replaces this process with `candor-lab`.
pub(crate) fn run(arguments: &[OsString]) -> Outcome {
    let error = Command::new(find()).args(arguments).exec();
    Err(match error.kind() {
        ErrorKind::NotFound => format!(
            "{LAB} not found, neither next to candor nor in PATH; install it from the same source as candor: cargo install --path \
             crates/candor-lab"
        )
        .into(),
        _ => format!("cannot start {LAB}: {error}").into(),
    })
}

fn is_moved(name: &OsStr) -> bool {
    MOVED.iter().any(|moved| name == *moved)
}

/// The arguments for `candor-lab` if these are `help` and one of its commands.
pub(crate) fn help(mut arguments: impl Iterator<Item = OsString>) -> Option<[OsString; 2]> {
    arguments.next().filter(|word| word == "help")?;
    let name = arguments.next().filter(|name| is_moved(name))?;
    Some([name, "--help".into()])
}

/// Runs a command of `candor-lab`; rejects any other as clap does.
pub(crate) fn moved(arguments: &[OsString]) -> Outcome {
    let name = arguments.first().map(OsString::as_os_str).unwrap_or_default();
    if is_moved(name) {
        return run(arguments);
    }
    let mut command = Cli::grouped();
    let mut error = clap::Error::new(UsageError::InvalidSubcommand).with_cmd(&command);
    let name = name.to_string_lossy().into_owned();
    let known: Vec<_> = command.get_subcommands().map(|known| known.get_name()).chain(MOVED).collect();
    let near = closest(&name, &known).map(str::to_owned);
    error.insert(ContextKind::InvalidSubcommand, ContextValue::String(name));
    error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    if let Some(near) = near {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
    }
    error.exit()
}

/// The program next to this one, otherwise the first in `PATH`.
fn find() -> PathBuf {
    let sibling = std::env::current_exe().ok().map(|this| this.with_file_name(LAB));
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    sibling.filter(is_program).unwrap_or_else(|| LAB.into())
}
