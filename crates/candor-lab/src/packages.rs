//! Debian packages without root: a private apt root in the cache, whose signatures apt itself checks.

mod apt;
mod sources;

pub use sources::SourcesError;

use std::io;
use std::path::{Path, PathBuf};

use crate::cache::{Cache, CacheError, CacheLock};
use crate::observer::Observer;

/// The packages that this machine's Debian archive offers.
#[derive(Debug)]
pub struct Archive<'cache> {
    cache: &'cache Cache,
    lock: &'cache CacheLock,
    configuration: PathBuf,
}

/// What [`Archive::refresh`] leaves.
#[derive(Debug)]
pub enum Lists {
    /// Lists of today.
    Fresh,
    /// Older ones, and why there are no newer ones.
    Old(PackageError),
}

/// One version of a package that can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Debian version.
    pub version: String,
    /// Suite that offers it, as the sources name it.
    pub suite: String,
}

/// One package to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// `name=version`.
    pub request: String,
    /// Size of the package file.
    pub bytes: u64,
}

/// Why packages cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The file system is full.
    #[error("The disk with the cache folder {path} is full")]
    DiskFull {
        /// The cache.
        path: PathBuf,
    },
    /// A program ended with an error.
    #[error("{program} failed: {message}")]
    Failed {
        /// Which.
        program: &'static str,
        /// Its own last words.
        message: String,
    },
    /// A file cannot be read or written.
    #[error("Cannot use {path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// apt or dpkg is not installed.
    #[error("This machine has no {program}: candor takes kernels from Debian packages")]
    NoApt {
        /// Which program is missing.
        program: &'static str,
    },
    /// The archive does not answer.
    #[error("The package archive cannot be reached: {message}")]
    NoNetwork {
        /// What apt says.
        message: String,
    },
    /// The archive does not have it.
    #[error("The package archive of this machine has no package {package}")]
    NotFound {
        /// Which.
        package: String,
    },
    /// The sources of this machine are of no use.
    #[error(transparent)]
    Sources(#[from] SourcesError),
}

/// Fetches a package with all that is not installed here, and unpacks it into a new folder of the cache's workshop.
///
/// # Errors
/// Any [`PackageError`]; nothing is left behind then.
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
    /// Sets the private root up, without any download.
    ///
    /// # Errors
    /// [`PackageError::NoApt`] or [`PackageError::Sources`] where there is no Debian archive to take packages from.
    pub fn open(cache: &'cache Cache, lock: &'cache CacheLock) -> Result<Self, PackageError> {
        let configuration = apt::configure(cache)?;
        Ok(Self { cache, lock, configuration })
    }

    /// Fetches the lists of packages if there are none, or if they are older than a day.
    ///
    /// # Errors
    /// [`PackageError::NoNetwork`] if they cannot be had and there are no older ones.
    pub fn refresh(&self, observer: &mut dyn Observer) -> Result<Lists, PackageError> {
        match apt::age_of_lists(self.cache) {
            Some(age) if age < apt::LISTS_KEEP => Ok(Lists::Fresh),
            None => self.update(observer).map(|()| Lists::Fresh),
            // Old lists are better than none on a machine that is off the network.
            Some(_) => Ok(self.update(observer).map_or_else(Lists::Old, |()| Lists::Fresh)),
        }
    }

    /// Fetches the lists of packages.
    ///
    /// # Errors
    /// [`PackageError::NoNetwork`] if they cannot be had.
    pub fn update(&self, observer: &mut dyn Observer) -> Result<(), PackageError> {
        observer.stage("Fetching the lists of Debian packages");
        apt::update(self.cache, &self.configuration)
    }

    /// The versions of a package, best first as apt ranks them within a suite.
    ///
    /// # Errors
    /// [`PackageError::Failed`] if apt does not understand its own lists.
    pub fn offers(&self, package: &str) -> Result<Vec<Offer>, PackageError> {
        let text = self.apt("apt-cache", &["madison", package])?;
        Ok(text.lines().filter_map(apt::offer).collect())
    }

    /// The packages that a version of a package depends on, as apt prints them.
    ///
    /// # Errors
    /// [`PackageError::NotFound`] if there is no such version.
    pub fn depends(&self, package: &str, version: &str) -> Result<Vec<String>, PackageError> {
        let text = self.apt("apt-cache", &["show", &format!("{package}={version}")])?;
        let depends = text.lines().find_map(|line| line.strip_prefix("Depends: ")).unwrap_or_default();
        Ok(depends.split(',').filter_map(|item| item.split_whitespace().next()).map(str::to_owned).collect())
    }

    /// What has to be fetched so that a package works on this machine: itself and what is not installed here.
    ///
    /// # Errors
    /// [`PackageError::NotFound`] or [`PackageError::Failed`].
    pub fn missing_closure(&self, package: &str) -> Result<Vec<Wanted>, PackageError> {
        let arguments = ["install", "--print-uris", "--yes", "--no-install-recommends", package];
        let text = self.apt("apt-get", &arguments)?;
        Ok(text.lines().filter_map(apt::wanted).collect())
    }

    /// One version of a package alone.
    ///
    /// # Errors
    /// [`PackageError::NotFound`].
    pub fn single(&self, package: &str, version: &str) -> Result<Vec<Wanted>, PackageError> {
        let text = self.apt("apt-get", &["download", "--print-uris", &format!("{package}={version}")])?;
        Ok(text.lines().filter_map(apt::wanted).collect())
    }

    /// Downloads packages and unpacks them over one another into a new folder of the workshop.
    ///
    /// # Errors
    /// Any [`PackageError`]; nothing is left behind then.
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
