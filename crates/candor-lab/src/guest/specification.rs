//! What a guest is to be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::image::{self, ProgramError};
use crate::job::Topology;
use crate::kernel::{ModuleParameter, Testbed};

/// Everything about a guest. Equal specifications of equal files give equal guests, byte for byte.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// Which laboratory.
    pub testbed: Testbed,
    /// Kernel by its name in `candor lab kernels`; `None`: the plain one of the stable release.
    pub kernel: Option<String>,
    /// Which interfaces.
    pub topology: Topology,
    /// Adapters of [`Topology::Wire`] that have these interfaces, whichever bus they are on, such as [`WIRE_EARS`](crate::job::WIRE_EARS).
    pub wire_adapters: Vec<String>,
    /// A static candor: the guest's init, its `candor`, and on the host its guard.
    pub candor: PathBuf,
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
    pub fn new(testbed: Testbed, topology: Topology, candor: PathBuf, command: Vec<String>) -> Self {
        Self {
            testbed,
            kernel: None,
            topology,
            wire_adapters: Vec::new(),
            candor,
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

/// Why there is no static candor for guests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StaticBinaryError {
    /// `CANDOR_STATIC` names a dynamic program.
    #[error("CANDOR_STATIC is {path}, which is no static program; {HOW}")]
    Dynamic {
        /// What it names.
        path: PathBuf,
    },
    /// This candor needs libraries, and no other is named.
    #[error("This candor needs libraries that guests lack; {HOW}, and run that one or name it in CANDOR_STATIC")]
    None,
    /// A file that cannot be looked at.
    #[error(transparent)]
    Unreadable(#[from] ProgramError),
    /// The running program is nowhere.
    #[error("Cannot find the running program")]
    Whereabouts(#[source] std::io::Error),
}

const HOW: &str = "build one with: cargo build --release --package candor --target x86_64-unknown-linux-musl";

/// The candor that guests get: `$CANDOR_STATIC` if it is set, else the running program if it is static.
///
/// # Errors
/// [`StaticBinaryError`], whose text says how to build one.
pub fn static_candor() -> Result<PathBuf, StaticBinaryError> {
    let is_static = |path: &Path| image::linkage(path).map(|linkage| linkage.interpreter.is_none());
    if let Some(path) = std::env::var_os("CANDOR_STATIC").map(PathBuf::from) {
        return if is_static(&path)? { Ok(path) } else { Err(StaticBinaryError::Dynamic { path }) };
    }
    let running = std::env::current_exe().map_err(StaticBinaryError::Whereabouts)?;
    if is_static(&running)? { Ok(running) } else { Err(StaticBinaryError::None) }
}
