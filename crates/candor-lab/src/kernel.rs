//! Kernels for guests: which are available, and how they get into the cache.

mod catalog;
pub mod modules;
mod uml;
mod unpacked;

pub use modules::{BadParameter, ModuleParameter};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candor_io::process::{self, ExtendedState};
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, CacheError, remove_folder};
use crate::observer::Observer;
use crate::packages::{Archive, PackageError};

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
    /// Such as `debian-6.1`, `backports-6.12-rt`, `uml-6.1`.
    pub name: String,
    pub testbed: Testbed,
    /// `uname -r`, if known without unpacking the package.
    pub release: Option<String>,
    /// Of the Debian package.
    pub version: String,
    pub suite: String,
    /// In the cache, perhaps in an older version.
    pub cached: bool,
    #[serde(skip)]
    package: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedKernel {
    pub name: String,
    pub testbed: Testbed,
    /// `uname -r`.
    pub release: String,
    pub version: String,
    pub suite: String,
    /// Supported processors (user-mode Linux only).
    room: Option<uml::Room>,
    /// Kernels of another [`LAYOUT`] are fetched again.
    layout: u32,
    #[serde(skip)]
    folder: PathBuf,
}

#[derive(Debug)]
pub struct KernelList {
    pub kernels: Vec<Kernel>,
    /// The reason why the list may be incomplete or outdated.
    pub doubt: Option<KernelError>,
}

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("Cannot use {path}")]
    File { path: PathBuf, source: io::Error },
    #[error("No known kind of kernel in the package {package}")]
    Odd { package: String },
    #[error("Cannot fetch the kernel {name}")]
    Package { name: String, source: PackageError },
    #[error("Cannot fetch the list of kernels")]
    Packages(#[from] PackageError),
    #[error("No kernel {name} for the testbed {}; available: {}", .testbed.name(), .known.join(", "))]
    Unknown { name: String, testbed: Testbed, known: Vec<String> },
}

impl CachedKernel {
    /// ELF file or bzImage for QEMU, or the program of user-mode Linux.
    pub fn image(&self) -> PathBuf {
        self.folder.join("kernel")
    }

    pub fn fits_processor(&self) -> bool {
        self.room != Some(uml::Room::AsBuilt) || process::extended_state() == ExtendedState::Fits
    }

    /// The remedy if the guest was killed, as with a damaged kernel.
    pub(crate) fn if_damaged(&self, reason: &str) -> String {
        if !reason.starts_with("killed by SIGSEGV") && !reason.starts_with("killed by SIGILL") {
            return String::new();
        }
        format!("; if its kernel is damaged, remove {}: it is fetched again", self.folder.display())
    }

    pub fn modules(&self) -> PathBuf {
        self.folder.join("modules")
    }
}

/// All kernels in the archive, and cached ones that it no longer offers. Fails only if nothing is cached.
pub fn list(cache: &Cache, observer: &mut dyn Observer) -> Result<KernelList, KernelError> {
    list_of(cached_kernels(cache), || {
        let lock = cache.lock(observer)?;
        let archive = Archive::open(cache, &lock)?;
        let outdated = archive.refresh(observer)?;
        Ok((catalog::offered(&archive)?, outdated))
    })
}

fn list_of(
    cached: Vec<CachedKernel>,
    offered: impl FnOnce() -> Result<(Vec<Kernel>, Option<PackageError>), KernelError>,
) -> Result<KernelList, KernelError> {
    let (mut kernels, doubt) = match offered() {
        Ok((kernels, outdated)) => (kernels, outdated.map(KernelError::from)),
        Err(error) if cached.is_empty() => return Err(error),
        Err(error) => (Vec::new(), Some(error)),
    };
    for CachedKernel { name, testbed, release, version, suite, .. } in cached {
        let package = String::new();
        let present = Kernel { name, testbed, release: Some(release), version, suite, cached: true, package };
        match kernels.iter_mut().find(|kernel| kernel.name == present.name) {
            Some(kernel) => *kernel = present,
            None => kernels.push(present),
        }
    }
    Ok(KernelList { kernels, doubt })
}

