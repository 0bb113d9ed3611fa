//! Checks by tools that are not part of the Rust distribution, pinned and built into target/tools.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::step;

/// A program from crates.io.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
    options: &'static [&'static str],
}

pub(crate) const MDBOOK: Tool =
    Tool { name: "mdbook", version: "0.5.4", options: &["--no-default-features", "--features", "search"] };
pub(crate) const CARGO_AUDITABLE: Tool = Tool { name: "cargo-auditable", version: "0.7.7", options: &[] };
pub(crate) const CARGO_CYCLONEDX: Tool = Tool { name: "cargo-cyclonedx", version: "0.5.9", options: &[] };
pub(crate) const CARGO_DEB: Tool = Tool { name: "cargo-deb", version: "3.8.0", options: &["--no-default-features"] };
const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", options: &[] };
const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2", options: &[] };

/// Tests of candor-io without system calls that Miri does not know.
const FOR_MIRI: [&str; 5] = ["can::ancillary", "can::wire_clock", "packet::receive", "version", "machine"];

impl Tool {
    /// The path of this version; builds it if it is missing.
    pub(crate) fn obtain(self) -> anyhow::Result<PathBuf> {
        let folder = step::metadata()?.target_directory.join("tools").into_std_path_buf();
        let path = folder.join("bin").join(self.name);
        // Not every tool prints its version, and cargo keeps a list.
        let installed = std::fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
        let is_right = path.exists() && installed.contains(&format!("\"{} {} ", self.name, self.version));
        if !is_right {
            println!("xtask: building {} {}", self.name, self.version);
            let mut command = step::cargo();
            command.args(["install", "--quiet", "--locked", self.name, "--version", self.version, "--root"]);
            step::run(command.arg(&folder).args(self.options))?;
        }
        Ok(path)
    }
}

/// `cargo xtask deny`: licences, duplicates, sources, and advisories if their database can be fetched.
pub(crate) fn deny() -> anyhow::Result<()> {
    let program = CARGO_DENY.obtain()?;
    let deny = || {
        let mut command = Command::new(&program);
        command.current_dir(step::root()).args(["--locked", "--all-features"]);
        command
    };
    step::run(deny().args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]))?;
    if step::succeeds(deny().args(["fetch", "db"])) {
        return step::run(deny().args(["check", "--disable-fetch", "advisories"]));
    }
    left_out("advisories", "the database of advisories cannot be fetched")
}

/// `cargo xtask msrv`: the workspace builds with the `rust-version` of its manifest.
pub(crate) fn msrv() -> anyhow::Result<()> {
    let packages = step::metadata()?.packages;
    let version =
        packages.iter().find_map(|package| package.rust_version.as_ref()).context("there is no rust-version")?;
    // rustup names its toolchains by minor releases.
    let toolchain = format!("{}.{}", version.major, version.minor);
    let rustc = || {
        let mut command = Command::new("rustup");
        command.args(["run", &toolchain, "rustc", "--version"]);
        command
    };
    let install = ["toolchain", "install", &toolchain, "--profile", "minimal"];
    if !step::succeeds(&mut rustc()) && !step::succeeds(Command::new("rustup").args(install)) {
        return left_out("msrv", &format!("Rust {toolchain} is not installed, and rustup cannot install it"));
    }
    let target = step::metadata()?.target_directory.join("msrv");
    let arguments = ["run", &toolchain, "cargo", "check", "--workspace", "--all-targets", "--locked", "--quiet"];
    let mut command = Command::new("rustup");
    command.args(arguments).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env("CARGO_TARGET_DIR", target);
    step::run(command.current_dir(step::root()))?;
    println!("msrv: the workspace builds with Rust {toolchain}");
    Ok(())
}

#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// Seconds for each target.
    #[arg(default_value_t = 30)]
    pub(crate) seconds: u32,
}

/// `cargo xtask fuzz-smoke`.
pub(crate) fn fuzz_smoke(args: &FuzzArgs) -> anyhow::Result<()> {
    let program = CARGO_FUZZ.obtain()?;
    let corpora = step::root().join("fuzz/corpus");
    let found = step::metadata()?.target_directory.join("fuzz-corpus").into_std_path_buf();
    let targets = std::fs::read_dir(step::root().join("fuzz/fuzz_targets")).context("there are no fuzz targets")?;
    for target in targets {
        let target = target?.path();
        let name = target.file_stem().unwrap_or_default();
        // New inputs go to the first folder.
        let new = found.join(name);
        std::fs::create_dir_all(&new).with_context(|| format!("cannot create {}", new.display()))?;
        let mut command = nightly(Command::new(&program));
        command.arg("run").arg(name).arg(&new).arg(corpora.join(name)).arg("--");
        let limit = format!("-max_total_time={}", args.seconds);
        step::step(&format!("fuzzing {}", name.display()), || step::run(command.args([&limit, "-verbosity=0"])))?;
    }
    Ok(())
}

/// `cargo xtask miri`.
pub(crate) fn miri() -> anyhow::Result<()> {
    let has = || step::succeeds(&mut nightly_cargo(&["miri", "--version"]));
    let add = ["component", "add", "--toolchain", "nightly", "miri", "rust-src"];
    let can_run = has() || step::succeeds(Command::new("rustup").args(add)) && has();
    if !can_run {
        return left_out("miri", "the nightly toolchain has no Miri, and rustup cannot add it");
    }
    let mut command = nightly_cargo(&["miri", "test", "--package", "candor-io", "--lib", "--"]);
    step::run(command.args(FOR_MIRI).env("MIRIFLAGS", "-Zmiri-disable-isolation"))
}

fn nightly(mut command: Command) -> Command {
    command.current_dir(step::root()).env_remove("CARGO").env("RUSTUP_TOOLCHAIN", "nightly");
    command
}

fn nightly_cargo(arguments: &[&str]) -> Command {
    let mut command = nightly(Command::new("cargo"));
    command.args(arguments);
    command
}

/// A check that this machine cannot run: an error if `CANDOR_REQUIRE` lists it.
pub(crate) fn left_out(feature: &str, reason: &str) -> anyhow::Result<()> {
    if step::is_required(feature) {
        bail!("{feature} is required, but {reason}");
    }
    println!("{feature}: left out: {reason}");
    Ok(())
}
