//! QEMU: installed, or from packages in the cache.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::arch::Arch;
use crate::cache::Cache;
use crate::observer::Observer;
use crate::packages::{self, PackageError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    pub version: String,
    program: PathBuf,
    /// Unpacked packages, if it is not installed.
    tree: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    #[error("QEMU at {program} does not run: {message}")]
    DoesNotRun { program: PathBuf, message: String },
    #[error("QEMU is not installed, and downloading it failed")]
    Package(#[from] PackageError),
}

impl Qemu {
    /// Installed QEMU if it works, else from the cache, else from the archive.
    pub fn obtain(cache: &Cache, arch: Arch, observer: &mut dyn Observer) -> Result<Self, QemuError> {
        let names = Names::of(arch);
        if let Some(installed) = installed(names.program).and_then(|program| Self::check(program, None).ok()) {
            return Ok(installed);
        }
        packages::obtain(cache, names.package, names.folder, observer, || Self::cached(cache, names))
    }

    /// Program, first arguments and environment.
    pub fn command(&self) -> (PathBuf, Vec<OsString>, Vec<(OsString, OsString)>) {
        let Some(tree) = &self.tree else { return (self.program.clone(), Vec::new(), Vec::new()) };
        let mut arguments = Vec::new();
        for folder in FIRMWARE {
            arguments.extend(["-L".into(), tree.join(folder).into_os_string()]);
        }
        let libraries = std::env::join_paths(LIBRARIES.map(|folder| tree.join(folder))).unwrap_or_default();
        let modules = tree.join(LIBRARIES[0]).join("qemu").into_os_string();
        let environment = vec![("LD_LIBRARY_PATH".into(), libraries), ("QEMU_MODULE_DIR".into(), modules)];
        (self.program.clone(), arguments, environment)
    }

    fn cached(cache: &Cache, names: Names) -> Result<Self, QemuError> {
        let tree = cache.path(names.folder);
        Self::check(tree.join("usr/bin").join(names.program), Some(tree))
    }

    /// Runs it once: libraries may have been removed since it was fetched.
    fn check(program: PathBuf, tree: Option<PathBuf>) -> Result<Self, QemuError> {
        let qemu = Self { version: String::new(), program, tree };
        let does_not_run = |message: String| QemuError::DoesNotRun { program: qemu.program.clone(), message };
        let (program, arguments, environment) = qemu.command();
        let mut command = Command::new(program);
        command.args(arguments).arg("--version").env_clear().envs(environment).stdin(Stdio::null());
        let output = command.output().map_err(|error| does_not_run(error.to_string()))?;
        if !output.status.success() {
            return Err(does_not_run(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().trim_start_matches("QEMU emulator version ").to_owned();
        Ok(Self { version, ..qemu })
    }
}

#[derive(Clone, Copy, Debug)]
struct Names {
    package: &'static str,
    program: &'static str,
    /// Name of its directory in the cache.
    folder: &'static str,
}

impl Names {
    const fn of(arch: Arch) -> Self {
        match arch {
            Arch::X86_64 => Self { package: "qemu-system-x86", program: "qemu-system-x86_64", folder: "qemu" },
            Arch::Arm64 => Self { package: "qemu-system-arm", program: "qemu-system-aarch64", folder: "qemu-arm" },
        }
    }
}

const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
const FIRMWARE: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|program| program.is_file())
}
