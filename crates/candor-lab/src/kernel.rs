//! Kernels for guests: which are available, and how they get into the cache.

mod build_files;
pub mod modules;
mod offered;
mod options;
mod own;
mod pins;
mod replaced;
mod tree;
mod uml;
mod unpacked;

pub use build_files::build_files;
pub use modules::{BadParameter, ModuleParameter};
pub use options::Options;
pub use own::{OwnError, checksum, is_own, is_path};
pub use pins::{Move, names};
pub use replaced::{OtherRelease, ReplacedModule};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candor_io::process::{self, ExtendedState};
use serde::{Deserialize, Serialize};

use crate::arch::Arch;
use crate::cache::{Cache, CacheError};
use crate::observer::Observer;
use crate::packages::{Archive, PackageError};
use pins::Pin;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Testbed {
    /// QEMU with a clock that counts instructions.
    Icount,
    Uml,
}

impl Testbed {
    /// As on the command line and in `CANDOR_TESTBED`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Icount => "icount",
            Self::Uml => "uml",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kernel {
    /// Such as `debian-6.1`, `debian-6.12-rt`, `uml-6.1`.
    pub name: String,
    pub testbed: Testbed,
    /// `uname -r`, if known without unpacking the package.
    pub release: Option<String>,
    /// Of the Debian package.
    pub version: String,
    pub suite: String,
    /// The pinned version; false for one that is cached because the archive no longer has that.
    pub pinned: bool,
    pub cached: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedKernel {
    pub name: String,
    pub testbed: Testbed,
    /// `uname -r`.
    pub release: String,
    pub version: String,
    pub suite: String,
    /// The pinned version that the archive no longer had.
    #[serde(default)]
    instead_of: Option<String>,
    /// Supported processors (user-mode Linux only).
    room: Option<uml::Room>,
    /// Kernels of another [`LAYOUT`] are fetched again.
    layout: u32,
    /// Pinned version.
    #[serde(skip)]
    pin: String,
    #[serde(skip)]
    folder: PathBuf,
    #[serde(skip)]
    own: Option<own::Own>,
    #[serde(skip)]
    replaced: Vec<ReplacedModule>,
}

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("Cannot use {path}")]
    File { path: PathBuf, source: io::Error },
    #[error("The package archive no longer has any version of the kernel {name}")]
    Gone { name: String },
    #[error(transparent)]
    Module(#[from] modules::ModuleError),
    #[error("The package archive has no {package} {version}, which building modules for {kernel} needs")]
    NoBuildFiles { package: String, version: String, kernel: String },
    #[error("No known kind of kernel in the packages of {name}")]
    Odd { name: String },
    #[error(transparent)]
    OtherRelease(#[from] OtherRelease),
    #[error(transparent)]
    Own(#[from] OwnError),
    #[error("Cannot fetch the kernel {name}")]
    Package { name: String, source: PackageError },
    #[error("Cannot fetch the list of kernels")]
    Packages(#[from] PackageError),
    #[error("{path} is not a list of pins")]
    Pins { path: PathBuf, source: toml::de::Error },
    #[error(
        "No kernel {name} for the testbed {}; available: {}; the path of your own contains a / or ends in .deb",
        .testbed.name(), .known.join(", ")
    )]
    Unknown { name: String, testbed: Testbed, known: Vec<String> },
}

impl CachedKernel {
    /// ELF file or bzImage for QEMU, or the program of user-mode Linux.
    pub fn image(&self) -> PathBuf {
        self.own_image().map_or_else(|| self.folder.join(tree::IMAGE), Path::to_owned)
    }

    /// Directory to run it in, for user-mode Linux with libraries of its own.
    pub(crate) fn working_folder(&self) -> Option<&Path> {
        self.folder.join(uml::LIBRARIES).is_dir().then_some(&self.folder)
    }

    /// The checksum of a kernel of the user: of its package, or of the image in its build tree.
    pub(crate) fn sha256(&self) -> Option<&str> {
        self.own.as_ref().map(|own| own.sha256.as_str())
    }

    /// The pinned version; `None` for a kernel of the user.
    pub(crate) fn pin(&self) -> Option<&str> {
        self.own.is_none().then_some(&self.pin)
    }

    /// A sentence for the user if this is not the pinned version.
    fn not_pinned(&self) -> Option<String> {
        let Self { name, version, suite, pin, .. } = self;
        if version == pin {
            return None;
        }
        Some(if self.instead_of.as_ref() == Some(pin) {
            format!(
                "the archive no longer has {name} {pin}, which is pinned: this is {version} of {suite}, the nearest that it has"
            )
        } else {
            format!(
                "{name} {pin}, which is pinned, cannot be fetched now: this is {version} of {suite}, which is cached"
            )
        })
    }

    pub fn fits_processor(&self) -> bool {
        self.room != Some(uml::Room::AsBuilt) || process::extended_state() == ExtendedState::Fits
    }

    /// The remedy if the guest ended as with a damaged kernel: killed, or without a line on its console.
    pub(crate) fn if_damaged(&self, reason: &str, is_silent: bool) -> String {
        let is_killed = ["killed by SIGSEGV", "killed by SIGILL"].iter().any(|start| reason.starts_with(start));
        if !is_killed && !is_silent {
            return String::new();
        }
        if self.own.is_some() {
            return format!("; its image may be damaged or cut off: build or copy {} again", self.name);
        }
        format!("; if its kernel is damaged, remove {}: it is fetched again", self.folder.display())
    }
}

/// All kernels for the processor of the cache.
pub fn list(cache: &Cache) -> Vec<Kernel> {
    let listed = |pin: &Pin| {
        let Pin { name, suite, version, release, .. } = pin.clone();
        let testbed = pin.testbed();
        match cached(cache, pin).filter(|kernel| stands_for(kernel, pin)) {
            None => Kernel { name, testbed, release, version, suite, pinned: true, cached: false },
            Some(kernel) => Kernel {
                name,
                testbed,
                release: Some(kernel.release),
                pinned: kernel.version == version,
                version: kernel.version,
                suite: kernel.suite,
                cached: true,
            },
        }
    };
    pins::of(cache.arch()).iter().map(listed).collect()
}

/// The kernel of this name or path, or the default one, from the cache or else the archive.
///
/// If the archive no longer has the pinned version, it is the nearest one, and the observer is told.
pub fn obtain(
    cache: &Cache,
    testbed: Testbed,
    name: Option<&str>,
    observer: &mut dyn Observer,
) -> Result<CachedKernel, KernelError> {
    if let Some(path) = name.filter(|name| is_path(name)) {
        return own::obtain(cache, testbed, path, observer);
    }
    let pins = pins::of(cache.arch());
    let Some(pin) = pins::find(pins, testbed, name) else {
        let known = pins.iter().filter(|pin| pin.testbed() == testbed).map(|pin| pin.name.clone()).collect();
        return Err(KernelError::Unknown { name: name.unwrap_or("(usual)").to_owned(), testbed, known });
    };
    let kernel = match cached(cache, pin).filter(|kernel| stands_for(kernel, pin)) {
        Some(kernel) => kernel,
        None => fetch(cache, pin, observer)?,
    };
    if let Some(sentence) = kernel.not_pinned() {
        observer.notice(&sentence);
    }
    Ok(kernel)
}

/// Moves pins of a file to the newest versions in the archive, for all processors. Returns what changed, a line each.
pub fn move_pins(
    cache: &Cache,
    file_of_pins: &Path,
    moves: &[Move],
    observer: &mut dyn Observer,
) -> Result<Vec<String>, KernelError> {
    let text = fs::read_to_string(file_of_pins).map_err(file(file_of_pins))?;
    let mut archives = Vec::new();
    for &arch in Arch::ALL {
        let cache = cache.of(arch);
        let lock = cache.lock(observer)?;
        archives.push((arch, offered::offered(&Archive::open(&cache, &lock)?, observer)?));
    }
    let moved = pins::moved(&text, moves, &archives);
    let (text, changes) = moved.map_err(|source| KernelError::Pins { path: file_of_pins.to_owned(), source })?;
    fs::write(file_of_pins, text).map_err(file(file_of_pins))?;
    Ok(changes)
}

/// Version of the layout of a kernel's folder.
const LAYOUT: u32 = 3;
const MANIFEST: &str = "manifest.json";

/// True for the pinned version, and for the one that the archive had instead.
fn stands_for(kernel: &CachedKernel, pin: &Pin) -> bool {
    kernel.version == pin.version || kernel.instead_of.as_ref() == Some(&pin.version)
}

/// Fetches the pinned kernel, or the nearest one that the archive has.
fn fetch(cache: &Cache, pin: &Pin, observer: &mut dyn Observer) -> Result<CachedKernel, KernelError> {
    let lock = cache.lock(observer)?;
    let present = cached(cache, pin);
    // Another process may have fetched it meanwhile.
    if let Some(kernel) = present.clone().filter(|kernel| stands_for(kernel, pin)) {
        return Ok(kernel);
    }
    let failed = |source| KernelError::Package { name: pin.name.clone(), source };
    let archive = Archive::open(cache, &lock)?;
    let what = format!("kernel {}", pin.name);
    let (kernel, tree) = match archive.unpack_files(&what, &pin.files, observer) {
        Ok(tree) => (pin.clone(), tree),
        Err(PackageError::Gone { .. }) => {
            let offered = offered::offered(&archive, observer)?;
            let nearest = offered::nearest(pin, &offered);
            let nearest = nearest.ok_or_else(|| KernelError::Gone { name: pin.name.clone() })?.clone();
            let tree = archive.unpack_files(&what, &nearest.files, observer).map_err(failed)?;
            (nearest, tree)
        }
        Err(source @ PackageError::NoNetwork { .. }) => return present.ok_or_else(|| failed(source)),
        Err(source) => return Err(failed(source)),
    };
    let finished = tree::arrange(cache.workshop(&lock)?.keep(), tree.path(), pin.testbed(), &kernel, &pin.version)?;
    cache.publish(&lock, &finished, &folder_of(pin))?;
    cached(cache, pin).ok_or_else(|| KernelError::Odd { name: pin.name.clone() })
}

fn folder_of(pin: &Pin) -> String {
    format!("kernels/{}", pin.name)
}

/// What the cache has by this name, in any version.
fn cached(cache: &Cache, pin: &Pin) -> Option<CachedKernel> {
    let kernel = read_manifest(&cache.path(&folder_of(pin)))?;
    (kernel.testbed == pin.testbed()).then(|| CachedKernel { pin: pin.version.clone(), ..kernel })
}

fn read_manifest(folder: &Path) -> Option<CachedKernel> {
    let kernel: CachedKernel = serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
    let kernel = CachedKernel { folder: folder.to_owned(), ..kernel };
    // One without its program is fetched again.
    (kernel.layout == LAYOUT && kernel.image().is_file()).then_some(kernel)
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> KernelError {
    let path = path.to_owned();
    move |source| KernelError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(version: &str, instead_of: Option<&str>) -> CachedKernel {
        CachedKernel {
            name: "debian-6.1".to_owned(),
            testbed: Testbed::Icount,
            release: "6.1.0-1-amd64".to_owned(),
            version: version.to_owned(),
            suite: "bookworm".to_owned(),
            instead_of: instead_of.map(str::to_owned),
            room: None,
            layout: LAYOUT,
            pin: "6.1.192-2".to_owned(),
            folder: PathBuf::new(),
            own: None,
            replaced: Vec::new(),
        }
    }

    #[test]
    fn kernel_without_its_program_is_not_cached() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), serde_json::to_vec(&manifest("6.1.1-1", None)).unwrap()).unwrap();
        assert_eq!(read_manifest(folder.path()), None);
        fs::write(folder.path().join("kernel"), "").unwrap();
        let kernel = read_manifest(folder.path()).unwrap();
        let remedy = format!("remove {}", folder.path().display());
        assert!(kernel.if_damaged("killed by SIGSEGV", false).contains(&remedy));
        assert_eq!(kernel.if_damaged("it powered off or restarted", false), "");
        assert!(kernel.if_damaged("it powered off or restarted", true).contains(&remedy));
    }

