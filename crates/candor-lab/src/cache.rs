//! The folder in which everything that was downloaded stays.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::observer::Observer;

/// `$XDG_CACHE_HOME/candor`.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Neither XDG_CACHE_HOME nor HOME is set.
    #[error("No place for downloads: set XDG_CACHE_HOME (or HOME) to a folder that can be written")]
    NoHome,
    /// The folder cannot be used.
    #[error("Cannot use the cache folder {path}")]
    Unusable {
        /// Which folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The right to change the cache; one process at a time has it. Dropped, it is given back, also by a crash.
#[derive(Debug)]
pub struct CacheLock {
    _file: File,
}

impl Cache {
    /// The cache of this user: `$XDG_CACHE_HOME/candor`, or `~/.cache/candor`.
    ///
    /// # Errors
    /// [`CacheError::NoHome`] if the environment names no place.
    pub fn of_user() -> Result<Self, CacheError> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        Ok(Self::at(base.ok_or(CacheError::NoHome)?.join("candor")))
    }

    /// A cache in this folder, which need not exist yet.
    #[must_use]
    pub const fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// A folder or file of the cache.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Waits until no other process changes the cache, and clears what a killed one left half-done.
    ///
    /// # Errors
    /// [`CacheError::Unusable`] if the folder cannot be made or written.
    pub fn lock(&self, observer: &mut dyn Observer) -> Result<CacheLock, CacheError> {
        self.create("")?;
        let path = self.path("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(unusable(&path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                observer.stage("Waiting for another candor that is fetching");
                file.lock().map_err(unusable(&path))?;
            }
            result => result.map_err(io::Error::from).map_err(unusable(&path))?,
        }
        let unfinished = self.path(UNFINISHED);
        match fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&unfinished)(error)),
            _ => {}
        }
        Ok(CacheLock { _file: file })
    }

    /// A folder of the cache, made if it is not there.
    ///
    /// # Errors
    /// [`CacheError::Unusable`] if that fails.
    pub fn create(&self, name: &str) -> Result<PathBuf, CacheError> {
        let path = self.path(name);
        fs::create_dir_all(&path).map_err(unusable(&path))?;
        Ok(path)
    }

    /// A folder to work in. It is removed when dropped, or by the next [`Cache::lock`].
    ///
    /// # Errors
    /// [`CacheError::Unusable`] if it cannot be made.
    pub fn workshop(&self, _lock: &CacheLock) -> Result<TempDir, CacheError> {
        let parent = self.create(UNFINISHED)?;
        tempfile::tempdir_in(&parent).map_err(unusable(&parent))
    }

    /// Moves a finished folder out of the workshop to its name in one step; whatever had that name is replaced.
    ///
    /// # Errors
    /// [`CacheError::Unusable`] if it cannot be moved.
    pub fn publish(&self, _lock: &CacheLock, finished: &Path, name: &str) -> Result<PathBuf, CacheError> {
        let target = self.path(name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(unusable(parent))?;
        }
        match fs::remove_dir_all(&target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&target)(error)),
            _ => {}
        }
        fs::rename(finished, &target).map_err(unusable(&target))?;
        Ok(target)
    }
}

const UNFINISHED: &str = "unfinished";

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::Unusable { path, source }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::observer::Silent;

    /// Passes stages on.
    struct Stages(mpsc::Sender<String>);

    impl Observer for Stages {
        fn stage(&mut self, stage: &str) {
            self.0.send(stage.to_owned()).unwrap();
        }
    }

    #[test]
    fn who_waits_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("candor"));
        let (tell, hear) = mpsc::channel();
        let held = cache.lock(&mut Stages(tell.clone())).unwrap();
        assert!(hear.try_recv().is_err());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| cache.lock(&mut Stages(tell)).map(drop));
            assert_eq!(hear.recv().unwrap(), "Waiting for another candor that is fetching");
            drop(held);
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn half_done_work_is_cleared_and_finished_work_stays() {
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
