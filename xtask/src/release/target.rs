//! The targets of a release, and how each is compiled.

use std::path::PathBuf;

use anyhow::Context as _;

use super::Release;
use crate::{static_build, step, tools};

/// A kind of machine that a release is for.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) triple: &'static str,
    /// Program that links, if it does not come with Rust.
    linker: Option<&'static str>,
    /// Packages: the laboratory only where it is static, because guests start it.
    pub(crate) packages: &'static [&'static str],
    /// Packages and their variants, in `Cargo.toml` of the package, that are not the usual ones.
    pub(crate) variants: &'static [(&'static str, &'static str)],
    /// Names of the architecture for rpm and for container images, if there are any.
    pub(crate) rpm_and_image: Option<(&'static str, &'static str)>,
}

pub(crate) const TARGETS: [Target; 4] = [
    Target {
        triple: "x86_64-unknown-linux-musl",
        linker: None,
        packages: &["candor", "candor-lab"],
        variants: &[("candor-lab", "amd64")],
        rpm_and_image: Some(("x86_64", "amd64")),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        linker: None,
        packages: &["candor", "candor-lab"],
        variants: &[],
        rpm_and_image: Some(("aarch64", "arm64")),
    },
    Target {
        triple: "armv7-unknown-linux-gnueabihf",
        linker: Some("arm-linux-gnueabihf-gcc"),
        packages: &["candor"],
        variants: &[("candor", "armhf")],
        rpm_and_image: None,
    },
    Target {
        triple: "riscv64gc-unknown-linux-gnu",
        linker: Some("riscv64-linux-gnu-gcc"),
        packages: &["candor"],
        variants: &[("candor", "glibc")],
        rpm_and_image: None,
    },
];

/// The target whose programs run here.
pub(crate) fn of_this_machine() -> anyhow::Result<&'static Target> {
    let host = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    TARGETS.iter().find(|target| target.triple == host).with_context(|| format!("no release is made for {host}"))
}

/// Targets by their triples; all for none.
pub(super) fn selected(triples: &[String]) -> anyhow::Result<Vec<&'static Target>> {
    if triples.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let known = || TARGETS.map(|target| target.triple).join(", ");
    let find = |triple: &String| TARGETS.iter().find(|target| target.triple == triple);
    let unknown = |triple: &String| format!("no release is made for {triple}; targets: {}", known());
    triples.iter().map(|triple| find(triple).with_context(|| unknown(triple))).collect()
}

impl Release {
    /// The folder of the compiled programs.
    pub(crate) fn programs(&self, target: &Target) -> PathBuf {
        self.built.join(target.triple).join("dist")
    }

    /// Compiles the programs of a target with their list of dependencies inside and without names of this machine's folders,
    /// and writes the pages and completions that come with them.
    pub(crate) fn build(&self, target: &Target) -> anyhow::Result<()> {
        static_build::ensure_target(target.triple)?;
        let home = || std::env::home_dir().map(|home| home.join(".cargo"));
        let registry =
            std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).context("there is no CARGO_HOME")?;
        // The last that fits counts.
        let folders = [(step::root(), "candor"), (registry, "cargo"), (self.built.clone(), "target")];
        let flags = folders.map(|(folder, name)| format!("--remap-path-prefix={}=/{name}", folder.display()));
        // Cargo 1.95 ignores `strip` of profile dist for candor, whose opt-level is set by package.
        let flags = flags.iter().map(String::as_str).chain(["-Cstrip=symbols"]).collect::<Vec<_>>();
        let linker = target.linker.map(|linker| format!("target.{}.linker={linker:?}", target.triple));
        let mut cargo = self.command(tools::CARGO_AUDITABLE.obtain()?);
        cargo.args(["auditable", "build", "--locked", "--profile", "dist", "--target", target.triple]);
        cargo.args(target.packages.iter().flat_map(|package| ["--package", package]));
        // In the package candor.
        cargo.args(["--package", "candor-net"]);
        cargo.args(more_flags(target.triple, &flags)).args(linker.iter().flat_map(|linker| ["--config", linker]));
        cargo.env("CARGO_TARGET_DIR", &self.built);
        step::run(&mut cargo).context("if crates are missing, cargo fetch --locked downloads them")?;
        if target.triple == static_build::Arch::X86_64.target() {
            self.build_bare_metal(target, &flags)?;
        }
        target.packages.iter().try_for_each(|package| self.write_pages(target, package))
    }
    /// Compiles the gateway without an operating system, and puts it next to candor-lab.
    fn build_bare_metal(&self, target: &Target, flags: &[&str]) -> anyhow::Result<()> {
        static_build::ensure_target(static_build::BARE_METAL)?;
        let mut cargo = self.command("cargo");
        cargo.args(["build", "--locked", "--profile", "bare", "--package", "candor-bare"]);
        cargo.args(["--target", static_build::BARE_METAL]).env("CARGO_TARGET_DIR", &self.built);
        cargo.args(more_flags(static_build::BARE_METAL, flags));
        step::run(&mut cargo)?;
        static_build::copy_bare_metal(&self.built, &self.programs(target).join("candor-lab"))
    }
}

/// Arguments that give the compiler flags after those of `.cargo/config.toml`.
fn more_flags(triple: &str, flags: &[&str]) -> [String; 2] {
    ["--config".to_owned(), format!("target.{triple}.rustflags={flags:?}")]
}
