//! Programs of can-utils for guests: the machine's own, or those of the Debian package in the cache.

use std::path::PathBuf;

use crate::cache::{Cache, CacheError};
use crate::image;
use crate::observer::Observer;
use crate::packages::{self, PackageError};

/// Why a program cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The package cannot be had.
    #[error("This machine has no program {program}, and the package {PACKAGE} cannot be fetched")]
    Package {
        /// Which program.
        program: String,
        /// Why.
        source: PackageError,
    },
}

/// What a guest can be given for the name of a program: the name itself, or where the package has it if this machine
/// has it not. Names of other programs stay as they are.
///
/// # Errors
/// [`ToolError`] if the package has to be fetched and cannot be.
pub fn obtain(cache: &Cache, name: &str, observer: &mut dyn Observer) -> Result<String, ToolError> {
    if !PROGRAMS.contains(&name) || image::locate(name).is_ok() {
        return Ok(name.to_owned());
    }
    let cached = || Some(cache.path(FOLDER).join("usr/bin").join(name)).filter(|path| path.is_file());
    let path = match cached() {
        Some(path) => path,
        None => fetch(cache, name, observer)?.join("usr/bin").join(name),
    };
    Ok(path.to_string_lossy().into_owned())
}

/// Whether this is a program of can-utils, which every guest can be given.
#[must_use]
pub fn is_known(name: &str) -> bool {
    PROGRAMS.contains(&name)
}

fn fetch(cache: &Cache, name: &str, observer: &mut dyn Observer) -> Result<PathBuf, ToolError> {
    let lock = cache.lock(observer)?;
    let failed = |source| ToolError::Package { program: name.to_owned(), source };
    let tree = packages::fetch(cache, &lock, PACKAGE, PACKAGE, observer).map_err(failed)?;
    Ok(cache.publish(&lock, &tree.keep(), FOLDER)?)
}

const PACKAGE: &str = "can-utils";
const FOLDER: &str = "can-utils";

/// Programs of the package that need nothing but the C library.
const PROGRAMS: [&str; 15] = [
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
];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::observer::Silent;

    #[test]
    fn what_is_cached_is_not_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let programs = folder.path().join(FOLDER).join("usr/bin");
        fs::create_dir_all(&programs).unwrap();
        for name in PROGRAMS {
            fs::write(programs.join(name), "").unwrap();
            let obtained = obtain(&cache, name, &mut Silent).unwrap();
            let expected = match image::locate(name) {
                Ok(_installed) => name.to_owned(),
                Err(_) => programs.join(name).display().to_string(),
            };
            assert_eq!(obtained, expected);
        }
        assert_eq!(obtain(&cache, "no-such-program", &mut Silent).unwrap(), "no-such-program");
    }
}
