//! The directory of results, block by block.
//!
//! ```text
//!  plan.toml                          the plan
//!  logs/1-drive.log                   the logs that it replays, sorted by name
//!  kernel-files.json                  paths and checksums of the user's kernels and modules that it names
//!  blocks/NAME/block.json             the state of each cell, written last
//!  blocks/NAME/CELL.record.csv        raw samples
//!  blocks/NAME.part/                  a block that is being measured, or was interrupted
//! ```
//!
//! A block is complete or missing: it is measured in a separate directory, which is renamed at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candor_core::causes;
use candor_lab::cells::{CellOrder, Order, Said, State};
use candor_lab::experiment::Block;
use candor_lab::experiment::replay::Log;
use candor_lab::record::RECORD_EXTENSION;
use serde::{Deserialize, Serialize};

const PLAN: &str = "plan.toml";
const BLOCKS: &str = "blocks";
const KERNEL_FILES: &str = "kernel-files.json";
const LOGS: &str = "logs";
const BLOCK: &str = "block.json";
const PART: &str = "part";

/// Stored as `block.json`. Contains nothing about the host, so that equal measurements are equal files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cmd) struct Measured {
    pub(in crate::cmd) candor_version: String,
    /// In the order of measurement.
    pub(in crate::cmd) cells: Vec<MeasuredCell>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cmd) struct MeasuredCell {
    pub(in crate::cmd) name: String,
    pub(in crate::cmd) levels: Vec<(String, String)>,
    pub(in crate::cmd) state: State,
}

/// Kernels and modules of the user, by name in the plan.
pub(super) type KernelFiles = BTreeMap<String, KernelFile>;

/// Kept in the results, which cannot contain a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KernelFile {
    pub(super) path: PathBuf,
    pub(super) sha256: String,
}

#[derive(Debug)]
pub(in crate::cmd) struct Results {
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(in crate::cmd) enum ResultsError {
    #[error("{} contains results of another plan; choose another directory with --out", .0.display())]
    OtherPlan(PathBuf),
    #[error(
        "{} contains results of another {file}: it has changed, and was {}; choose another directory for the new one with --out",
        folder.display(), was.display()
    )]
    OtherLog { folder: PathBuf, file: String, was: PathBuf },
    #[error("{} has changed since {} began; choose another directory for the new one with --out", file.display(), folder.display())]
    OtherKernel { folder: PathBuf, file: PathBuf },
    #[error("{} contains no results of candor-lab measure", .0.display())]
    NoResults(PathBuf),
    #[error("Cannot use {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is damaged; remove its directory to measure it again", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
}

/// Adds the path to an error.
fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ResultsError {
    let path = path.into();
    move |source| ResultsError::File { path, source }
}

