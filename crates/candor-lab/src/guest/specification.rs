use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::image::{self, ProgramError};
use crate::job::Topology;
use crate::kernel::{ModuleParameter, Testbed};

/// Equal specifications of equal files give identical guests.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    pub testbed: Testbed,
    /// Name in `candor-lab kernels`; `None`: the default kernel of the stable release.
    pub kernel: Option<String>,
    pub topology: Topology,
    /// Interfaces of [`Topology::Wire`] that are channels of one adapter, such as [`WIRE_LISTENERS`](crate::job::WIRE_LISTENERS).
    pub wire_adapters: Vec<String>,
    /// candor-lab, with candor next to it: the guest's init, and its guard on the host.
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
            kernel: None,
            topology,
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
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OwnProgramError {
    #[error(
        "Cannot use {} in guests; build candor and candor-lab for this machine with: cargo xtask static, and name their directory in \
         CANDOR_STATIC",
        path.display()
    )]
    Unusable { path: PathBuf, source: ProgramError },
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

/// [`lab_program`] for guests. Fails if a guest could not start it, or the `candor` next to it.
pub fn guest_lab() -> Result<PathBuf, OwnProgramError> {
    let lab = lab_program()?;
    let unusable = |path: &Path, source| OwnProgramError::Unusable { path: path.to_owned(), source };
    for path in image::own_programs(&lab).map_err(|source| unusable(&lab, source))? {
        image::check(&path).map_err(|source| unusable(&path, source))?;
    }
    Ok(lab)
}
