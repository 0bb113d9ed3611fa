//! Debian packages without root: a private apt root in the cache. apt checks the signatures.

mod apt;
mod sources;

pub use sources::SourcesError;

use std::io;
use std::path::{Path, PathBuf};

use crate::cache::{Cache, CacheError, CacheLock};
use crate::observer::Observer;

/// The Debian archive of this machine.
#[derive(Debug)]
pub struct Archive<'cache> {
    cache: &'cache Cache,
    lock: &'cache CacheLock,
    configuration: PathBuf,
}

#[derive(Debug)]
pub enum Lists {
    Fresh,
    /// Outdated lists, and why there are no newer ones.
    Old(PackageError),
}

/// An available version of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub version: String,
    /// As in the sources.
    pub suite: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub request: String,
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("The disk with the cache folder {path} is full")]
    DiskFull { path: PathBuf },
    #[error("{program} failed: {message}")]
    Failed { program: &'static str, message: String },
    #[error("Cannot use {path}")]
    File { path: PathBuf, source: io::Error },
    #[error("This machine has no {program}: candor takes kernels from Debian packages")]
    NoApt { program: &'static str },
    #[error("The package archive cannot be reached: {message}")]
    NoNetwork { message: String },
    #[error("The package archive of this machine has no package {package}")]
    NotFound { package: String },
    #[error(transparent)]
    Sources(#[from] SourcesError),
}

/// Fetches a package and its dependencies that are not installed, and unpacks them into a new folder of the workshop.
pub fn fetch(
    cache: &Cache,
    lock: &CacheLock,
    what: &str,
    package: &str,
    observer: &mut dyn Observer,
) -> Result<tempfile::TempDir, PackageError> {
    let archive = Archive::open(cache, lock)?;
    archive.refresh(observer)?;
    let unpack = |observer: &mut dyn Observer| {
        let wanted = archive.missing_closure(package)?;
        archive.unpack(what, &wanted, observer)
    };
    match unpack(observer) {
        // The lists may name a version that is gone.
        Err(PackageError::NoNetwork { .. } | PackageError::Failed { .. }) => {
            archive.update(observer)?;
            unpack(observer)
        }
        result => result,
    }
}

impl<'cache> Archive<'cache> {
    /// Sets up the private root without downloading. Fails on machines without apt or a Debian archive.
    pub fn open(cache: &'cache Cache, lock: &'cache CacheLock) -> Result<Self, PackageError> {
        let configuration = apt::configure(cache)?;
        Ok(Self { cache, lock, configuration })
    }

    /// Fetches the lists of packages if there are none, or if they are older than a day.
    pub fn refresh(&self, observer: &mut dyn Observer) -> Result<Lists, PackageError> {
        match apt::age_of_lists(self.cache) {
            Some(age) if age < apt::LISTS_KEEP => Ok(Lists::Fresh),
            None => self.update(observer).map(|()| Lists::Fresh),
            // Old lists are better than none without a network.
            Some(_) => Ok(self.update(observer).map_or_else(Lists::Old, |()| Lists::Fresh)),
        }
    }

    pub fn update(&self, observer: &mut dyn Observer) -> Result<(), PackageError> {
        observer.stage("Fetching the lists of Debian packages");
        apt::update(self.cache, &self.configuration)
    }

    /// The versions of a package, as apt ranks them.
    pub fn offers(&self, package: &str) -> Result<Vec<Offer>, PackageError> {
        let text = self.apt("apt-cache", &["madison", package])?;
        Ok(text.lines().filter_map(apt::offer).collect())
    }

    /// Names of the packages that a version of a package depends on.
    pub fn depends(&self, package: &str, version: &str) -> Result<Vec<String>, PackageError> {
        let text = self.apt("apt-cache", &["show", &format!("{package}={version}")])?;
        let depends = text.lines().find_map(|line| line.strip_prefix("Depends: ")).unwrap_or_default();
        Ok(depends.split(',').filter_map(|item| item.split_whitespace().next()).map(str::to_owned).collect())
    }

    /// A package and its dependencies that are not installed.
    pub fn missing_closure(&self, package: &str) -> Result<Vec<Wanted>, PackageError> {
        let arguments = ["install", "--print-uris", "--yes", "--no-install-recommends", package];
        let text = self.apt("apt-get", &arguments)?;
        Ok(text.lines().filter_map(apt::wanted).collect())
    }

    /// One version of a package without dependencies.
    pub fn single(&self, package: &str, version: &str) -> Result<Vec<Wanted>, PackageError> {
        let text = self.apt("apt-get", &["download", "--print-uris", &format!("{package}={version}")])?;
        Ok(text.lines().filter_map(apt::wanted).collect())
    }

    /// Downloads packages and unpacks them into one new folder of the workshop.
    pub fn unpack(
        &self,
        what: &str,
        wanted: &[Wanted],
        observer: &mut dyn Observer,
    ) -> Result<tempfile::TempDir, PackageError> {
        let downloads = self.cache.workshop(self.lock)?;
        apt::download(self.cache, &self.configuration, what, wanted, downloads.path(), observer)?;
        observer.stage(&format!("Unpacking {what}"));
        let tree = self.cache.workshop(self.lock)?;
        for package in apt::package_files(downloads.path())? {
            apt::extract(self.cache, &package, tree.path())?;
        }
        Ok(tree)
    }

    fn apt(&self, program: &'static str, arguments: &[&str]) -> Result<String, PackageError> {
        let output = apt::run(self.cache, program, Some(&self.configuration), arguments, Path::new("/"))?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}
