//! The list of what candor has on this machine: one file for each process, locked while the process lives, and one for
//! each gateway file that was applied.
//!
//! `/run/candor/NETNS-PID-NUMBER.json` and `NETNS-applied-NUMBER.json` (another folder by `CANDOR_RUN_DIR`) hold the
//! boot, the network namespace, the owner, and the exact bytes of its jobs with the names of their routes. A process's
//! file whose lock is free was left by one that died. Only their owner can open folder and files, so that nobody else can
//! hold the locks.

mod content;
mod entry;
mod error;
mod folder;
mod give;
mod hold;
mod instance;
mod scope;

pub(crate) use entry::Entry;
pub use error::{FileError, RunDirError};
pub use give::{give_run_dir, take_run_dir_back};
pub use instance::Since;
pub(crate) use instance::{Change, Instance, OwnedJob};

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use candor_config::placement::Side;
use candor_config::plan::Engine;
use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_io::lock::{self, FileLock};
use candor_netlink::cangw::{CangwJob, JobFlags};

use crate::job_identity::{Counts, Identity};
use crate::notice::Notice;
use crate::owner::Owner;
use entry::Found;
use error::failed;
use folder::{is_denied, make_private};
use scope::Scope;

/// The run directory, held against other starting candors as long as this value lives.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    here: Scope,
    alive: Vec<Instance>,
    applied: Vec<(PathBuf, Instance)>,
    dead: Vec<Instance>,
    /// Files of the dead, their locks held so that nobody else adopts the same jobs.
    dead_files: Vec<(PathBuf, FileLock)>,
    /// A file that could not be understood, so that whatever it lists seems to be nobody's.
    odd: Option<PathBuf>,
    _exclusive: File,
}

/// The run directories as far as this user may look into them.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    pub(crate) open: Vec<RunDir>,
    /// Those that are closed to this user.
    pub(crate) denied: Vec<FileError>,
}

impl RunDir {
    /// Opens the directory and reads what is in it. Waits a little while another candor starts.
    pub(crate) fn open(notify: &mut dyn FnMut(Notice)) -> Result<Self, RunDirError> {
        Self::open_at(folder::of_the_system(), notify)
    }

    /// Opens the first directory that this user may use; `None`, after telling, if there is none.
    pub(crate) fn open_where_possible(notify: &mut dyn FnMut(Notice)) -> Result<Option<Self>, RunDirError> {
        let mut first = None;
        for path in folder::possible() {
            match Self::open_at(path, notify) {
                Err(RunDirError::File(error)) if is_denied(&error) => {
                    first.get_or_insert(error.path);
                }
                result => return result.map(Some),
            }
        }
        if let Some(path) = first {
            notify(Notice::NotAnnounced { path });
        }
        Ok(None)
    }

    /// Looks into all directories that are there, and makes none.
    pub(crate) fn open_existing(notify: &mut dyn FnMut(Notice)) -> Result<Opened, RunDirError> {
        Self::open_existing_at(folder::possible(), notify)
    }

    /// Looks where `candor apply` keeps its lists; `None` if nothing was ever there.
    pub(crate) fn open_applied(notify: &mut dyn FnMut(Notice)) -> Result<Option<Self>, RunDirError> {
        let mut opened = Self::open_existing_at(vec![folder::of_the_system()], notify)?;
        match opened.denied.pop() {
            Some(error) => Err(RunDirError::OwnersUnknown(error)),
            None => Ok(opened.open.pop()),
        }
    }

