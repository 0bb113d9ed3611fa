use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::arch::Arch;
use crate::image::{self, ProgramError};
use crate::job::Topology;
use crate::kernel::{ModuleParameter, Testbed};

/// Equal specifications of equal files give identical guests.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    pub testbed: Testbed,
    pub arch: Arch,
    /// Name in `candor-lab kernels`, or path of a package or a build tree; `None`: the default kernel of the stable release.
    pub kernel: Option<String>,
    /// Modules in place of those of the kernel, or in addition: files, or directories of them.
    pub modules: Vec<PathBuf>,
    pub topology: Topology,
    /// A second processor, which Linux leaves to a gateway without an operating system ([`bare_metal`](crate::bare_metal)).
    pub bare_metal: bool,
    /// Interfaces of [`Topology::Wire`] that are channels of one adapter, such as [`WIRE_LISTENERS`](crate::job::WIRE_LISTENERS).
    pub wire_adapters: Vec<String>,
    /// candor-lab, with candor next to it: the guard on the host, and the guest's init if the guest has this machine's processor
    /// (`lab_for`).
    pub lab: PathBuf,
    /// Files for the working directory. Programs get their libraries.
    pub copies: Vec<PathBuf>,
    /// Programs of the host for PATH, by name or path, with their libraries.
    pub programs: Vec<String>,
    /// Add busybox, can-utils and iproute2.
    pub tools: bool,
    /// Path in the guest and contents.
    pub files: Vec<(String, Vec<u8>)>,
    pub without_modules: Vec<String>,
    pub module_parameters: Vec<ModuleParameter>,
    /// Besides [`GuestSpec::OWN_VARIABLES`].
    pub environment: BTreeMap<String, String>,
    /// Run as root in /root.
    pub command: Vec<String>,
    /// Directory for the files of `$CANDOR_OUT`.
    pub out: Option<PathBuf>,
    /// On the host's clock.
    pub timeout: Duration,
    /// Duration of an instruction in the testbed icount.
    pub clock: ClockShift,
    /// Lets this process trace the instructions of the testbed icount.
    pub traced: Option<Traced>,
}

/// Files of a guest that can be [traced](crate::profile::Tracer).
#[derive(Clone, Debug)]
pub struct Traced {
    /// QEMU's monitor, a socket.
    pub monitor: PathBuf,
    /// Executed instructions, one per line.
    pub log: PathBuf,
}

/// Duration of an instruction in icount: 2^n ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClockShift(u8);

impl ClockShift {
    pub const ONE_NS: Self = Self(0);

    /// `None` above 10, QEMU's limit.
    pub const fn new(shift: u8) -> Option<Self> {
        if shift <= 10 { Some(Self(shift)) } else { None }
    }

    pub const fn exponent(self) -> u8 {
        self.0
    }
}

impl GuestSpec {
    /// Set by the laboratory; they override [`GuestSpec::environment`].
    pub const OWN_VARIABLES: [&str; 8] = [
        "CANDOR_INSTRUCTION_NS",
        "CANDOR_OUT",
        "CANDOR_PLATFORM",
        "CANDOR_TESTBED",
        "CANDOR_TOPOLOGY",
        "HOME",
        "LD_LIBRARY_PATH",
        "PATH",
    ];

