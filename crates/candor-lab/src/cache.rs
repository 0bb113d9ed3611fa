use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::arch::Arch;
use crate::observer::Observer;

#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    arch: Arch,
}

#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error("No cache directory: set XDG_CACHE_HOME (or HOME) to a writable directory")]
    NoHome,
    #[error("Cannot use the cache directory {path}")]
    Unusable { path: PathBuf, source: io::Error },
}

/// Exclusive right to change the cache. Released on drop, and if the process dies.
#[derive(Debug)]
pub struct CacheLock {
    _file: File,
}

impl Cache {
    /// `$XDG_CACHE_HOME/candor`, or `~/.cache/candor`.
    pub fn of_user() -> Result<Self, CacheError> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        Ok(Self::at(base.ok_or(CacheError::NoHome)?.join("candor")))
    }

    /// The directory need not exist yet.
    pub const fn at(root: PathBuf) -> Self {
        Self { root, arch: Arch::X86_64 }
    }

    /// Packages, kernels and programs for guests with this processor.
    pub fn of(&self, arch: Arch) -> Self {
        if arch.is_here() { self.clone() } else { Self { root: self.root.join(arch.name()), arch } }
    }

    pub const fn arch(&self) -> Arch {
        self.arch
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Waits for other processes, and removes what a killed one left incomplete.
    pub fn lock(&self, observer: &mut dyn Observer) -> Result<CacheLock, CacheError> {
        self.create("")?;
        let path = self.path("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(unusable(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                observer.stage("Waiting for another candor to finish its download");
                file.lock().map_err(unusable(&path))?;
            }
            result => result.map_err(io::Error::from).map_err(unusable(&path))?,
        }
        let unfinished = self.path(UNFINISHED);
        remove_folder(&unfinished).map_err(unusable(&unfinished))?;
        Ok(CacheLock { _file: file })
    }

    /// Creates a directory of the cache if it does not exist.
    pub fn create(&self, name: &str) -> Result<PathBuf, CacheError> {
        let path = self.path(name);
        fs::create_dir_all(&path).map_err(unusable(&path))?;
        Ok(path)
    }

    /// A temporary folder. Removed when dropped, or by the next [`Cache::lock`].
    pub fn workshop(&self, _lock: &CacheLock) -> Result<TempDir, CacheError> {
        let parent = self.create(UNFINISHED)?;
        tempfile::tempdir_in(&parent).map_err(unusable(&parent))
    }

    /// Moves a finished directory out of the workshop to its name atomically, replacing what was there.
    pub fn publish(&self, _lock: &CacheLock, finished: &Path, name: &str) -> Result<PathBuf, CacheError> {
        let target = self.path(name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(unusable(parent))?;
        }
        remove_folder(&target).map_err(unusable(&target))?;
        fs::rename(finished, &target).map_err(unusable(&target))?;
        Ok(target)
    }
}

const UNFINISHED: &str = "unfinished";

/// A directory that does not exist is not an error.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::Unusable { path, source }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::observer::Silent;

    struct Stages(mpsc::Sender<String>);

    impl Observer for Stages {
        fn stage(&mut self, stage: &str) {
            self.0.send(stage.to_owned()).unwrap();
        }
    }

    #[test]
    fn waiting_for_the_lock_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("candor"));
        let (sender, stages) = mpsc::channel();
        let held = cache.lock(&mut Stages(sender.clone())).unwrap();
        assert!(stages.try_recv().is_err());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| cache.lock(&mut Stages(sender)).map(drop));
            assert_eq!(stages.recv().unwrap(), "Waiting for another candor to finish its download");
            drop(held);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn unfinished_work_is_removed_and_published_work_stays() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("candor"));
        let lock = cache.lock(&mut Silent).unwrap();
        let work = cache.workshop(&lock).unwrap();
        fs::write(work.path().join("file"), "1").unwrap();
        let target = cache.publish(&lock, work.path(), "kernels/one").unwrap();
        let abandoned = cache.workshop(&lock).unwrap().keep();
        drop(lock);
        drop(cache.lock(&mut Silent).unwrap());
        assert!(!abandoned.exists());
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "1");
    }
}
