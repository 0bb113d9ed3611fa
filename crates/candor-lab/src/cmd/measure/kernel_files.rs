//! Kernels and modules of the user that a plan names: where they are, and whether they are those of earlier measurements.

use std::path::Path;

use candor_lab::cache::Cache;
use candor_lab::experiment::Plan;
use candor_lab::image;
use candor_lab::kernel;

use super::results::{KernelFile, KernelFiles, Results, ResultsError};

/// The files of a plan, whose paths are relative to `folder`. Fails if one is missing, or has changed since the results began.
pub(super) fn find(results: &Results, plan: &Plan, folder: &Path) -> Result<KernelFiles, Box<dyn std::error::Error>> {
    let names = plan.kernel_files();
    if names.is_empty() {
        return Ok(KernelFiles::new());
    }
    let known = results.kernel_files()?;
    let cache = Cache::of_user()?;
    let mut found = KernelFiles::new();
    for name in names {
        let before = known.get(name);
        let path = before.map_or_else(|| std::path::absolute(folder.join(name)), |file| Ok(file.path.clone()))?;
        let sha256 = kernel::checksum(&cache, &path, &image::loadable())?;
        if before.is_some_and(|before| before.sha256 != sha256) {
            return Err(ResultsError::OtherKernel { folder: results.folder().to_owned(), file: path }.into());
        }
        found.insert(name.to_owned(), KernelFile { path, sha256 });
    }
    if found != known {
        results.keep_kernel_files(&found)?;
    }
    Ok(found)
}

/// Fails if a kernel or a module of a plan, whose paths are relative to `folder`, cannot be used.
pub(super) fn check(plan: &Plan, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let names = plan.kernel_files();
    if names.is_empty() {
        return Ok(());
    }
    let cache = Cache::of_user()?;
    for name in names {
        kernel::checksum(&cache, &folder.join(name), &image::loadable())?;
    }
    Ok(())
}

/// The name of a file that differs in two sets of results of one plan.
pub(super) fn difference(one: &KernelFiles, other: &KernelFiles) -> Option<String> {
    let differs =
        |(name, file): &(&String, &KernelFile)| other.get(*name).is_some_and(|other| other.sha256 != file.sha256);
    one.iter().find(differs).map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use candor_lab::experiment::{self, Available};

    use super::*;

    #[test]
    fn changed_module_needs_another_folder_of_results() {
        let folder = tempfile::tempdir().unwrap();
        let text = b"[factor]\ngateway = \"kernel\"\nmodule = [\"default\", \"own/vcan.ko\"]\n";
        let plan = experiment::load(text, Available::default()).unwrap().plan;
        let results = Results::open(&folder.path().join("results"), text, &BTreeMap::new()).unwrap();
        let missing = find(&results, &plan, folder.path()).unwrap_err().to_string();
        assert!(missing.contains("own/vcan.ko"), "{missing}");
        assert_eq!(check(&plan, folder.path()).unwrap_err().to_string(), missing);

        fs::create_dir(folder.path().join("own")).unwrap();
        let module = folder.path().join("own/vcan.ko");
        fs::write(&module, "1").unwrap();
        check(&plan, folder.path()).unwrap();
        let found = find(&results, &plan, folder.path()).unwrap();
        assert_eq!(found["own/vcan.ko"].path, module);
        // From the results, whose copy of the plan is in another directory.
        assert_eq!(find(&results, &plan, results.folder()).unwrap(), found);

        fs::write(&module, "2").unwrap();
        let changed = find(&results, &plan, folder.path()).unwrap_err().to_string();
        assert!(changed.contains("vcan.ko has changed") && changed.contains("--out"), "{changed}");
        let other = KernelFiles::from([("own/vcan.ko".to_owned(), KernelFile { sha256: "x".into(), path: module })]);
        assert_eq!(difference(&found, &other).as_deref(), Some("own/vcan.ko"));
        assert_eq!(difference(&found, &found), None);
    }
}
