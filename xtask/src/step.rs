//! Running commands and saying what runs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};

/// The top folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask lies in a folder of the workspace").to_path_buf()
}

/// cargo, as it was called for this xtask.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command and fails with its words if it does.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

/// Announces a step, runs it, and says how long it took.
pub(crate) fn step(name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    println!("==> {name}");
    let start = Instant::now();
    work().with_context(|| format!("step \"{name}\" failed"))?;
    println!("<== {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The workspace as cargo sees it.
pub(crate) fn metadata() -> anyhow::Result<cargo_metadata::Metadata> {
    let manifest = root().join("Cargo.toml");
    cargo_metadata::MetadataCommand::new().manifest_path(manifest).no_deps().exec().context("cargo metadata")
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
