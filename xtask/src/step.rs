//! Running commands and saying what runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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

/// A command that runs beside others and is shown when it has ended, so that what they say is not mixed.
#[derive(Debug)]
pub(crate) struct Beside {
    name: String,
    shown: String,
    start: Instant,
    child: Child,
    said: PathBuf,
}

impl Beside {
    pub(crate) fn start(name: &str, command: &mut Command) -> anyhow::Result<Self> {
        let said = metadata()?.target_directory.join("beside.log").into_std_path_buf();
        let file = File::create(&said).with_context(|| format!("cannot make {}", said.display()))?;
        let shown = show(command);
        command.stdin(Stdio::null()).stderr(file.try_clone().context("cannot share a file")?).stdout(file);
        let child = command.spawn().with_context(|| format!("cannot start {shown}"))?;
        println!("==> {name}: beside what follows; what it says is in {}", said.display());
        Ok(Self { name: name.to_owned(), shown, start: Instant::now(), child, said })
    }

    /// Waits for the end and shows what was said.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        println!("==> {}", self.name);
        let status = self.child.wait().with_context(|| format!("cannot wait for {}", self.shown))?;
        let mut said = File::open(&self.said).with_context(|| format!("cannot read {}", self.said.display()))?;
        std::io::copy(&mut said, &mut std::io::stdout()).context("cannot show what was said")?;
        if !status.success() {
            bail!("step \"{}\" failed: {}: {status}", self.name, self.shown);
        }
        println!("<== {}: {:.1} s", self.name, self.start.elapsed().as_secs_f64());
        Ok(())
    }
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
