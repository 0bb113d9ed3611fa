use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::device::gateway_program;
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
    /// Static candor-lab: the guest's init, and its guard on the host.
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
    #[error("Cannot use {path} in guests; {HOW}")]
    Unreadable { path: PathBuf, source: ProgramError },
    #[error("Cannot find the running program")]
    Whereabouts(#[source] std::io::Error),
}

const HOW: &str = "build both programs with: cargo xtask static, and name their directory in CANDOR_STATIC";

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
