//! Programs for guests: those installed on this machine, else from Debian packages in the cache.

use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::cache::Cache;
use crate::image;
use crate::observer::Observer;
use crate::packages::{self, PackageError};

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("No program {program}: the package {package} cannot be fetched")]
    Package { program: String, package: &'static str, source: PackageError },
    #[error(
        "No package for {arch} guests is known to have the program {program}; name the file of one that was built for {arch} \
         (--program ./{program})",
        arch = .arch.name()
    )]
    Unknown { program: String, arch: Arch },
}

#[derive(Clone, Copy, Debug)]
struct Package {
    /// Also the directory in the cache.
    name: &'static str,
    /// Directories of its programs; they differ between Debian releases.
    folders: &'static [&'static str],
    /// Names of programs, separated by spaces.
    programs: &'static str,
}

const PACKAGES: [Package; 5] = [
    Package { name: BUSYBOX, folders: &["bin", "usr/bin"], programs: BUSYBOX },
    Package {
        name: "can-utils",
        folders: &["usr/bin"],
        programs: "asc2log can-calc-bit-timing canbusload candump canfdtest cangen cangw canplayer cansend cansequence \
                   cansniffer isotpdump isotprecv isotpsend j1939cat j1939spy log2asc slcan_attach",
    },
    Package { name: "iproute2", folders: &["usr/bin", "usr/sbin", "bin", "sbin"], programs: "bridge ip ss tc" },
    Package { name: "openssh-client", folders: &["usr/bin"], programs: "ssh ssh-keygen" },
    Package { name: "openssh-server", folders: &["usr/sbin"], programs: "sshd" },
];

/// A shell and the usual small programs.
const BUSYBOX: &str = "busybox";

/// Programs for scripts: busybox, and those of can-utils and iproute2 that are for CAN. Separated by spaces.
pub const USUAL: &str = "busybox asc2log bridge can-calc-bit-timing canbusload candump canfdtest cangen cangw canplayer cansend \
                         cansequence cansniffer ip isotpdump isotprecv isotpsend j1939cat j1939spy log2asc slcan_attach tc";

/// Not true for a static busybox: Debian's prefers its own `ip` and `tc`, which know no CAN, to those in `PATH`.
fn is_installed(name: &str) -> bool {
    let is_dynamic = |path: &Path| image::linkage(path).is_ok_and(|linkage| linkage.interpreter.is_some());
    image::locate(name).is_ok_and(|path| name != BUSYBOX || is_dynamic(&path))
}

impl Package {
    fn with(program: &str) -> Option<Self> {
        PACKAGES.into_iter().find(|package| package.programs.split(' ').any(|name| name == program))
    }

    /// Path of a program in the unpacked package.
    fn find(self, tree: &Path, program: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| tree.join(folder).join(program)).find(|path| path.is_file())
    }
}

/// Name of an installed program, or its path in a package, which is fetched if necessary. Other names are unchanged.
/// Programs of this machine are no programs for other processors.
pub fn obtain(cache: &Cache, name: &str, observer: &mut dyn Observer) -> Result<String, ToolError> {
    let is_here = cache.arch().is_here();
    let package = Package::with(name).filter(|_| !is_here || !is_installed(name));
    let Some(package) = package else {
        return if is_here || name.contains('/') {
            Ok(name.to_owned())
        } else {
            Err(ToolError::Unknown { program: name.to_owned(), arch: cache.arch() })
        };
    };
    let path = packages::obtain(cache, package.name, package.name, observer, || {
        let missing = || PackageError::NotFound { package: format!("{} with {name}", package.name) };
        package.find(&cache.path(package.name), name).ok_or_else(missing)
    });
    let path = path.map_err(|source| ToolError::Package { program: name.to_owned(), package: package.name, source })?;
    Ok(path.to_string_lossy().into_owned())
}

/// True if a guest started on this machine can have this program.
pub fn is_there(name: &str, arch: Arch) -> bool {
    is_known(name) || (arch.is_here() || name.contains('/')) && image::locate(name).is_ok()
}

/// True if every guest can have this program.
pub fn is_known(name: &str) -> bool {
    Package::with(name).is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::observer::Silent;

    #[test]
    fn cached_programs_are_not_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        for package in PACKAGES {
            let tree = folder.path().join(package.name);
            fs::create_dir_all(tree.join(package.folders[0])).unwrap();
            for name in package.programs.split(' ') {
                let path = tree.join(package.folders[0]).join(name);
                fs::write(&path, "").unwrap();
                let obtained = obtain(&cache, name, &mut Silent).unwrap();
                let expected = if is_installed(name) { name.to_owned() } else { path.display().to_string() };
                assert_eq!(obtained, expected);
            }
        }
        assert_eq!(obtain(&cache, "no-such-program", &mut Silent).unwrap(), "no-such-program");
    }

    #[test]
    fn programs_of_this_machine_are_not_for_other_processors() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned()).of(Arch::Arm64);
        let busybox = folder.path().join("arm64/busybox/bin/busybox");
        fs::create_dir_all(busybox.parent().unwrap()).unwrap();
        fs::write(&busybox, "").unwrap();
        assert_eq!(obtain(&cache, "busybox", &mut Silent).unwrap(), busybox.display().to_string());
        assert_eq!(obtain(&cache, "./mine", &mut Silent).unwrap(), "./mine");
        assert!(matches!(obtain(&cache, "sh", &mut Silent), Err(ToolError::Unknown { .. })));
        assert!(is_there("sh", Arch::X86_64) && !is_there("sh", Arch::Arm64));
    }
}
