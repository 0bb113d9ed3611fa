//! Modules of the user, in place of those of the kernel or in addition to them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::modules::{Module, ModuleError, ModuleTree, module_name, read_module};
use super::{CachedKernel, KernelError, OwnError, file};
use crate::cache::Cache;
use crate::packages;

/// Part of the platform of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplacedModule {
    pub module: String,
    pub path: PathBuf,
    pub sha256: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{subject} not built for this kernel ({kernel}): {}", .wrong.join("; "))]
pub struct OtherRelease {
    kernel: String,
    /// `A module is`, or `Modules are`.
    subject: &'static str,
    /// Names or paths, and what they are built for.
    wrong: Vec<String>,
}

impl CachedKernel {
    /// With these modules: files, or directories whose modules are all taken.
    pub(crate) fn with_modules(mut self, cache: &Cache, paths: &[PathBuf]) -> Result<Self, KernelError> {
        let mut wrong = Vec::new();
        for path in paths.iter().map(|path| files(path)).collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
            let odd = |reason: &str| ModuleError::Odd { path: path.clone(), reason: reason.to_owned() };
            let module = module_name(&path).ok_or_else(|| odd("its name does not end in .ko"))?;
            let vermagic = read_module(&module, &path)?.vermagic;
            if self.has_built_in(&module) {
                return Err(odd("the kernel contains it, so it cannot be replaced").into());
            }
            if !is_for(&vermagic, &self.release) {
                wrong.push((path.display().to_string(), vermagic));
            }
            let sha256 =
                packages::sha256(cache, &path).map_err(|source| OwnError::Package { path: path.clone(), source })?;
            self.replaced.retain(|replaced| replaced.module != module);
            self.replaced.push(ReplacedModule { module, path, sha256 });
        }
        self.check(None, wrong)?;
        Ok(self)
    }

    pub(crate) fn replaced(&self) -> &[ReplacedModule] {
        &self.replaced
    }

    /// The modules that guests can load, except those that they have no use for.
    pub(crate) fn module_tree(&self) -> Result<ModuleTree, ModuleError> {
        let mut tree = self.packaged_modules()?;
        self.replaced.iter().for_each(|replaced| tree.put(replaced.module.clone(), replaced.path.clone()));
        Ok(tree)
    }

    /// Checks that all modules are built for the release of this kernel, and with the options that its own are built with.
    pub(crate) fn check_built_for(&self, modules: &[Module]) -> Result<(), OtherRelease> {
        let is_own = |module: &&Module| self.replaced.iter().all(|replaced| replaced.module != module.name);
        let usual = modules.iter().find(is_own).map(|module| module.vermagic.as_str());
        let fits = |module: &&Module| {
            is_for(&module.vermagic, &self.release) && usual.is_none_or(|usual| usual == module.vermagic)
        };
        let wrong = modules.iter().filter(|module| !fits(module));
        self.check(usual, wrong.map(|module| (module.name.clone(), module.vermagic.clone())).collect())
    }

    fn check(&self, usual: Option<&str>, wrong: Vec<(String, String)>) -> Result<(), OtherRelease> {
        let kernel = usual.filter(|usual| is_for(usual, &self.release)).unwrap_or(&self.release).to_owned();
        let subject = if wrong.len() == 1 { "A module is" } else { "Modules are" };
        let mut by_vermagic: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, vermagic) in wrong {
            by_vermagic.entry(vermagic).or_default().push(name);
        }
        if by_vermagic.is_empty() {
            return Ok(());
        }
        let wrong = by_vermagic.into_iter().map(|(vermagic, names)| format!("{} ({vermagic})", names.join(", ")));
        Err(OtherRelease { kernel, subject, wrong: wrong.collect() })
    }
}

/// Its first word is the release.
fn is_for(vermagic: &str, release: &str) -> bool {
    vermagic.split(' ').next() == Some(release)
}

/// The file, or the modules in the directory.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, KernelError> {
    if !fs::metadata(path).map_err(file(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(file(path))? {
        let path = entry.map_err(file(path))?.path();
        found.extend(module_name(&path).map(|_| path));
    }
    found.sort();
    if found.is_empty() {
        let reason = "no file of the directory ends in .ko".to_owned();
        return Err(ModuleError::Odd { path: path.to_owned(), reason }.into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{LAYOUT, Testbed};
    use super::*;

    #[test]
    fn modules_of_other_kernels_are_named_together() {
        let kernel = CachedKernel {
            name: "own/".to_owned(),
            testbed: Testbed::Icount,
            release: "6.1.9".to_owned(),
            version: "6.1.9".to_owned(),
            suite: String::new(),
            instead_of: None,
            room: None,
            layout: LAYOUT,
            pin: String::new(),
            folder: PathBuf::new(),
            own: None,
            replaced: vec![ReplacedModule { module: "vcan".into(), path: "vcan.ko".into(), sha256: String::new() }],
        };
        let module = |name: &str, vermagic: &str| Module {
            name: name.to_owned(),
            depends: Vec::new(),
            aliases: Vec::new(),
            vermagic: vermagic.to_owned(),
            bytes: Vec::new(),
        };
        let refused = |modules: &[(&str, &str)]| {
            let modules: Vec<Module> = modules.iter().map(|(name, vermagic)| module(name, vermagic)).collect();
            kernel.check_built_for(&modules).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&[("can", "6.1.9 SMP"), ("vcan", "6.1.9 SMP")]), None);
        assert_eq!(
            refused(&[("can", "6.1.9 SMP"), ("vcan", "6.1.9 SMP preempt_rt")]).as_deref(),
            Some("A module is not built for this kernel (6.1.9 SMP): vcan (6.1.9 SMP preempt_rt)")
        );
        assert_eq!(
            refused(&[("can", "6.1.8 SMP"), ("can_raw", "6.1.8 SMP"), ("vcan", "6.2 SMP")]).as_deref(),
            Some("Modules are not built for this kernel (6.1.9): can, can_raw (6.1.8 SMP); vcan (6.2 SMP)")
        );
    }
}
