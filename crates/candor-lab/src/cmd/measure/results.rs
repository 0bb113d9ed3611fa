//! The directory of results, block by block.
//!
//! ```text
//!  plan.toml                          the plan
//!  logs/1-drive.log                   the logs that it replays, sorted by name
//!  kernel-files.json                  paths and checksums of the user's kernels and modules that it names
//!  blocks/NAME/block.json             the state of each cell, written last
//!  blocks/NAME/CELL.record.csv        raw samples
//!  blocks/NAME/origin.json            where a part of a plan was measured
//!  blocks/NAME.….part/                a block that is being measured, or was interrupted
//!  canaries/HASH.record.csv           the canary cell on a node
//!  lock-I-of-N.1                      a process measures this shard
//! ```
//!
//! A block is complete or missing: it is measured in a directory of its own, which is renamed at the end. So two processes that
//! measure the same block, because one of them seemed to be dead, do not mix their files: the first one commits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candor_core::causes;
use candor_lab::cells::{CellOrder, Order, Said, State};
use candor_lab::experiment::replay::Log;
use candor_lab::experiment::{Block, Shard, name_of};
use candor_lab::record::RECORD_EXTENSION;
use serde::{Deserialize, Serialize};

const PLAN: &str = "plan.toml";
const BLOCKS: &str = "blocks";
const KERNEL_FILES: &str = "kernel-files.json";
const LOGS: &str = "logs";
const BLOCK: &str = "block.json";
const ORIGIN: &str = "origin.json";
const PART: &str = "part";
const CANARIES: &str = "canaries";

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

/// Where a block of a part of a plan was measured. Not in [`Measured`], and not in merged results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) node: String,
    pub(super) shard: Shard,
    /// Names the record of the canary; `None` if the plan has none.
    pub(super) canary: Option<String>,
}

#[derive(Debug)]
pub(in crate::cmd) struct Results {
    folder: PathBuf,
    /// Of the blocks that are measured.
    origin: Option<Origin>,
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

/// Removes a directory. Its name goes first: a process that still writes to it finds it gone, and cannot commit a half of it.
fn remove(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    let gone = tempfile::Builder::new().prefix(".gone.").tempdir_in(parent)?;
    fs::rename(path, gone.path())?;
    gone.close()
}

/// Adds the path to an error.
fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ResultsError {
    let path = path.into();
    move |source| ResultsError::File { path, source }
}

impl Results {
    /// Opens the results of this plan and its logs; creates them if they do not exist.
    pub(in crate::cmd) fn open(folder: &Path, plan: &[u8], logs: &BTreeMap<String, Log>) -> Result<Self, ResultsError> {
        let results = Self { folder: folder.to_owned(), origin: None };
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
        Ok((Self { folder: folder.to_owned(), origin: None }, plan))
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

    /// The same directory for blocks that are measured here.
    pub(super) fn with_origin(&self, origin: Option<Origin>) -> Self {
        Self { folder: self.folder.clone(), origin }
    }

    /// Creates an empty directory for the measurement of a block, and removes those of interrupted ones.
    pub(super) fn begin(&self, name: &str) -> Result<PathBuf, ResultsError> {
        let blocks = self.folder.join(BLOCKS);
        let made = fs::create_dir_all(&blocks).and_then(|()| {
            for entry in fs::read_dir(&blocks)? {
                let path = entry?.path();
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                if file.starts_with(&format!("{name}.")) {
                    remove(&path)?;
                }
            }
            let part =
                tempfile::Builder::new().prefix(&format!("{name}.")).suffix(&format!(".{PART}")).tempdir_in(&blocks)?;
            // Readable by those who merge.
            fs::set_permissions(part.path(), fs::metadata(&blocks)?.permissions())?;
            Ok(part.keep())
        });
        made.map_err(at(blocks))
    }

    /// Commits a block that was measured in the directory of [`begin`](Self::begin), unless another process has done so.
    pub(super) fn finish(&self, part: &Path, name: &str, measured: &Measured) -> Result<(), ResultsError> {
        let text = |value: serde_json::Result<String>| value.unwrap_or_default() + "\n";
        let written = self
            .origin
            .as_ref()
            .map_or(Ok(()), |origin| fs::write(part.join(ORIGIN), text(serde_json::to_string(origin))))
            .and_then(|()| fs::write(part.join(BLOCK), text(serde_json::to_string_pretty(measured))));
        written.map_err(at(part))?;
        self.commit(part, name)
    }

    fn commit(&self, part: &Path, name: &str) -> Result<(), ResultsError> {
        match fs::rename(part, self.block(name)) {
            Err(_) if self.has(name) => fs::remove_dir_all(part).map_err(at(part)),
            renamed => renamed.map_err(at(self.block(name))),
        }
    }

    /// Removes a block, so that it is measured again.
    pub(super) fn discard(&self, name: &str) -> Result<(), ResultsError> {
        let block = self.block(name);
        remove(&block).map_err(at(block))
    }

    /// `None` if the block was not measured as a part of a plan.
    pub(super) fn origin(&self, name: &str) -> Result<Option<Origin>, ResultsError> {
        let path = self.block(name).join(ORIGIN);
        match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|source| ResultsError::Damaged { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(path)(error)),
        }
    }