/// The kernel of this name, or the default one, from the cache or else the archive.
pub fn obtain(
    cache: &Cache,
    testbed: Testbed,
    name: Option<&str>,
    observer: &mut dyn Observer,
) -> Result<CachedKernel, KernelError> {
    if let Some(kernel) = find_cached(cache, testbed, name) {
        return Ok(kernel);
    }
    let lock = cache.lock(observer)?;
    // Another process may have fetched it meanwhile.
    if let Some(kernel) = find_cached(cache, testbed, name) {
        return Ok(kernel);
    }
    let archive = Archive::open(cache, &lock)?;
    archive.refresh(observer)?;
    let kernels: Vec<Kernel> =
        catalog::offered(&archive)?.into_iter().filter(|kernel| kernel.testbed == testbed).collect();
    let wanted = match name {
        Some(name) => kernels.iter().find(|kernel| kernel.name == name),
        None => kernels.iter().find(|kernel| is_usual(&kernel.name)),
    };
    let Some(kernel) = wanted else {
        let known = kernels.into_iter().map(|kernel| kernel.name).collect();
        return Err(KernelError::Unknown { name: name.unwrap_or("(usual)").to_owned(), testbed, known });
    };
    let fetched = archive.with_current_lists(observer, |observer| {
        let wanted = archive.single(&kernel.package, &kernel.version)?;
        archive.unpack(&format!("kernel {}", kernel.name), &wanted, observer)
    });
    let tree = fetched.map_err(|source| KernelError::Package { name: kernel.name.clone(), source })?;
    let finished = arrange(cache.workshop(&lock)?.keep(), tree.path(), kernel)?;
    let folder = cache.publish(&lock, &finished, &format!("kernels/{}", kernel.name))?;
    read_manifest(&folder).ok_or_else(|| KernelError::Odd { package: kernel.package.clone() })
}

/// Version of the layout of a kernel's folder.
const LAYOUT: u32 = 3;
const MANIFEST: &str = "manifest.json";
/// Parts of the module tree that gateways and laboratory can use.
const KEPT: [&str; 8] = ["arch", "crypto", "drivers/net", "drivers/usb", "fs", "lib", "net", "security"];
const NOT_KEPT: [&str; 3] = ["drivers/net/ethernet", "drivers/net/wireless", "drivers/usb/gadget"];

/// True if it is the default kernel: without real-time patches, of the stable suite.
fn is_usual(name: &str) -> bool {
    !name.ends_with("-rt") && !name.starts_with("backports-")
}

fn find_cached(cache: &Cache, testbed: Testbed, name: Option<&str>) -> Option<CachedKernel> {
    match name {
        Some(name) if name.contains('/') => None,
        Some(name) => read_manifest(&cache.path("kernels").join(name)).filter(|kernel| kernel.testbed == testbed),
        None => {
            cached_kernels(cache).into_iter().rev().find(|kernel| kernel.testbed == testbed && is_usual(&kernel.name))
        }
    }
}

fn cached_kernels(cache: &Cache) -> Vec<CachedKernel> {
    let Ok(entries) = fs::read_dir(cache.path("kernels")) else { return Vec::new() };
    let mut kernels: Vec<_> = entries.filter_map(|entry| read_manifest(&entry.ok()?.path())).collect();
    kernels.sort_by_key(|kernel| (catalog::series_key(&kernel.name), kernel.name.clone()));
    kernels
}

fn read_manifest(folder: &Path) -> Option<CachedKernel> {
    let kernel: CachedKernel = serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
    let kernel = CachedKernel { folder: folder.to_owned(), ..kernel };
    // One without its program is fetched again.
    (kernel.layout == LAYOUT && kernel.image().is_file()).then_some(kernel)
}