impl Results {
    /// Opens the results of this plan and its logs; creates them if they do not exist.
    pub(in crate::cmd) fn open(folder: &Path, plan: &[u8], logs: &BTreeMap<String, Log>) -> Result<Self, ResultsError> {
        let results = Self { folder: folder.to_owned() };
        let path = folder.join(PLAN);
        let files: BTreeSet<&str> = logs.keys().map(String::as_str).collect();
        match fs::read(&path) {
            Ok(present) if present == plan => {
                for (file, present) in results.logs(&files)? {
                    if logs.get(&file).is_some_and(|log| log.text.as_bytes() != present) {
                        let was = results.log(&files, &file);
                        return Err(ResultsError::OtherLog { folder: folder.to_owned(), file, was });
                    }
                }
            }
            Ok(_) => return Err(ResultsError::OtherPlan(folder.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let write = |path: PathBuf, bytes: &[u8]| {
                    let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
                    made.map_err(at(path))
                };
                let blocks = folder.join(BLOCKS);
                fs::create_dir_all(&blocks).map_err(at(blocks))?;
                logs.iter().try_for_each(|(file, log)| write(results.log(&files, file), log.text.as_bytes()))?;
                // Last: a directory with a plan is complete.
                write(path, plan)?;
            }
            Err(error) => return Err(at(path)(error)),
        }
        Ok(results)
    }

    /// True if a directory contains results, complete or not.
    pub(in crate::cmd) fn are_in(folder: &Path) -> bool {
        folder.join(PLAN).is_file() && folder.join(BLOCKS).is_dir()
    }

    /// Existing results, and the text of their plan.
    pub(in crate::cmd) fn existing(folder: &Path) -> Result<(Self, Vec<u8>), ResultsError> {
        let plan = fs::read(folder.join(PLAN)).map_err(|_absent| ResultsError::NoResults(folder.to_owned()))?;
        Ok((Self { folder: folder.to_owned() }, plan))
    }

    /// Path of the copy of a log.
    fn log(&self, files: &BTreeSet<&str>, file: &str) -> PathBuf {
        let number = files.iter().position(|known| *known == file).map_or(0, |position| position + 1);
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        self.folder.join(LOGS).join(format!("{number}-{name}"))
    }

    pub(in crate::cmd) fn logs(&self, files: &BTreeSet<&str>) -> Result<BTreeMap<String, Vec<u8>>, ResultsError> {
        let read = |file: &&str| {
            let path = self.log(files, file);
            let bytes = fs::read(&path).map_err(at(path))?;
            Ok(((*file).to_owned(), bytes))
        };
        files.iter().map(read).collect()
    }

    /// The user's kernels and modules that have been measured.
    pub(super) fn kernel_files(&self) -> Result<KernelFiles, ResultsError> {
        let path = self.folder.join(KERNEL_FILES);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|source| ResultsError::Damaged { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(KernelFiles::new()),
            Err(error) => Err(at(path)(error)),
        }
    }

    pub(super) fn keep_kernel_files(&self, files: &KernelFiles) -> Result<(), ResultsError> {
        let path = self.folder.join(KERNEL_FILES);
        let text = serde_json::to_string_pretty(files).unwrap_or_default() + "\n";
        fs::write(&path, text).map_err(at(path))
    }

    pub(in crate::cmd) fn folder(&self) -> &Path {
        &self.folder
    }

    fn block(&self, name: &str) -> PathBuf {
        self.folder.join(BLOCKS).join(name)
    }

    pub(in crate::cmd) fn has(&self, name: &str) -> bool {
        self.block(name).join(BLOCK).is_file()
    }

    /// Creates an empty directory for the measurement of a block.
    pub(super) fn begin(&self, name: &str) -> Result<PathBuf, ResultsError> {
        let part = self.block(name).with_extension(PART);
        let made = match fs::remove_dir_all(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir_all(&part),
        };
        made.map_err(at(&part))?;
        Ok(part)
    }

    /// Commits a block that was measured in the directory of [`begin`](Self::begin).
    pub(super) fn finish(&self, name: &str, measured: &Measured) -> Result<(), ResultsError> {
        let (part, block) = (self.block(name).with_extension(PART), self.block(name));
        let text = serde_json::to_string_pretty(measured).unwrap_or_default() + "\n";
        let written = fs::write(part.join(BLOCK), text).and_then(|()| fs::rename(&part, &block));
        written.map_err(at(block))
    }

    /// Commits a block with the last state of each cell that its tester reported.
    pub(super) fn finish_block(&self, block: &Block<'_>, order: &Order, states: &[Said]) -> Result<(), String> {
        let state = |name: &str| {
            let last = states.iter().rev().find(|state| state.cell == name);
            last.map_or_else(|| State::Failed("the guest did not report it".to_owned()), |state| state.state.clone())
        };
        let cell = |CellOrder { name, levels, .. }: &CellOrder| MeasuredCell {
            name: name.clone(),
            levels: levels.clone(),
            state: state(name),
        };
        let candor_version = env!("CARGO_PKG_VERSION").to_owned();
        let measured = Measured { candor_version, cells: order.cells.iter().map(cell).collect() };
        self.finish(&block.name, &measured).map_err(|error| causes::in_full(&error))
    }

    /// `None` if it has not been measured.
    pub(in crate::cmd) fn measured(&self, name: &str) -> Result<Option<Measured>, ResultsError> {
        let path = self.block(name).join(BLOCK);
        match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|source| ResultsError::Damaged { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(path)(error)),
        }
    }