    #[test]
    fn other_versions_than_the_pinned_one_are_reported() {
        for (version, instead_of, sentence) in [
            ("6.1.192-2", None, None),
            (
                "6.1.200-1",
                Some("6.1.192-2"),
                Some(
                    "the archive no longer has debian-6.1 6.1.192-2, which is pinned: this is 6.1.200-1 of bookworm, the nearest \
                     that it has",
                ),
            ),
            (
                "6.1.176-1",
                None,
                Some(
                    "debian-6.1 6.1.192-2, which is pinned, cannot be fetched now: this is 6.1.176-1 of bookworm, which is \
                     cached",
                ),
            ),
            (
                "6.1.176-1",
                Some("6.1.170-1"),
                Some(
                    "debian-6.1 6.1.192-2, which is pinned, cannot be fetched now: this is 6.1.176-1 of bookworm, which is \
                     cached",
                ),
            ),
        ] {
            assert_eq!(manifest(version, instead_of).not_pinned().as_deref(), sentence);
        }
    }

    #[test]
    fn kernels_are_listed_without_a_network() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let pin = &pins::of(Arch::X86_64)[0];
        let put = |kernel: &CachedKernel| {
            let folder = cache.create(&folder_of(pin)).unwrap();
            fs::write(folder.join(MANIFEST), serde_json::to_vec(kernel).unwrap()).unwrap();
            fs::write(folder.join("kernel"), "").unwrap();
        };
        let first = || {
            let kernel = list(&cache).remove(0);
            (kernel.version, kernel.pinned, kernel.cached)
        };
        assert_eq!(first(), (pin.version.clone(), true, false));
        put(&manifest(&pin.version, None));
        assert_eq!(first(), (pin.version.clone(), true, true));
        put(&manifest("6.1.999-1", Some(&pin.version)));
        assert_eq!(first(), ("6.1.999-1".to_owned(), false, true));
        // Of another pin: the pinned one is fetched.
        put(&manifest("6.1.999-1", Some("6.1.998-1")));
        assert_eq!(first(), (pin.version.clone(), true, false));
    }

    #[test]
    fn wrong_names_list_the_kernels_of_the_testbed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        for name in ["debian-6.1", "..uml-6.1", ""] {
            let error = obtain(&cache, Testbed::Uml, Some(name), &mut crate::observer::Silent).unwrap_err();
            let start = format!("No kernel {name} for the testbed uml; available: uml-6.1");
            assert!(error.to_string().starts_with(&start), "{error}");
        }
        let path = obtain(&cache, Testbed::Uml, Some("../kernels/uml-6.1"), &mut crate::observer::Silent);
        assert!(matches!(path, Err(KernelError::Own(_))), "{path:?}");
    }
}