    /// Keeps the record of a canary, and returns its name.
    pub(super) fn keep_canary(&self, record: &[u8]) -> Result<String, ResultsError> {
        let name = name_of(record);
        let path = self.canary(&name);
        let written = fs::create_dir_all(self.folder.join(CANARIES)).and_then(|()| fs::write(&path, record));
        written.map_err(at(path))?;
        Ok(name)
    }

    pub(super) fn canary(&self, name: &str) -> PathBuf {
        self.folder.join(CANARIES).join(format!("{name}.{RECORD_EXTENSION}"))
    }

    /// The files of a block, by name, without where it was measured.
    pub(super) fn files(&self, name: &str) -> Result<BTreeMap<String, Vec<u8>>, ResultsError> {
        let block = self.block(name);
        let read = fs::read_dir(&block).and_then(|entries| {
            let mut files = BTreeMap::new();
            for entry in entries {
                let entry = entry?;
                files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
            }
            files.remove(ORIGIN);
            Ok(files)
        });
        read.map_err(at(block))
    }

    /// Commits a block with the last state of each cell that its tester reported.
    pub(super) fn finish_block(
        &self,
        part: &Path,
        block: &Block<'_>,
        order: &Order,
        states: &[Said],
    ) -> Result<(), String> {
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
        self.finish(part, &block.name, &measured).map_err(|error| causes::in_full(&error))
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
        names.retain(|name| self.has(name) && !name.contains('.'));
        names.sort_unstable();
        Ok(names)
    }

    /// Path of a cell's record, which may not exist.
    pub(in crate::cmd) fn record(&self, block: &str, cell: &str) -> PathBuf {
        self.block(block).join(format!("{cell}.{RECORD_EXTENSION}"))
    }

    /// Copies a block that was measured elsewhere.
    pub(super) fn copy_from(&self, other: &Self, name: &str) -> Result<(), ResultsError> {
        let part = self.begin(name)?;
        for (file, bytes) in other.files(name)? {
            let path = part.join(file);
            fs::write(&path, bytes).map_err(at(path))?;
        }
        self.commit(&part, name)
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
        results.finish(&part, "b", &measured()).unwrap();
        assert!(results.has("b"));
        results.begin("unfinished").unwrap();
        assert_eq!(results.blocks().unwrap(), ["b"]);
        assert_eq!(results.measured("b").unwrap(), Some(measured()));
    }

    /// A node that seemed to be dead goes on, and another one measures the same block.
    #[test]
    fn writers_of_one_block_do_not_mix_their_files() {
        let (folder, results) = opened();
        let dead = results.begin("b").unwrap();
        fs::write(dead.join("c.record.csv"), "half").unwrap();
        let part = results.begin("b").unwrap();
        assert!(!dead.exists() && fs::write(dead.join("c.record.csv"), "all").is_err());
        assert!(results.finish(&dead, "b", &measured()).is_err() && !results.has("b"));
        fs::write(part.join("c.record.csv"), "whole").unwrap();
        // On another file system a directory may survive.
        fs::create_dir(&dead).unwrap();
        results.finish(&part, "b", &measured()).unwrap();
        results.finish(&dead, "b", &measured()).unwrap();
        assert_eq!(fs::read(results.record("b", "c")).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path().join(BLOCKS)).unwrap().count(), 1);
        results.discard("b").unwrap();
        assert!(!results.has("b"));
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
        let origin = Origin { node: "n1".to_owned(), shard: "1/2".parse().unwrap(), canary: None };
        let one = one.with_origin(Some(origin.clone()));
        let part = one.begin("b").unwrap();
        fs::write(part.join("c.record.csv"), "x").unwrap();
        one.finish(&part, "b", &measured()).unwrap();
        two.copy_from(&one, "b").unwrap();
        assert_eq!(two.measured("b").unwrap(), Some(measured()));
        // Merged results are those of one machine.
        assert_eq!((one.origin("b").unwrap(), two.origin("b").unwrap()), (Some(origin), None));
        assert_eq!(one.files("b").unwrap(), two.files("b").unwrap());
        assert_eq!(fs::read(two.record("b", "c")).unwrap(), b"x");
    }

    #[test]
    fn damaged_block_is_reported_with_a_remedy() {
        let (folder, results) = opened();
        results.finish(&results.begin("b").unwrap(), "b", &measured()).unwrap();
        fs::write(folder.path().join("blocks/b/block.json"), "{").unwrap();
        assert!(results.measured("b").unwrap_err().to_string().contains("remove its directory"));
    }
}