    fn open_existing_at(paths: Vec<PathBuf>, notify: &mut dyn FnMut(Notice)) -> Result<Opened, RunDirError> {
        let mut opened = Opened::default();
        for path in paths {
            if fs::metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                continue;
            }
            match Self::open_at(path, notify) {
                Ok(open) => opened.open.push(open),
                Err(RunDirError::File(error)) if is_denied(&error) => opened.denied.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(opened)
    }

    /// Opens this directory, wherever the others are.
    pub(crate) fn open_at(path: PathBuf, notify: &mut dyn FnMut(Notice)) -> Result<Self, RunDirError> {
        let here = Scope::of_this_process()?;
        make_private(&path)?;
        let exclusive = hold::hold(&path.join(folder::LOCK), notify)?;
        let mut run_dir = Self::unread(path, here, exclusive);
        run_dir.read(notify)?;
        Ok(run_dir)
    }

    fn unread(path: PathBuf, here: Scope, exclusive: File) -> Self {
        let (alive, applied, dead, dead_files) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { path, here, alive, applied, dead, dead_files, odd: None, _exclusive: exclusive }
    }

    /// Where a process of this network namespace answers those who ask it to read its file again.
    pub(crate) fn control_file(&self, pid: u32) -> PathBuf {
        self.path.join(format!("{}-{pid}.reload", self.here.netns))
    }

    /// The process whose file of this namespace this is, by its name.
    fn pid_of(&self, path: &Path) -> Option<u32> {
        let name = path.file_stem().and_then(|stem| stem.to_str())?;
        name.strip_prefix(&format!("{}-", self.here.netns))?.parse().ok()
    }

    /// Processes that run in this network namespace.
    pub(crate) fn alive(&self) -> &[Instance] {
        &self.alive
    }

    /// What `candor apply` has put into the kernel, in this network namespace.
    pub(crate) fn applied(&self) -> impl Iterator<Item = &Instance> {
        self.applied.iter().map(|(_path, instance)| instance)
    }

    /// Processes that died in this network namespace and left jobs in the kernel.
    pub(crate) fn dead(&self) -> &[Instance] {
        &self.dead
    }

    /// Says that not all lists can be understood, so that jobs of candor may look like those of nobody.
    ///
    /// # Errors
    /// [`RunDirError::NotUnderstood`] with one of them.
    pub(crate) fn knows_all(&self) -> Result<(), RunDirError> {
        match &self.odd {
            Some(path) => Err(RunDirError::NotUnderstood { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Says that somebody else has one of these jobs, with whichever engine: each frame would be forwarded twice, and on
    /// buses that are routed both ways without end. Who asks does not stand in its own way.
    pub(crate) fn refuse_twins(&self, wanted: &[OwnedJob], who: Option<&Owner>) -> Result<(), RunDirError> {
        for other in self.others(who) {
            let theirs = |job: &&OwnedJob| other.all_jobs().any(|owned| owned.job.is_same_job(&job.job));
            if let Some(job) = wanted.iter().find(theirs) {
                let route = job.route.clone();
                return Err(match other.owner.clone() {
                    Owner::Process { pid, .. } => RunDirError::AlreadyRunning { route, pid },
                    Owner::Applied { file } => RunDirError::AlreadyApplied { route, file },
                });
            }
        }
        Ok(())
    }

    /// The first of these jobs that somebody else answers with one the other way round, so that a frame that both take
    /// never ends: frames that a program sends begin their hops anew, and only its own socket does not hear them.
    pub(crate) fn first_circle(&self, wanted: &[OwnedJob], who: Option<&Owner>) -> Option<(String, Owner)> {
        let in_user_space = |one: &OwnedJob, other: &OwnedJob| [one.side, other.side].contains(&Side::User);
        self.others(who).find_map(|other| {
            let answered = |job: &&OwnedJob| {
                let closes =
                    |theirs: &OwnedJob| in_user_space(job, theirs) && may_circle(job.job.job(), theirs.job.job());
                other.all_jobs().any(closes)
            };
            Some((wanted.iter().find(answered)?.route.clone(), other.owner.clone()))
        })
    }

    /// Everybody who has jobs now, but not this one.
    pub(crate) fn others<'a>(&'a self, who: Option<&'a Owner>) -> impl Iterator<Item = &'a Instance> {
        self.alive.iter().chain(self.applied()).filter(move |other| Some(&other.owner) != who)
    }

    /// Says what this process is about to run.
    pub(crate) fn announce(&self, engine: Engine, jobs: Vec<OwnedJob>) -> Result<Entry, RunDirError> {
        let owner = Owner::Process { pid: std::process::id(), engine };
        let instance = Instance { owner, since: Since::now()?, jobs, change: None };
        Ok(Entry::write(&self.path, &self.here, &instance)?)
    }

    /// Says what an owner that is no process is about to have, or has by now; without jobs it is forgotten.
    pub(crate) fn keep_applied(&mut self, instance: Instance) -> Result<(), RunDirError> {
        let known = self.applied.iter().position(|(_, other)| other.owner == instance.owner);
        let path = known.map(|at| self.applied[at].0.clone());
        if instance.jobs.is_empty() && instance.change.is_none() {
            if let Some(path) = path {
                remove_file(&path)?;
            }
            known.map(|at| self.applied.swap_remove(at));
            return Ok(());
        }
        let path = entry::write_applied(&self.path, path.as_deref(), &self.here, &instance)?;
        match known {
            Some(at) => self.applied[at] = (path, instance),
            None => self.applied.push((path, instance)),
        }
        Ok(())
    }

    /// Removes the files of the dead, after their jobs have been dealt with.
    pub(crate) fn forget_dead(&mut self) -> Result<(), RunDirError> {
        for (path, lock) in self.dead_files.drain(..) {
            remove(&path, &lock)?;
        }
        Ok(())
    }

    fn read(&mut self, notify: &mut dyn FnMut(Notice)) -> Result<(), RunDirError> {
        let path = self.path.clone();
        for file in fs::read_dir(&path).map_err(failed(&path, "Reading it"))? {
            let path = file.map_err(failed(&path, "Reading it"))?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => self.read_entry(&path, notify)?,
                Some("new") => remove_if_abandoned(&path)?,
                _ => {}
            }
        }
        self.clear_control_files();
        self.disown()
    }

    /// Removes what processes left that were killed.
    fn clear_control_files(&self) {
        let Ok(files) = fs::read_dir(&self.path) else { return };
        let is_control_file = |path: &PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            extension.is_some_and(|extension| ["reload", "metrics"].contains(&extension))
        };
        let of_dead = |path: &PathBuf| {
            let pid = self.pid_of(path);
            let lives = |pid: u32| process_exists(pid) || self.alive.iter().any(|other| other.pid() == Some(pid));
            pid.is_some_and(|pid| !lives(pid))
        };
        for path in files.flatten().map(|file| file.path()).filter(is_control_file).filter(of_dead) {
            // One that stays says nothing of a process that runs.
            let _ = fs::remove_file(path);
        }
    }

    /// Takes from the lists of the dead what somebody else has by now: one who took jobs over and was killed before it could
    /// remove the list of before. So each job has one owner, and nobody removes another's as a leftover.
    fn disown(&mut self) -> Result<(), RunDirError> {
        let living = self.others(None).flat_map(Instance::all_jobs).filter(|owned| owned.side == Side::Kernel);
        let mut known = Counts::of_jobs(living.map(|owned| &owned.job));
        let dead = std::mem::take(&mut self.dead).into_iter().zip(std::mem::take(&mut self.dead_files));
        for (mut instance, (path, lock)) in dead {
            let mut of_others = known.clone();
            instance.jobs.retain(|owned| owned.side == Side::User || !of_others.take(&Identity::of(&owned.job)));
            known.add(&Counts::of_jobs(instance.kernel_jobs().map(|owned| &owned.job)));
            if instance.kernel_jobs().next().is_none() {
                remove(&path, &lock)?;
                continue;
            }
            self.dead.push(instance);
            self.dead_files.push((path, lock));
        }
        Ok(())
    }

    fn read_entry(&mut self, path: &Path, notify: &mut dyn FnMut(Notice)) -> Result<(), RunDirError> {
        let file = match lock::open_regular(OpenOptions::new().read(true), path) {
            // Its process ended just now and took it along.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            result => result.map_err(failed(path, "Opening it"))?,
        };
        let lock = FileLock::try_exclusive(file).map_err(failed(path, "Locking it"))?;
        let found = match &lock {
            Ok(lock) => entry::read(lock.file(), &self.here),
            Err(file) => entry::read(file, &self.here),
        };
        match (found, lock) {
            (Ok(Found::Here(instance)), _) if instance.pid().is_none() => {
                self.applied.push((path.to_owned(), instance));
            }
            (Ok(Found::Here(instance)), Err(_held)) => self.alive.push(instance),
            (Ok(Found::Here(instance)), Ok(lock)) if instance.kernel_jobs().next().is_some() => {
                self.dead.push(instance);
                self.dead_files.push((path.to_owned(), lock));
            }
            // What a process did itself ended with it, and jobs end with their boot.
            (Ok(Found::Here(_) | Found::Past), Ok(lock)) => remove(path, &lock)?,
            // The jobs of another namespace cannot be reached from here.
            (Ok(Found::Past | Found::OtherNamespace), _) => {}
            (Err(error), _) => {
                notify(Notice::OddList { path: path.to_owned(), reason: error.to_string() });
                self.odd.get_or_insert_with(|| path.to_owned());
            }
        }
        Ok(())
    }
}

/// Whether a process has this id now; it may be any program.
pub(crate) fn process_exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn may_circle(one: &CangwJob, other: &CangwJob) -> bool {
    let there_and_back = (one.source, one.destination) == (other.destination, other.source);
    let seen = |job: &CangwJob| job.flags.contains(JobFlags::ECHO);
    there_and_back
        && seen(one)
        && seen(other)
        && one.flags.format() == other.flags.format()
        && may_overlap(one.filter, other.filter)
}

/// Whether some identifier passes both; too careful about inverted filters.
fn may_overlap(one: Filter, other: Filter) -> bool {
    (one.id | other.id) & CAN_INV_FILTER != 0 || (one.id ^ other.id) & one.mask & other.mask == 0
}

/// A file that a process wrote and did not live to name.
fn remove_if_abandoned(path: &Path) -> Result<(), FileError> {
    let Ok(file) = lock::open_regular(OpenOptions::new().read(true), path) else { return Ok(()) };
    match FileLock::try_exclusive(file).map_err(failed(path, "Locking it"))? {
        Ok(lock) => remove(path, &lock),
        Err(_held) => Ok(()),
    }
}

/// Removes the file that is locked, unless the name means another one by now or nothing.
fn remove(path: &Path, lock: &FileLock) -> Result<(), FileError> {
    if !lock.is_at(path).map_err(failed(path, "Looking at it"))? {
        return Ok(());
    }
    remove_file(path)
}

fn remove_file(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.map_err(failed(path, "Removing it")),
    }
}

#[cfg(test)]
mod tests;