    /// A guest with this command only, for at most ten minutes.
    pub fn new(testbed: Testbed, topology: Topology, lab: PathBuf, command: Vec<String>) -> Self {
        Self {
            testbed,
            arch: Arch::X86_64,
            kernel: None,
            modules: Vec::new(),
            topology,
            bare_metal: false,
            wire_adapters: Vec::new(),
            lab,
            copies: Vec::new(),
            programs: Vec::new(),
            tools: false,
            files: Vec::new(),
            without_modules: Vec::new(),
            module_parameters: Vec::new(),
            environment: BTreeMap::new(),
            command,
            out: None,
            timeout: Duration::from_secs(600),
            clock: ClockShift::ONE_NS,
            traced: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OwnProgramError {
    #[error("Cannot use {path} in {} guests; build candor and candor-lab for them with: {}", arch.name(), how(*arch))]
    Unusable { path: PathBuf, arch: Arch, source: ProgramError },
    #[error("Cannot find the running program")]
    Whereabouts(#[source] std::io::Error),
}

/// The `candor-lab` of `$CANDOR_STATIC`, else the running program.
pub fn lab_program() -> Result<PathBuf, OwnProgramError> {
    match std::env::var_os("CANDOR_STATIC") {
        Some(folder) => Ok(Path::new(&folder).join("candor-lab")),
        None => std::env::current_exe().map_err(OwnProgramError::Whereabouts),
    }
}

const fn how(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "cargo xtask static, and name their directory in CANDOR_STATIC",
        Arch::Arm64 => "cargo xtask static --arch arm64, and name their directory in CANDOR_STATIC_ARM64",
    }
}

/// [`lab_program`] for guests. Fails if a guest could not start it, or the `candor` next to it.
pub fn guest_lab() -> Result<PathBuf, OwnProgramError> {
    usable(Arch::X86_64, lab_program()?)
}

/// The candor-lab for guests with this processor, with candor next to it: `lab` for this machine's, else from
/// `$CANDOR_STATIC_ARM64`, else where cargo builds it next to `lab`.
pub(super) fn lab_for(arch: Arch, lab: &Path) -> Result<PathBuf, OwnProgramError> {
    if arch.is_here() {
        return Ok(lab.to_owned());
    }
    let named = std::env::var_os("CANDOR_STATIC_ARM64").map(|folder| Path::new(&folder).join("candor-lab"));
    usable(arch, named.unwrap_or_else(|| built_next_to(lab, arch)))
}

fn usable(arch: Arch, lab: PathBuf) -> Result<PathBuf, OwnProgramError> {
    let unusable = |path: &Path, source| OwnProgramError::Unusable { path: path.to_owned(), arch, source };
    for path in image::own_programs(&lab).map_err(|source| unusable(&lab, source))? {
        image::check(&path, arch).map_err(|source| unusable(&path, source))?;
    }
    Ok(lab)
}

/// `target/aarch64-unknown-linux-musl/release/candor-lab` for `target/release/candor-lab` and
/// `target/x86_64-unknown-linux-musl/release/candor-lab`.
fn built_next_to(lab: &Path, arch: Arch) -> PathBuf {
    let built = |target: &Path| target.join(arch.target()).join("release/candor-lab");
    let targets = || lab.ancestors().skip(2).take(2).map(built);
    targets().find(|path| path.is_file()).or_else(|| targets().last()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::OWN_PROGRAMS;

    #[test]
    fn programs_for_another_processor_are_next_to_those_of_this_machine() {
        let target = tempfile::tempdir().unwrap();
        let built = target.path().join("aarch64-unknown-linux-musl/release/candor-lab");
        std::fs::create_dir_all(built.parent().unwrap()).unwrap();
        std::fs::write(&built, "").unwrap();
        for lab in ["debug/candor-lab", "x86_64-unknown-linux-musl/release/candor-lab"] {
            assert_eq!(built_next_to(&target.path().join(lab), Arch::Arm64), built);
        }
    }

    #[test]
    fn program_of_this_machine_is_refused_for_another_processor() {
        let folder = tempfile::tempdir().unwrap();
        let lab = folder.path().join("candor-lab");
        for name in OWN_PROGRAMS {
            std::fs::copy(std::env::current_exe().unwrap(), folder.path().join(name)).unwrap();
        }
        assert_eq!(usable(Arch::X86_64, lab.clone()).unwrap(), lab);
        let error = usable(Arch::Arm64, lab).unwrap_err().to_string();
        assert!(error.contains("cargo xtask static --arch arm64"), "{error}");
    }
}