    /// Names of all measured blocks, sorted.
    pub(in crate::cmd) fn blocks(&self) -> Result<Vec<String>, ResultsError> {
        let path = self.folder.join(BLOCKS);
        let names = fs::read_dir(&path).and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<io::Result<Vec<_>>>()
        });
        let mut names = names.map_err(at(path))?;
        names.retain(|name| self.has(name) && !name.ends_with(&format!(".{PART}")));
        names.sort_unstable();
        Ok(names)
    }

    /// Path of a cell's record, which may not exist.
    pub(in crate::cmd) fn record(&self, block: &str, cell: &str) -> PathBuf {
        self.block(block).join(format!("{cell}.{RECORD_EXTENSION}"))
    }

    /// Copies a block that was measured elsewhere. Returns whether it exists there.
    pub(super) fn copy_from(&self, other: &Self, name: &str) -> Result<bool, ResultsError> {
        if !other.has(name) {
            return Ok(false);
        }
        let part = self.begin(name)?;
        let copied = fs::read_dir(other.block(name)).and_then(|entries| {
            for entry in entries {
                let entry = entry?;
                fs::copy(entry.path(), part.join(entry.file_name()))?;
            }
            fs::rename(&part, self.block(name))
        });
        copied.map_err(at(self.block(name)))?;
        Ok(true)
    }

    /// Size of all records.
    pub(in crate::cmd) fn bytes(&self) -> u64 {
        let folders = fs::read_dir(self.folder.join(BLOCKS)).into_iter().flatten().flatten();
        let files = folders.filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
    }
}

/// A record without rows.
#[cfg(test)]
pub(in crate::cmd) const HEAD: &str = include_str!("head.record.csv");

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> (tempfile::TempDir, Results) {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open(folder.path(), b"plan", &BTreeMap::new()).unwrap();
        (folder, results)
    }

    fn measured() -> Measured {
        let cell = MeasuredCell { name: "c".into(), levels: vec![("load".into(), "none".into())], state: State::Ok };
        Measured { candor_version: "1".into(), cells: vec![cell] }
    }

    #[test]
    fn blocks_are_complete_or_missing() {
        let (_folder, results) = opened();
        let part = results.begin("b").unwrap();
        fs::write(part.join("c.record.csv"), "x").unwrap();
        assert!(!results.has("b") && results.measured("b").unwrap().is_none());
        // Interrupted: old and new results are not mixed.
        let part = results.begin("b").unwrap();
        assert_eq!(fs::read_dir(&part).unwrap().count(), 0);
        results.finish("b", &measured()).unwrap();
        assert!(results.has("b"));
        results.begin("unfinished").unwrap();
        assert_eq!(results.blocks().unwrap(), ["b"]);
        assert_eq!(results.measured("b").unwrap(), Some(measured()));
    }

    #[test]
    fn another_plan_needs_another_folder() {
        let (folder, _results) = opened();
        assert!(Results::open(folder.path(), b"plan", &BTreeMap::new()).is_ok());
        assert!(matches!(Results::open(folder.path(), b"other", &BTreeMap::new()), Err(ResultsError::OtherPlan(_))));
        assert!(matches!(Results::existing(&folder.path().join("no")), Err(ResultsError::NoResults(_))));
    }

    #[test]
    fn another_log_needs_another_folder() {
        let folder = tempfile::tempdir().unwrap();
        let logs = |text: &str| BTreeMap::from([("../a/drive.log".to_owned(), Log::of(text.as_bytes()).unwrap())]);
        Results::open(folder.path(), b"plan", &logs("(1.0) can0 001#\n")).unwrap();
        assert!(folder.path().join("logs/1-drive.log").is_file());
        assert!(Results::open(folder.path(), b"plan", &logs("(1.0) can0 001#\n")).is_ok());
        let error = Results::open(folder.path(), b"plan", &logs("(1.0) can0 002#\n")).unwrap_err().to_string();
        assert!(error.contains("another ../a/drive.log") && error.contains("logs/1-drive.log"), "{error}");
    }

    #[test]
    fn blocks_are_copied_completely() {
        let ((_one, one), (_two, two)) = (opened(), opened());
        fs::write(one.begin("b").unwrap().join("c.record.csv"), "x").unwrap();
        one.finish("b", &measured()).unwrap();
        assert!(two.copy_from(&one, "b").unwrap() && !two.copy_from(&one, "none").unwrap());
        assert_eq!(two.measured("b").unwrap(), Some(measured()));
        assert_eq!(fs::read(two.record("b", "c")).unwrap(), b"x");
    }

    #[test]
    fn damaged_block_is_reported_with_a_remedy() {
        let (folder, results) = opened();
        results.begin("b").unwrap();
        results.finish("b", &measured()).unwrap();
        fs::write(folder.path().join("blocks/b/block.json"), "{").unwrap();
        assert!(results.measured("b").unwrap_err().to_string().contains("remove its directory"));
    }
}
