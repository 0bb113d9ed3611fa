//! Debian packages whose programs tests start, unpacked and not installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::{step, tools};

/// Programs of Debian, of the release of this machine. apt checks their signatures.
pub(crate) struct Tree {
    name: &'static str,
    /// What tests read its directory from.
    variable: &'static str,
    packages: &'static [&'static str],
    /// Take all that they depend on, too.
    takes_dependencies: bool,
}

/// Runs the scripts of `candor-lab measure --emit slurm`.
pub(crate) const SLURM: Tree = Tree {
    name: "slurm",
    variable: "CANDOR_SLURM",
    packages: &[
        "slurmctld",
        "slurmd",
        "slurm-client",
        "slurm-wlm-basic-plugins",
        "libhwloc15",
        "liblua5.1-0",
        "libmunge2",
    ],
    takes_dependencies: false,
};

/// Runs those of `--emit parallel`.
pub(crate) const PARALLEL: Tree =
    Tree { name: "parallel", variable: "CANDOR_PARALLEL", packages: &["parallel"], takes_dependencies: false };

/// Has the `lava-test-case` of LAVA's test shell.
pub(crate) const LAVA: Tree =
    Tree { name: "lava", variable: "CANDOR_LAVA", packages: &["lava-dispatcher"], takes_dependencies: false };

/// Reads the captures of candor-recording.
pub(crate) const TSHARK: Tree =
    Tree { name: "tshark", variable: "CANDOR_TSHARK", packages: &["tshark"], takes_dependencies: true };

/// The broker of a test of candor-bridge.
pub(crate) const MOSQUITTO: Tree = Tree {
    name: "mosquitto",
    variable: "CANDOR_MOSQUITTO",
    packages: &["mosquitto", "mosquitto-clients"],
    takes_dependencies: true,
};

/// What every Debian has. Programs start with the loader of the machine, which needs its own C library.
const OF_EVERY_MACHINE: [&str; 5] = ["libc6", "dpkg", "tar", "debconf", "install-info"];

impl Tree {
    /// `cargo xtask slurm` and the commands of the others: prints what the variable must be.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match self.obtain()? {
            Some(folder) => println!("{}", folder.display()),
            None => println!("{}: left out", self.name),
        }
        Ok(())
    }

    /// The variable and the directory, which is like `/`. `None`, after printing why, if it cannot be made.
    pub(crate) fn variable(&self) -> anyhow::Result<Option<(&'static str, PathBuf)>> {
        Ok(self.obtain()?.map(|folder| (self.variable, folder)))
    }

    fn obtain(&self) -> anyhow::Result<Option<PathBuf>> {
        let folder = step::metadata()?.target_directory.join("tools").join(format!("debian-{}", self.name));
        let folder = folder.into_std_path_buf();
        if folder.exists() {
            return Ok(Some(folder));
        }
        println!("xtask: unpacking {} of Debian", self.name);
        if let Err(error) = self.unpack(&folder) {
            tools::left_out(self.name, &format!("{error:#}; needs apt, and an archive of Debian packages"))?;
            return Ok(None);
        }
        Ok(Some(folder))
    }

    fn unpack(&self, folder: &Path) -> anyhow::Result<()> {
        let part = folder.with_extension("part");
        let (packages, root) = (part.join("packages"), part.join("root"));
        if part.exists() {
            std::fs::remove_dir_all(&part)?;
        }
        std::fs::create_dir_all(&packages)?;
        let mut download = Command::new("apt-get");
        download.args(["--quiet=2", "download"]).current_dir(&packages);
        if self.takes_dependencies {
            download.args(dependencies(self.packages)?);
        } else {
            download.args(self.packages);
        }
        step::run(&mut download)?;
        for package in std::fs::read_dir(&packages)? {
            step::run(Command::new("dpkg-deb").arg("--extract").arg(package?.path()).arg(&root))?;
        }
        std::fs::rename(&root, folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(std::fs::remove_dir_all(&part)?)
    }
}

/// These packages and all on which they depend.
fn dependencies(packages: &[&str]) -> anyhow::Result<Vec<String>> {
    let others =
        ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"].map(|one| format!("--no-{one}"));
    let listed = step::output(Command::new("apt-cache").args(["depends", "--recurse"]).args(others).args(packages))?;
    // Names of packages stand at the start of a line, names between "<" and ">" are virtual.
    let names = listed.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_alphanumeric()));
    let mut names: Vec<_> = names.filter(|name| !OF_EVERY_MACHINE.contains(name)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}
