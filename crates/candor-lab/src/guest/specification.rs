//! What a guest is to be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::device::gateway_program;
use crate::image::{self, ProgramError};
use crate::job::Topology;
use crate::kernel::{ModuleParameter, Testbed};

/// Everything about a guest. Equal specifications of equal files give equal guests, byte for byte.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// Which laboratory.
    pub testbed: Testbed,
    /// Kernel by its name in `candor-lab kernels`; `None`: the plain one of the stable release.
    pub kernel: Option<String>,
    /// Which interfaces.
    pub topology: Topology,
    /// Adapters of [`Topology::Wire`] that have these interfaces, whichever bus they are on, such as [`WIRE_EARS`](crate::job::WIRE_EARS).
    pub wire_adapters: Vec<String>,
    /// A static candor: the guest's init, its `candor`, and on the host its guard.
    pub lab: PathBuf,
    /// Files for the working directory, by the last part of their name. Programs bring their libraries.
    pub copies: Vec<PathBuf>,
    /// Programs of the host for the guest's PATH, by name or path. They bring their libraries.
    pub programs: Vec<String>,
    /// Other files: path in the guest and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Kernel modules that the guest must not have.
    pub without_modules: Vec<String>,
    /// What kernel modules are loaded with.
    pub module_parameters: Vec<ModuleParameter>,
    /// Environment of the command, besides [`GuestSpec::OWN_VARIABLES`].
    pub environment: BTreeMap<String, String>,
    /// Program and arguments, run as root in /root.
    pub command: Vec<String>,
    /// Folder for the files that the command leaves in `$CANDOR_OUT`.
    pub out: Option<PathBuf>,
    /// The guest is ended after this time on the host's clock.
    pub timeout: Duration,
    /// How long an instruction lasts (icount only).
    pub clock: ClockShift,
}

/// How long an instruction of the icount laboratory lasts: 2 to the power of this, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClockShift(u8);

impl ClockShift {
    /// 1 ns.
    pub const ONE_NS: Self = Self(0);

    /// `2^shift` ns, up to QEMU's limit of 10; `None` beyond.
    #[must_use]
    pub const fn new(shift: u8) -> Option<Self> {
        if shift <= 10 { Some(Self(shift)) } else { None }
    }

    /// The exponent.
    #[must_use]
    pub const fn exponent(self) -> u8 {
        self.0
    }
}

impl GuestSpec {
    /// Variables that the laboratory sets, whatever [`GuestSpec::environment`] has.
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

    /// A guest that runs this command and nothing else, for at most ten minutes.
    #[must_use]
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

/// Why there are no static programs for guests.
#[derive(Debug, thiserror::Error)]
pub enum StaticBinaryError {
    /// A dynamic program.
    #[error("{path} needs libraries that guests lack; {HOW}")]
    Dynamic {
        /// Which.
        path: PathBuf,
    },
    /// A file that cannot be looked at.
    #[error("Cannot use {path} in guests; {HOW}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: ProgramError,
    },
    /// The running program is nowhere.
    #[error("Cannot find the running program")]
    Whereabouts(#[source] std::io::Error),
}

const HOW: &str = "build both programs with: cargo xtask static, and name their folder in CANDOR_STATIC";

/// The `candor-lab` that guests get, next to the `candor` that they get: those of the folder `$CANDOR_STATIC` if it is set, else
/// the running program and its neighbour. Both have to be static.
///
/// # Errors
/// [`StaticBinaryError`], whose text says how to build them.
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
