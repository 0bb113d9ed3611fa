//! The programs for guests: candor-lab is their first process, candor the device under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::step;

/// The target that makes static binaries on this machine.
pub(crate) fn target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// Builds the static programs, `candor` and `candor-lab`, and returns the path of the second; the first is next to it.
pub(crate) fn lab() -> anyhow::Result<PathBuf> {
    ensure_target(&target())?;
    let arguments = ["build", "--release", "--package", "candor", "--package", "candor-lab", "--target"];
    step::run(step::cargo().args(arguments).arg(target()))?;
    Ok(step::metadata()?.target_directory.as_std_path().join(target()).join("release/candor-lab"))
}

/// A candor as users run it, with a candor-lab that is built fast, in one directory. Both builds run at the same time. Returns
/// the path of candor-lab.
pub(crate) fn demo() -> anyhow::Result<PathBuf> {
    let target = target();
    ensure_target(&target)?;
    let build = |package: &str, more: &[&str]| {
        let mut command = step::cargo();
        command.args(["build", "--package", package, "--target", &target]).args(more);
        command
    };
    let built = step::metadata()?.target_directory.into_std_path_buf();
    let folder = built.join("demo");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    std::thread::scope(|scope| {
        let lab = scope.spawn(|| step::run(build("candor-lab", &[]).env("CARGO_PROFILE_DEV_DEBUG", "0")));
        step::run(&mut build("candor", &["--release"]))?;
        lab.join().expect("a build does not panic")
    })?;
    for (program, profile) in [("candor", "release"), ("candor-lab", "debug")] {
        let from = built.join(&target).join(profile).join(program);
        std::fs::copy(&from, folder.join(program)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(folder.join("candor-lab"))
}

/// Builds a test of the candor crate for guests and returns its path. The programs that guests start are those of [`lab`], so
/// this build leaves out what makes it slow: link-time optimisation.
pub(crate) fn guest_test(name: &str) -> anyhow::Result<PathBuf> {
    ensure_target(&target())?;
    test(name, &["--profile", "guest-test", "--package", "candor", "--target", &target()])
}

/// Plain builds of candor and candor-lab, for guests where only function matters. Returns the path of candor-lab and that of
/// the test.
pub(crate) fn plain_lab_and_test(name: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    const PACKAGES: [&str; 4] = ["--package", "candor", "--package", "candor-lab"];
    step::run(step::cargo().args(["build"]).args(PACKAGES))?;
    let lab = step::metadata()?.target_directory.as_std_path().join("debug/candor-lab");
    Ok((lab, test(name, &PACKAGES)?))
}

fn test(name: &str, options: &[&str]) -> anyhow::Result<PathBuf> {
    let arguments = ["test", "--no-run", "--test", name, "--message-format", "json"];
    let output =
        step::cargo().args(arguments).args(options).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("building the guest test {name}: {}", output.status);
    }
    cargo_metadata::Message::parse_stream(&output.stdout[..])
        .filter_map(Result::ok)
        .find_map(|message| match message {
            cargo_metadata::Message::CompilerArtifact(artifact) if artifact.target.name == name => artifact.executable,
            _ => None,
        })
        .map(Into::into)
        .with_context(|| format!("cargo built no executable for the guest test {name}"))
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
