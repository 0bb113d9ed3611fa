//! Debian packages without root: a private apt root in the cache. apt checks the signatures.

mod apt;
mod lists;
mod sources;
mod version;

pub use lists::Listed;
pub use sources::SourcesError;
pub use version::compare;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sources::Machine;
use tempfile::TempDir;

use crate::arch::Arch;
use crate::cache::{Cache, CacheError, CacheLock};
use crate::observer::Observer;

#[derive(Debug)]
pub struct Archive<'cache> {
    cache: &'cache Cache,
    lock: &'cache CacheLock,
    configuration: PathBuf,
    machine: Machine,
}

/// A package file of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolFile {
    /// Below the archive's root: `pool/…`.
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    pub request: String,
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("The disk with the cache directory {path} is full")]
    DiskFull { path: PathBuf },
    #[error("{program} failed: {message}")]
    Failed { program: &'static str, message: String },
    #[error("Cannot use {path}")]
    File { path: PathBuf, source: io::Error },
    #[error("The package archive no longer has {path}")]
    Gone { path: String },
    #[error("This machine has no {program}: candor takes kernels from Debian packages")]
    NoApt { program: &'static str },
    #[error("Cannot reach the package archive, which is needed once (later runs work offline): {message}")]
    NoNetwork { message: String },
    #[error("The package archive of this machine has no package {package}")]
    NotFound { package: String },
    #[error(transparent)]
    Sources(#[from] SourcesError),
    #[error("{program} cannot read {path}; was it downloaded completely? It says: {message}")]
    Unreadable { program: &'static str, path: PathBuf, message: String },
}

/// A program of a package: `cached` looks for it, and if necessary the package is unpacked into this directory of the cache.
pub fn obtain<T, E: From<PackageError>>(
    cache: &Cache,
    package: &str,
    folder: &str,
    observer: &mut dyn Observer,
    cached: impl Fn() -> Result<T, E>,
) -> Result<T, E> {
    if let Ok(found) = cached() {
        return Ok(found);
    }
    let lock = cache.lock(observer).map_err(PackageError::from)?;
    // Another process may have fetched it meanwhile.
    if let Ok(found) = cached() {
        return Ok(found);
    }
    let archive = Archive::open(cache, &lock)?;
    archive.refresh(observer)?;
    let tree = archive.with_current_lists(observer, |observer| {
        let wanted = archive.missing_closure(package)?;
        archive.unpack(package, &wanted, observer)
    })?;
    cache.publish(&lock, &tree.keep(), folder).map_err(PackageError::from)?;
    cached()
}

/// An archive of ar whose first member is that of a package.
const PACKAGE_MAGIC: &[u8] = b"!<arch>\ndebian-binary";

/// Fields of a package file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    pub package: String,
    pub version: String,
    /// Debian's name of a processor, or `all`.
    pub architecture: String,
    pub depends: String,
}

impl Control {
    /// The packages that it depends on and that contain the image or the modules of its kernel.
    pub fn parts(&self) -> Vec<&str> {
        let is_part = |name: &&str| name.starts_with("linux-binary-") || name.starts_with("linux-modules-");
        self.depended().filter(is_part).collect()
    }

    /// The package that it depends on and that contains the options of its kernel and the list of built-in modules.
    pub fn base(&self) -> Option<&str> {
        self.depended().find(|name| name.starts_with("linux-base-"))
    }

    fn depended(&self) -> impl Iterator<Item = &str> {
        self.depends.split(',').filter_map(|item| item.split_whitespace().next())
    }

    /// The usual file name of another package of the same build.
    pub fn file_of(&self, package: &str) -> String {
        let version = self.version.split_once(':').map_or(self.version.as_str(), |(_epoch, version)| version);
        format!("{package}_{version}_{}.deb", self.architecture)
    }
}

/// Reads the fields of a package file of the user; `None` if it is another kind of file.
pub fn control(cache: &Cache, package: &Path) -> Result<Option<Control>, PackageError> {
    let failed = |source| PackageError::File { path: package.to_owned(), source };
    let mut head = Vec::new();
    let file = File::open(package).map_err(failed)?;
    file.take(PACKAGE_MAGIC.len() as u64).read_to_end(&mut head).map_err(failed)?;
    if head != PACKAGE_MAGIC {
        return Ok(None);
    }
    let path = package.to_string_lossy();
    let field = |name: &str| {
        let output = apt::run(cache, "dpkg-deb", None, &["--field", &path, name]).map_err(unreadable(package))?;
        Ok::<_, PackageError>(String::from_utf8_lossy(&output).trim().to_owned())
    };
    Ok(Some(Control {
        package: field("Package")?,
        version: field("Version")?,
        architecture: field("Architecture")?,
        depends: field("Depends")?,
    }))
}

/// Unpacks package files of the user into one new directory of the workshop.
pub fn unpack_local(
    cache: &Cache,
    lock: &CacheLock,
    packages: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<TempDir, PackageError> {
    let tree = cache.workshop(lock)?;
    for package in packages {
        observer.stage(&format!("Unpacking {}", package.display()));
        apt::extract(cache, package, tree.path()).map_err(unreadable(package))?;
    }
    Ok(tree)
}

/// The reason why a package file of the user cannot be read.
fn unreadable(package: &Path) -> impl Fn(PackageError) -> PackageError {
    let path = package.to_owned();
    move |error| match error {
        PackageError::Failed { program, message } => PackageError::Unreadable { program, path: path.clone(), message },
        other => other,
    }
}

/// In hexadecimal digits.
pub fn sha256(cache: &Cache, path: &Path) -> Result<String, PackageError> {
    Ok(sha256_each(cache, &[path.to_owned()])?.concat())
}

/// Of each file, in hexadecimal digits.
pub fn sha256_each(cache: &Cache, paths: &[PathBuf]) -> Result<Vec<String>, PackageError> {
    let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    let arguments: Vec<&str> = ["--zero", "--"].into_iter().chain(paths.iter().map(AsRef::as_ref)).collect();
    let output = String::from_utf8_lossy(&apt::run(cache, "sha256sum", None, &arguments)?).into_owned();
    let digits = |line: &str| line.chars().take_while(char::is_ascii_hexdigit).collect();
    Ok(output.split_terminator('\0').map(digits).collect())
}

impl<'cache> Archive<'cache> {
    /// Sets up the private root without downloading. Fails on machines without apt or a Debian archive.
    pub fn open(cache: &'cache Cache, lock: &'cache CacheLock) -> Result<Self, PackageError> {
        let (configuration, machine) = apt::configure(cache)?;
        Ok(Self { cache, lock, configuration, machine })
    }

    /// Fetches the lists of packages if there are none, or if they are older than a day. Returns why they are outdated: old
    /// lists are better than none without a network.
    pub fn refresh(&self, observer: &mut dyn Observer) -> Result<Option<PackageError>, PackageError> {
        match apt::age_of_lists(self.cache) {
            Some(age) if age < apt::LISTS_KEEP => Ok(None),
            None => self.update(observer).map(|()| None),
            Some(_) => Ok(self.update(observer).err()),
        }
    }

    /// Tries again with new lists if `fetch` fails: old ones may name a version that the archive has replaced.
    pub fn with_current_lists<T>(
        &self,
        observer: &mut dyn Observer,
        fetch: impl Fn(&mut dyn Observer) -> Result<T, PackageError>,
    ) -> Result<T, PackageError> {
        match fetch(observer) {
            Err(PackageError::NoNetwork { .. } | PackageError::Failed { .. }) => {
                self.update(observer)?;
                fetch(observer)
            }
            result => result,
        }
    }

    fn update(&self, observer: &mut dyn Observer) -> Result<(), PackageError> {
        observer.stage("Fetching the lists of Debian packages");
        apt::update(self.cache, &self.configuration)
    }

    /// The processor of its packages.
    pub const fn arch(&self) -> Arch {
        self.cache.arch()
    }

    /// A package and its dependencies that are not installed.
    pub fn missing_closure(&self, package: &str) -> Result<Vec<Download>, PackageError> {
        let arguments = ["install", "--print-uris", "--yes", "--no-install-recommends", package];
        let text = self.apt("apt-get", &arguments)?;
        Ok(text.lines().filter_map(apt::download_of).collect())
    }

    /// Downloads packages and unpacks them into one new directory of the workshop.
    pub fn unpack(
        &self,
        what: &str,
        wanted: &[Download],
        observer: &mut dyn Observer,
    ) -> Result<TempDir, PackageError> {
        let downloads = self.cache.workshop(self.lock)?;
        apt::download(self.cache, &self.configuration, what, wanted, downloads.path(), observer)?;
        self.unpack_all(what, downloads.path(), observer)
    }

    /// The same for files with known checksums, which needs no lists.
    pub fn unpack_files(
        &self,
        what: &str,
        files: &[PoolFile],
        observer: &mut dyn Observer,
    ) -> Result<TempDir, PackageError> {
        let downloads = self.cache.workshop(self.lock)?;
        apt::fetch(self.cache, &self.configuration, &self.machine, what, files, downloads.path(), observer)?;
        self.unpack_all(what, downloads.path(), observer)
    }

    fn unpack_all(&self, what: &str, downloads: &Path, observer: &mut dyn Observer) -> Result<TempDir, PackageError> {
        observer.stage(&format!("Unpacking {what}"));
        let tree = self.cache.workshop(self.lock)?;
        for package in apt::package_files(downloads)? {
            apt::extract(self.cache, &package, tree.path())?;
        }
        Ok(tree)
    }

    /// All versions of packages in every suite of the archive, whose lists are fetched. A name that ends in `-` is a
    /// prefix.
    pub fn listed(&self, names: &[&str], observer: &mut dyn Observer) -> Result<Vec<Listed>, PackageError> {
        observer.stage("Fetching the lists of all suites of Debian");
        let mut found = Vec::new();
        for (suite, text) in apt::every_list(self.cache, &self.configuration, &self.machine)? {
            found.extend(lists::parse(&text, &suite, names));
        }
        Ok(found)
    }

    fn apt(&self, program: &'static str, arguments: &[&str]) -> Result<String, PackageError> {
        let output = apt::run(self.cache, program, Some(&self.configuration), arguments)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}
