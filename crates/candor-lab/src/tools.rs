//! Programs for guests: those installed on this machine, else from Debian packages in the cache.

use std::path::{Path, PathBuf};

use crate::cache::{Cache, CacheError};
use crate::image;
use crate::observer::Observer;
use crate::packages::{self, PackageError};

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("This machine has no program {program}, and the package {package} cannot be fetched")]
    Package { program: String, package: &'static str, source: PackageError },
}

/// A Debian package with programs.
#[derive(Clone, Copy, Debug)]
struct Package {
    /// Also the folder in the cache.
    name: &'static str,
    /// Folders of its programs; they differ between Debian releases.
    folders: &'static [&'static str],
    programs: &'static [&'static str],
}

const PACKAGES: [Package; 4] = [
    Package {
        name: "can-utils",
        folders: &["usr/bin"],
        programs: &[
            "canbusload",
            "candump",
            "canfdtest",
            "cangen",
            "cangw",
            "canplayer",
            "cansend",
            "cansequence",
            "cansniffer",
            "isotpdump",
            "isotprecv",
            "isotpsend",
            "j1939cat",
            "j1939spy",
            "slcan_attach",
        ],
    },
    Package {
        name: "iproute2",
        folders: &["usr/bin", "usr/sbin", "bin", "sbin"],
        programs: &["bridge", "ip", "ss", "tc"],
    },
    Package { name: "openssh-client", folders: &["usr/bin"], programs: &["ssh", "ssh-keygen"] },
    Package { name: "openssh-server", folders: &["usr/sbin"], programs: &["sshd"] },
];

impl Package {
    fn with(program: &str) -> Option<Self> {
        PACKAGES.into_iter().find(|package| package.programs.contains(&program))
    }

    /// Path of a program in the unpacked package; in the first folder if it does not exist.
    fn path(self, tree: &Path, program: &str) -> PathBuf {
        let mut paths = self.folders.iter().map(|folder| tree.join(folder).join(program));
        let first = paths.clone().next().unwrap_or_default();
        paths.find(|path| path.is_file()).unwrap_or(first)
    }

    fn fetch(self, cache: &Cache, program: &str, observer: &mut dyn Observer) -> Result<PathBuf, ToolError> {
        let lock = cache.lock(observer)?;
        let failed = |source| ToolError::Package { program: program.to_owned(), package: self.name, source };
        let tree = packages::fetch(cache, &lock, self.name, self.name, observer).map_err(failed)?;
        Ok(cache.publish(&lock, &tree.keep(), self.name)?)
    }
}

/// Name of an installed program, or its path in a package, which is fetched if necessary. Other names are unchanged.
pub fn obtain(cache: &Cache, name: &str, observer: &mut dyn Observer) -> Result<String, ToolError> {
    let package = Package::with(name).filter(|_| image::locate(name).is_err());
    let Some(package) = package else { return Ok(name.to_owned()) };
    let cached = package.path(&cache.path(package.name), name);
    let path = if cached.is_file() { cached } else { package.path(&package.fetch(cache, name, observer)?, name) };
    Ok(path.to_string_lossy().into_owned())
}

/// Whether a guest started on this machine can have this program.
pub fn is_there(name: &str) -> bool {
    is_known(name) || image::locate(name).is_ok()
}

/// Whether every guest can have this program.
pub fn is_known(name: &str) -> bool {
    Package::with(name).is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::observer::Silent;

    #[test]
    fn what_is_cached_is_not_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        for package in PACKAGES {
            let tree = folder.path().join(package.name);
            fs::create_dir_all(tree.join(package.folders[0])).unwrap();
            for name in package.programs {
                fs::write(package.path(&tree, name), "").unwrap();
                let obtained = obtain(&cache, name, &mut Silent).unwrap();
                let expected = match image::locate(name) {
                    Ok(_installed) => (*name).to_owned(),
                    Err(_) => package.path(&tree, name).display().to_string(),
                };
                assert_eq!(obtained, expected);
            }
        }
        assert_eq!(obtain(&cache, "no-such-program", &mut Silent).unwrap(), "no-such-program");
    }
}
