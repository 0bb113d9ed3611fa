//! Packages with which modules for a pinned kernel are built.

use std::path::PathBuf;

use super::{KernelError, Testbed, pins};
use crate::cache::Cache;
use crate::observer::Observer;
use crate::packages::{Archive, Listed};

/// A directory with the kernel's headers, its build tools and its sources, in the version of its pin: the unpacked packages.
pub fn build_files(cache: &Cache, name: &str, observer: &mut dyn Observer) -> Result<PathBuf, KernelError> {
    let pins = pins::of(cache.arch());
    let Some(pin) = pins::find(pins, Testbed::Icount, Some(name)) else {
        let known = pins.iter().filter(|pin| pin.testbed() == Testbed::Icount).map(|pin| pin.name.clone()).collect();
        return Err(KernelError::Unknown { name: name.to_owned(), testbed: Testbed::Icount, known });
    };
    let folder = format!("build/{}-{}", pin.name, pin.version);
    let cached = cache.path(&folder);
    if cached.is_dir() {
        return Ok(cached);
    }
    let lock = cache.lock(observer)?;
    let archive = Archive::open(cache, &lock)?;
    let listed = archive.listed(&["linux-headers-", "linux-kbuild-", "linux-source-"], observer)?;
    let named = |package: &str| -> Result<&Listed, KernelError> {
        let found = listed.iter().find(|one| one.package == package && one.version == pin.version);
        let missing = || KernelError::NoBuildFiles {
            package: package.to_owned(),
            version: pin.version.clone(),
            kernel: pin.name.clone(),
        };
        found.ok_or_else(missing)
    };
    let headers = named(&format!("linux-headers-{}", pin.release.as_deref().unwrap_or_default()))?;
    let series = pin.name.trim_start_matches("debian-").trim_end_matches("-rt");
    let mut files = vec![headers.file.clone(), named(&format!("linux-source-{series}"))?.file.clone()];
    let needed = headers.depends.split(',').filter_map(|item| item.split_whitespace().next());
    for package in needed.filter(|name| name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-")) {
        files.push(named(package)?.file.clone());
    }
    let tree = archive.unpack_files(&format!("sources of {name}"), &files, observer)?;
    Ok(cache.publish(&lock, &tree.keep(), &folder)?)
}
