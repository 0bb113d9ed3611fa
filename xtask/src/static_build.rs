//! The static programs for guests: candor-lab is their first process, candor the device under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use crate::step;

/// Processor of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arch {
    /// That of this machine.
    #[value(name = "x86-64")]
    X86_64,
    Arm64,
}

impl Arch {
    /// The target that makes static binaries.
    pub(crate) const fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => ARM64,
        }
    }
}

pub(crate) const ARM64: &str = "aarch64-unknown-linux-musl";

/// Builds the static programs for guests with the processor of this machine, `candor` and `candor-lab`, and returns the path of
/// the second; the first is next to it, and so is `candor-bare.elf`.
pub(crate) fn lab() -> anyhow::Result<PathBuf> {
    lab_for(Arch::X86_64)
}

/// The same for guests with another processor.
pub(crate) fn lab_for(arch: Arch) -> anyhow::Result<PathBuf> {
    step::run(&mut build_of_lab(arch)?)?;
    let target = step::metadata()?.target_directory.into_std_path_buf();
    let lab = target.join(arch.target()).join("release/candor-lab");
    if arch == Arch::X86_64 {
        bare_metal(&target, &lab)?;
    }
    Ok(lab)
}

/// The build of both programs and of `candor-link`.
pub(crate) fn build_of_lab(arch: Arch) -> anyhow::Result<Command> {
    ensure_target(arch.target())?;
    let packages = ["candor", "candor-lab", "candor-net"];
    let mut command = step::cargo();
    command.args(["build", "--release", "--target", arch.target()]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    Ok(command)
}

/// Builds the gateway without an operating system and puts it next to candor-lab.
fn bare_metal(target: &Path, lab: &Path) -> anyhow::Result<()> {
    ensure_target(BARE_METAL)?;
    step::run(step::cargo().args(["build", "--profile", "bare", "--package", "candor-bare", "--target", BARE_METAL]))?;
    copy_bare_metal(target, lab)
}

/// Puts the gateway without an operating system, as cargo built it in this directory, next to candor-lab.
pub(crate) fn copy_bare_metal(target: &Path, lab: &Path) -> anyhow::Result<()> {
    let program = target.join(BARE_METAL).join("bare/candor-bare");
    std::fs::copy(&program, lab.with_file_name("candor-bare.elf"))
        .with_context(|| format!("cannot copy {}", program.display()))?;
    Ok(())
}

/// A machine without an operating system.
pub(crate) const BARE_METAL: &str = "x86_64-unknown-none";

/// The largest `candor` without symbols that is accepted, in bytes: it runs as root on small boards.
const LARGEST_GATEWAY: u64 = 6_000_000;

/// Fails if the `candor` beside candor-lab is larger, as packages hold it.
pub(crate) fn check_size(lab: &Path) -> anyhow::Result<()> {
    let stripped = lab.with_file_name("candor.stripped");
    step::run(Command::new("strip").arg("-o").arg(&stripped).arg(lab.with_file_name("candor")))?;
    let bytes = std::fs::metadata(&stripped).with_context(|| format!("cannot read {}", stripped.display()))?.len();
    if bytes > LARGEST_GATEWAY {
        bail!("candor has {bytes} bytes without symbols; {LARGEST_GATEWAY} is the end");
    }
    println!("sizes: candor has {bytes} bytes without symbols, at most {LARGEST_GATEWAY}");
    Ok(())
}

/// The build of the gateway alone, as it is released.
pub(crate) fn build_of_gateway() -> anyhow::Result<Command> {
    ensure_target(Arch::X86_64.target())?;
    let mut command = step::cargo();
    command.args(["build", "--release", "--package", "candor", "--bin", "candor", "--target", Arch::X86_64.target()]);
    Ok(command)
}

/// The build of what tests the gateway: a test of the candor crate for guests, `candor-lab` and `candor-link`. It leaves out what
/// takes long, link-time optimisation.
pub(crate) fn build_for_tests(test: &str, arch: Arch) -> anyhow::Result<Command> {
    ensure_target(arch.target())?;
    let mut command = step::cargo();
    command.args(["build", "--profile", "guest-test", "--target", arch.target()]);
    command.args(["--package", "candor", "--test", test]);
    if arch == Arch::X86_64 {
        command.args(["--package", "candor-lab", "--bin", "candor-lab"]);
        command.args(["--package", "candor-net", "--bin", "candor-link"]);
    }
    Ok(command)
}

/// The programs of [`build_of_gateway`] and [`build_for_tests`] in one directory. Returns the path of candor-lab there, and of
/// the test.
pub(crate) fn for_tests(test: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    step::run(&mut build_of_gateway()?)?;
    let test = guest_test(test, Arch::X86_64)?;
    let target = step::metadata()?.target_directory.into_std_path_buf();
    let built = target.join(Arch::X86_64.target());
    let folder = built.join("tested");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for program in ["release/candor", "guest-test/candor-lab", "guest-test/candor-link"] {
        let program = built.join(program);
        let copy = folder.join(program.file_name().unwrap_or_default());
        // Guests of another run may use the last one.
        let part = copy.with_extension("part");
        std::fs::copy(&program, &part).with_context(|| format!("cannot copy {}", program.display()))?;
        std::fs::rename(&part, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    }
    let lab = folder.join("candor-lab");
    bare_metal(&target, &lab)?;
    Ok((lab, test))
}

/// Builds a test of the candor crate for guests and returns its path.
pub(crate) fn guest_test(name: &str, arch: Arch) -> anyhow::Result<PathBuf> {
    let [test] = executables(build_for_tests(name, arch)?, [name])?;
    Ok(test)
}

/// Builds candor-bridge and its test for guests of this processor.
pub(crate) fn bridge() -> anyhow::Result<[PathBuf; 2]> {
    let target = Arch::X86_64.target();
    ensure_target(target)?;
    let mut build = step::cargo();
    build.args(["build", "--profile", "guest-test", "--target", target, "--package", "candor-bridge"]);
    build.args(["--bin", "candor-bridge", "--test", "guest"]);
    executables(build, ["candor-bridge", "guest"])
}

/// Runs a build, and returns the executables of these targets.
fn executables<const N: usize>(mut build: Command, names: [&str; N]) -> anyhow::Result<[PathBuf; N]> {
    let output =
        build.args(["--message-format", "json"]).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("building {}: {}", names.join(" and "), output.status);
    }
    let mut found = [const { None }; N];
    for message in cargo_metadata::Message::parse_stream(&output.stdout[..]).filter_map(Result::ok) {
        if let cargo_metadata::Message::CompilerArtifact(artifact) = message
            && let Some(at) = names.iter().position(|name| *name == artifact.target.name)
            && let Some(path) = artifact.executable
        {
            found[at] = Some(path.into_std_path_buf());
        }
    }
    let missing = names.iter().zip(&found).find(|(_, path)| path.is_none()).map(|(name, _)| *name);
    match missing {
        Some(name) => bail!("cargo built no executable for {name}"),
        None => Ok(found.map(Option::unwrap_or_default)),
    }
}

/// Adds a target by rustup if its standard library is missing.
pub(crate) fn ensure_target(target: &str) -> anyhow::Result<()> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().context("cannot start rustc")?;
    let sysroot = String::from_utf8(sysroot.stdout).context("rustc names a sysroot that is not UTF-8")?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir() {
        return Ok(());
    }
    println!("xtask: adding the Rust target {target}");
    step::run(Command::new("rustup").args(["target", "add", target]))
        .with_context(|| format!("the Rust target {target} is missing, and rustup could not add it"))
}
