//! Measuring gateways in the instruction-counted laboratory.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use cargo_metadata::camino::{Utf8Path, Utf8PathBuf};

use crate::step;

/// Settings common to all gateways of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Laboratory<'a> {
    pub(crate) candor: &'a Path,
    pub(crate) kernel: Option<&'a str>,
    pub(crate) frames: u32,
}

/// Sender of the frames; figures of different senders cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FramesFrom {
    Call,
    Timer,
}

impl Laboratory<'_> {
    /// Measures files, in their order, with these further arguments of `candor-lab bench`.
    pub(crate) fn measure(
        self,
        from: FramesFrom,
        records: &str,
        files: &[Utf8PathBuf],
        arguments: &[&str],
    ) -> anyhow::Result<serde_json::Value> {
        let from = match from {
            FramesFrom::Call => "call",
            FramesFrom::Timer => "timer",
        };
        let mut command = Command::new(self.candor);
        command.args(["bench", "--json", "--frames", &self.frames.to_string(), "--frames-from", from]);
        command.args(["--records", records]).args(arguments).args(files);
        if let Some(kernel) = self.kernel {
            command.args(["--kernel", kernel]);
        }
        let output = command.stderr(Stdio::inherit()).output().context("cannot start candor-lab")?;
        if !output.status.success() {
            bail!("candor-lab bench: {}", output.status);
        }
        serde_json::from_slice(&output.stdout).context("candor-lab prints other JSON")
    }
}

/// A guest of the instruction-counted laboratory, for one command that prints one JSON value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guest<'a> {
    pub(crate) candor: &'a Path,
    pub(crate) kernel: Option<&'a str>,
    pub(crate) topology: &'a str,
    /// An instruction lasts 2 to the power of this, in ns.
    pub(crate) shift: u8,
    /// On the host's clock.
    pub(crate) timeout: &'a str,
}

impl Guest<'_> {
    /// Output of the command, and true for exit status 0; status 1 is not an error.
    pub(crate) fn json(self, files: &[Utf8PathBuf], arguments: &[String]) -> anyhow::Result<(serde_json::Value, bool)> {
        let mut command = Command::new(self.candor);
        command.args(["run", "--testbed", "icount", "--topology", self.topology, "--timeout", self.timeout]);
        command.args(["--shift", &self.shift.to_string()]);
        if let Some(kernel) = self.kernel {
            command.args(["--kernel", kernel]);
        }
        command.args(files.iter().flat_map(|file| ["--copy", file.as_str()])).args(["--", "candor-lab"]);
        command.args(arguments).arg("--json").args(files.iter().filter_map(|file| file.file_name()));
        let output = command.stderr(Stdio::inherit()).output().context("cannot start candor-lab")?;
        let is_yes = match output.status.code() {
            Some(0) => true,
            Some(1) if !output.stdout.is_empty() => false,
            _ => bail!("candor-lab run: {}", output.status),
        };
        Ok((serde_json::from_slice(&output.stdout).context("candor prints other JSON")?, is_yes))
    }
}

/// A gateway with one rule, from one interface to another.
pub(crate) fn one_rule(engine: &str, from: &str, to: &str, echo: bool) -> String {
    format!(
        "engine = \"{engine}\"\n[bus.first]\ninterface = \"{from}\"\n[bus.second]\ninterface = \"{to}\"\n\
         [[route]]\nname = \"all\"\nfrom = \"first\"\nto = \"second\"\nmatch = \"123\"\necho = {echo}\n"
    )
}

/// True if an engine sends by a ring, always or where the ring echoes as its routes require.
pub(crate) fn may_send_by_ring(engine: &str) -> bool {
    engine.ends_with("-mmap") || engine.ends_with("-adaptive")
}

/// Writes a gateway file.
pub(crate) fn write(folder: &Utf8Path, name: &str, text: &str) -> anyhow::Result<Utf8PathBuf> {
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).with_context(|| format!("cannot write {file}"))?;
    Ok(file)
}

/// A directory of this name below the target folder.
pub(crate) fn folder(name: &str) -> anyhow::Result<Utf8PathBuf> {
    let folder = step::metadata()?.target_directory.join(name);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the directory {folder}"))?;
    Ok(folder)
}

/// Keeps what a command has printed.
pub(crate) fn write_result(folder: &Utf8Path, name: &str, result: &serde_json::Value) -> anyhow::Result<Utf8PathBuf> {
    let file = folder.join(format!("{name}.json"));
    std::fs::write(&file, result.to_string()).with_context(|| format!("cannot write {file}"))?;
    Ok(file)
}

/// `candor-lab figure`: prints the table and draws the figure.
pub(crate) fn figure(candor: &Path, which: &str, results: &[Utf8PathBuf], svg: Option<&Path>) -> anyhow::Result<()> {
    let mut command = Command::new(candor);
    command.args(["figure", which]).args(results);
    if let Some(svg) = svg {
        command.arg("--svg").arg(svg);
    }
    step::run(&mut command)
}
