use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::arch::Arch;
use crate::device::gateway_program;
use crate::image::{self, ProgramError};
use crate::job::Topology;
use crate::kernel::{ModuleParameter, Testbed};

/// Equal specifications of equal files give identical guests.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    pub testbed: Testbed,
    pub arch: Arch,
    /// Name in `candor-lab kernels`; `None`: the default kernel of the stable release.
    pub kernel: Option<String>,
    pub topology: Topology,
    /// Interfaces of [`Topology::Wire`] that are channels of one adapter, such as [`WIRE_LISTENERS`](crate::job::WIRE_LISTENERS).
    pub wire_adapters: Vec<String>,
    /// Static candor-lab: the guest's guard on the host, and its init if it has the same processor ([`lab_for`]).
    pub lab: PathBuf,
    /// Files for the working directory. Programs get their libraries.
    pub copies: Vec<PathBuf>,
    /// Programs of the host for PATH, by name or path, with their libraries.
    pub programs: Vec<String>,
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
    /// In icount.
    pub clock: ClockShift,
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
            topology,
            wire_adapters: Vec::new(),
            lab,
            copies: Vec::new(),
            programs: Vec::new(),
            files: Vec::new(),
            without_modules: Vec::new(),
            module_parameters: Vec::new(),
            environment: BTreeMap::new(),
            command,
            out: None,
            timeout: Duration::from_secs(600),
            clock: ClockShift::ONE_NS,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StaticBinaryError {
    #[error("{path} needs libraries that guests lack; {HOW}")]
    Dynamic { path: PathBuf },
    #[error("No program for {} guests at {path}; {HOW_FOR_OTHERS}", .arch.name())]
    OtherProcessor { arch: Arch, path: PathBuf },
    #[error("Cannot use {path} in guests; {HOW}")]
    Unreadable { path: PathBuf, source: ProgramError },
    #[error("Cannot find the running program")]
    Whereabouts(#[source] std::io::Error),
}

const HOW: &str = "build both programs with: cargo xtask static, and name their directory in CANDOR_STATIC";

const HOW_FOR_OTHERS: &str =
    "build both programs with: cargo xtask static --arch arm64, and name their directory in CANDOR_STATIC_ARM64";

/// The static `candor-lab` for guests, with `candor` next to it: from `$CANDOR_STATIC`, else the running program.
pub fn static_lab() -> Result<PathBuf, StaticBinaryError> {
    let lab = match std::env::var_os("CANDOR_STATIC") {
        Some(folder) => Path::new(&folder).join("candor-lab"),
        None => std::env::current_exe().map_err(StaticBinaryError::Whereabouts)?,
    };
    for path in [&lab, &gateway_program(&lab)] {
        let unreadable = |source| StaticBinaryError::Unreadable { path: path.clone(), source };
        if image::linkage(path).map_err(unreadable)?.interpreter.is_some() {
            return Err(StaticBinaryError::Dynamic { path: path.clone() });
        }
    }
    Ok(lab)
}

/// The static `candor-lab` for guests with this processor, with `candor` next to it: `lab` for this machine's, else from
/// `$CANDOR_STATIC_ARM64`, else where cargo builds them next to `lab`.
pub(super) fn lab_for(arch: Arch, lab: &Path) -> Result<PathBuf, StaticBinaryError> {
    if arch.is_here() {
        return Ok(lab.to_owned());
    }
    checked(
        arch,
        match std::env::var_os("CANDOR_STATIC_ARM64") {
            Some(folder) => Path::new(&folder).join("candor-lab"),
            None => built_next_to(lab, arch),
        },
    )
}

fn checked(arch: Arch, lab: PathBuf) -> Result<PathBuf, StaticBinaryError> {
    for path in [&lab, &gateway_program(&lab)] {
        let is_right = image::linkage(path).is_ok_and(|linkage| linkage.is_for(arch) && linkage.interpreter.is_none());
        if !is_right {
            return Err(StaticBinaryError::OtherProcessor { arch, path: path.clone() });
        }
    }
    Ok(lab)
}

/// `target/aarch64-unknown-linux-musl/release/candor-lab` for `target/x86_64-unknown-linux-musl/release/candor-lab`.
fn built_next_to(lab: &Path, arch: Arch) -> PathBuf {
    let release = lab.parent().unwrap_or(lab);
    let target = release.parent().and_then(Path::parent).unwrap_or(release);
    target.join(arch.target()).join("release").join("candor-lab")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_for_another_processor_are_next_to_those_of_this_machine() {
        let found = built_next_to(Path::new("/t/x86_64-unknown-linux-musl/release/candor-lab"), Arch::Arm64);
        assert_eq!(found, Path::new("/t/aarch64-unknown-linux-musl/release/candor-lab"));
    }

    #[test]
    fn program_of_this_machine_is_refused_for_another_processor() {
        let here = std::env::current_exe().unwrap();
        assert_eq!(lab_for(Arch::X86_64, &here).unwrap(), here);
        let error = checked(Arch::Arm64, here).unwrap_err().to_string();
        assert!(error.contains("cargo xtask static --arch arm64"), "{error}");
    }
}
