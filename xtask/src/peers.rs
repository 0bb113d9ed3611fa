//! Python packages that tests compare with, each in an environment of its own, [programs of Debian](debian) and [of others](sources).

pub(crate) mod debian;
pub(crate) mod sources;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{step, tools};

/// A Python package that tests compare with.
pub(crate) struct Peer {
    name: &'static str,
    version: &'static str,
    /// What tests read its directory from.
    variable: &'static str,
    /// What it needs.
    requirements: &'static [&'static str],
    /// What tests need of its source package.
    sources: Option<Sources>,
}

struct Sources {
    /// Of the source package, as its registry gives it.
    sha256: &'static str,
    /// Folders of it, the folder that takes them, and how many parts of their path are left out.
    folders: &'static [(&'static str, &'static str, u8)],
}

/// The file that says that a directory is complete. Its number grows with what directories hold.
const COMPLETE: &str = "complete-3";

/// Compared with by the tests of candor-signals.
pub(crate) const CANTOOLS: Peer = Peer {
    name: "cantools",
    version: "45.1.0",
    variable: "CANDOR_CANTOOLS",
    requirements: &[
        "argparse-addons==0.12.0",
        "bitstruct==8.24.0",
        "crccheck==1.3.1",
        "packaging==26.4",
        "python-can==4.6.1",
        "textparser==0.26.2",
        "typing_extensions==4.16.0",
        "wrapt==1.17.3",
    ],
    sources: Some(Sources {
        sha256: "ea1619f3d6108a1c3ecd0f81c952ff2dffd023b244704f6f7a17c4f4dca75f73",
        folders: &[("tests/files", "", 2), ("examples/motor_tester", "files", 1)],
    }),
};

/// Compared with by the tests of candor-e2e.
pub(crate) const AUTOSAR_E2E: Peer =
    Peer { name: "autosar-e2e", version: "1.0.0", variable: "CANDOR_AUTOSAR_E2E", requirements: &[], sources: None };

/// Compared with by the tests of candor-bounds.
pub(crate) const PYRTA: Peer = Peer {
    name: "response-time-analysis",
    version: "0.1.1",
    variable: "CANDOR_PYRTA",
    requirements: &[],
    sources: None,
};

/// Compared with by the tests of candor-secoc.
pub(crate) const SCAPY: Peer = Peer {
    name: "scapy",
    version: "2.8.0",
    variable: "CANDOR_SCAPY",
    requirements: &["cffi==2.1.1", "cryptography==50.0.2", "pycparser==3.12"],
    sources: None,
};

/// Compared with by the tests of candor-link, with python-can, which it needs.
pub(crate) const CAN_CANNELLONI: Peer = Peer {
    name: "can-cannelloni",
    version: "0.1.0",
    variable: "CANDOR_CAN_CANNELLONI",
    requirements: &["packaging==26.4", "python-can==4.6.1", "typing_extensions==4.16.0", "wrapt==1.17.3"],
    sources: None,
};

/// Compared with by the tests of candor-recording; asammdf reads and writes its MDF4 files.
pub(crate) const PYTHON_CAN: Peer = Peer {
    name: "python-can",
    version: "4.6.1",
    variable: "CANDOR_PYTHON_CAN",
    requirements: &[
        "asammdf==8.8.28",
        "canmatrix==1.2",
        "attrs==26.1.0",
        "chardet==7.7.0",
        "click==8.5.1",
        "deflate==0.9.0",
        "isal==1.9.1",
        "lxml==6.1.3",
        "lz4==4.4.5",
        "mcap==1.6.0",
        "numexpr==2.14.2",
        "numpy==2.4.6",
        "packaging==26.4",
        "pandas==3.1.1",
        "pyarrow==26.0.1",
        "python-dateutil==4.0.0",
        "typing_extensions==4.16.0",
        "tzdata==2026.6",
        "vblf==0.3.1",
        "wrapt==1.17.3",
        "zstandard==0.25.0",
        "zstd==1.5.7.2",
    ],
    sources: None,
};

/// Validates the jobs of `candor-lab measure --emit k8s` by the schemas of Kubernetes.
pub(crate) const KUBERNETES_VALIDATE: Peer = Peer {
    name: "kubernetes-validate",
    version: "1.37.0",
    variable: "CANDOR_KUBERNETES_VALIDATE",
    requirements: &[
        "attrs==26.1.0",
        "importlib_resources==7.1.0",
        "jsonschema==4.26.0",
        "jsonschema-specifications==2025.9.1",
        "packaging==26.4",
        "PyYAML==6.0.4",
        "referencing==0.37.0",
        "rpds-py==2026.9.1",
        "typing_extensions==4.16.0",
    ],
    sources: None,
};

/// The variables of all peers that can be installed, for tests.
pub(crate) fn variables() -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let mut variables = Vec::new();
    for peer in [CANTOOLS, AUTOSAR_E2E, PYRTA, SCAPY, CAN_CANNELLONI, PYTHON_CAN, KUBERNETES_VALIDATE] {
        variables.extend(peer.obtain()?.map(|folder| (peer.variable, folder)));
    }
    for tree in [debian::SLURM, debian::PARALLEL, debian::LAVA, debian::TSHARK, debian::MOSQUITTO] {
        variables.extend(tree.variable()?);
    }
    Ok(variables)
}

impl Peer {
    /// `cargo xtask cantools` and the commands of the other peers: prints what the variable must be.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match self.obtain()? {
            Some(folder) => println!("{}", folder.display()),
            None => println!("{}: left out", self.name),
        }
        Ok(())
    }

    /// The directory with `venv`, and with `files` if it has sources. `None`, after printing why, if it cannot be made.
    fn obtain(&self) -> anyhow::Result<Option<PathBuf>> {
        let folder = step::metadata()?.target_directory.join("tools").join(format!("{}-{}", self.name, self.version));
        let folder = folder.into_std_path_buf();
        if folder.join(COMPLETE).exists() {
            return Ok(Some(folder));
        }
        println!("xtask: installing {} {}", self.name, self.version);
        if let Err(error) = self.install(&folder) {
            tools::left_out(self.name, &format!("{error:#}; needs python3-venv, and a registry of Python packages"))?;
            return Ok(None);
        }
        std::fs::write(folder.join(COMPLETE), "")?;
        Ok(Some(folder))
    }

    fn install(&self, folder: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)?;
        step::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")))?;
        let pip = || {
            let mut command = Command::new(folder.join("venv/bin/python"));
            command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
            command
        };
        let package = format!("{}=={}", self.name, self.version);
        step::run(pip().args(["install", "--no-deps"]).args(self.requirements).arg(&package))?;
        let Some(Sources { sha256, folders }) = &self.sources else { return Ok(()) };
        // Hashes can only stand in a file.
        let requirement = folder.join("requirement.txt");
        std::fs::write(&requirement, format!("{package} --hash=sha256:{sha256}\n"))?;
        step::run(
            pip()
                .args(["download", "--no-deps", "--no-binary", ":all:", "--require-hashes", "--requirement"])
                .arg(&requirement)
                .arg("--dest")
                .arg(folder),
        )?;
        let archive = folder.join(format!("{}-{}.tar.gz", self.name, self.version));
        for (part, to, skipped) in *folders {
            let part = format!("{}-{}/{part}", self.name, self.version);
            let skipped = format!("--strip-components={skipped}");
            step::run(
                Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder.join(to)).args([&skipped, &part]),
            )?;
        }
        Ok(())
    }
}