/// Moves the files of an unpacked package into the layout of the cache.
fn arrange(target: PathBuf, tree: &Path, kernel: &Kernel) -> Result<PathBuf, KernelError> {
    let odd = || KernelError::Odd { package: kernel.package.clone() };
    let module_parents = match kernel.testbed {
        Testbed::Icount => ["lib/modules", "usr/lib/modules"].as_slice(),
        Testbed::Uml => ["usr/lib/uml/modules"].as_slice(),
    };
    let modules = module_parents.iter().find_map(|parent| only_entry(&tree.join(parent))).ok_or_else(odd)?;
    let release = modules.file_name().and_then(|name| name.to_str()).ok_or_else(odd)?.to_owned();
    let image = match kernel.testbed {
        Testbed::Icount => tree.join(format!("boot/vmlinuz-{release}")),
        Testbed::Uml => tree.join("usr/bin/linux.uml"),
    };
    if !image.is_file() {
        return Err(odd());
    }
    let mut program = fs::read(&image).map_err(file(&image))?;
    let room = match kernel.testbed {
        Testbed::Icount => {
            program = unpacked::unpack(&program).unwrap_or(program);
            None
        }
        Testbed::Uml => Some(uml::widen(&mut program)),
    };
    fs::write(&image, program).map_err(file(&image))?;
    rename(&image, &target.join("kernel"))?;
    for part in NOT_KEPT {
        let path = modules.join("kernel").join(part);
        remove_folder(&path).map_err(file(&path))?;
    }
    for part in KEPT {
        let from = modules.join("kernel").join(part);
        if from.exists() {
            let to = target.join("modules").join(part);
            let parent = to.parent().unwrap_or(&target);
            fs::create_dir_all(parent).map_err(file(parent))?;
            rename(&from, &to)?;
        }
    }
    let manifest = CachedKernel {
        name: kernel.name.clone(),
        testbed: kernel.testbed,
        release,
        version: kernel.version.clone(),
        suite: kernel.suite.clone(),
        room,
        layout: LAYOUT,
        folder: PathBuf::new(),
    };
    let path = target.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from).map_err(file(&path))?;
    fs::write(&path, text).map_err(file(&path))?;
    Ok(target)
}

fn only_entry(folder: &Path) -> Option<PathBuf> {
    Some(fs::read_dir(folder).ok()?.next()?.ok()?.path())
}

fn rename(from: &Path, to: &Path) -> Result<(), KernelError> {
    fs::rename(from, to).map_err(file(from))
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> KernelError {
    let path = path.to_owned();
    move |source| KernelError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached() -> CachedKernel {
        CachedKernel {
            name: "debian-6.1".to_owned(),
            testbed: Testbed::Icount,
            release: "6.1.0-1-amd64".to_owned(),
            version: "6.1.1-1".to_owned(),
            suite: "bookworm".to_owned(),
            room: None,
            layout: LAYOUT,
            folder: PathBuf::new(),
        }
    }

    fn no_network() -> PackageError {
        PackageError::NoNetwork { message: "no".to_owned() }
    }

    #[test]
    fn cached_kernels_are_listed_without_a_network() {
        let list = list_of(vec![cached()], || Err(no_network().into())).unwrap();
        assert!(list.kernels.len() == 1 && list.kernels[0].cached);
        assert!(matches!(list.doubt, Some(KernelError::Packages(_))));
        assert!(list_of(Vec::new(), || Err(no_network().into())).is_err());
    }

    #[test]
    fn kernel_without_its_program_is_not_cached() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), serde_json::to_vec(&cached()).unwrap()).unwrap();
        assert_eq!(read_manifest(folder.path()), None);
        fs::write(folder.path().join("kernel"), "").unwrap();
        let kernel = read_manifest(folder.path()).unwrap();
        assert!(kernel.if_damaged("killed by SIGSEGV").contains(&format!("remove {}", folder.path().display())));
        assert_eq!(kernel.if_damaged("it powered off or restarted"), "");
    }

    #[test]
    fn outdated_lists_are_reported() {
        assert!(list_of(Vec::new(), || Ok((Vec::new(), Some(no_network())))).unwrap().doubt.is_some());
        assert!(list_of(Vec::new(), || Ok((Vec::new(), None))).unwrap().doubt.is_none());
    }
}
