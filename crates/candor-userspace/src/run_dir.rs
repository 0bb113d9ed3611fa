//! Ownership records: one file for each process, locked while the process lives, and one for each applied gateway file.
//!
//! `/run/candor/NETNS-PID-NUMBER.json` and `NETNS-applied-NUMBER.json` (another directory with `CANDOR_RUN_DIR`) hold
//! boot id, network namespace, owner, and the exact bytes of its jobs with their routes. An unlocked file of a process
//! was left by a dead one. Directory and files are accessible to their owner only, so that no other user can hold the
//! locks.

mod content;
mod entry;
mod error;
mod folder;
mod give;
mod hold;
mod instance;
mod scope;

pub use entry::Entry;
pub use error::{FileError, RunDirError};
pub use give::{give_run_dir, take_run_dir_back};
pub use instance::Since;
pub use instance::{Change, Instance, OwnedJob};

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

/// The run directory, locked against other starting candors.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    here: Scope,
    alive: Vec<Instance>,
    applied: Vec<(PathBuf, Instance)>,
    dead: Vec<Instance>,
    /// Records of dead processes, locked so that no other candor adopts the same jobs.
    dead_files: Vec<(PathBuf, FileLock)>,
    /// An unreadable record, whose jobs look foreign.
    odd: Option<PathBuf>,
    _exclusive: File,
}

/// The run directories that this user may open.
#[derive(Debug, Default)]
pub struct Opened {
    pub open: Vec<RunDir>,
    /// Errors of those that it may not open.
    pub denied: Vec<FileError>,
}

impl RunDir {
    /// Opens the directory and reads the records. Waits up to 10 s for another candor that is starting.
    pub fn open(notify: &mut dyn FnMut(Notice)) -> Result<Self, RunDirError> {
        Self::open_at(folder::of_the_system(), notify)
    }

    /// Opens the first directory that this user may use; `None`, after a notice, if there is none.
    pub fn open_where_possible(notify: &mut dyn FnMut(Notice)) -> Result<Option<Self>, RunDirError> {
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

    /// Opens all existing directories, without creating any.
    pub fn open_existing(notify: &mut dyn FnMut(Notice)) -> Result<Opened, RunDirError> {
        Self::open_existing_at(folder::possible(), notify)
    }

    /// Opens the directory of `candor apply`; `None` if it does not exist.
    pub fn open_applied(notify: &mut dyn FnMut(Notice)) -> Result<Option<Self>, RunDirError> {
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

    pub fn open_at(path: PathBuf, notify: &mut dyn FnMut(Notice)) -> Result<Self, RunDirError> {
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

    /// Control file of a process in this network namespace.
    pub fn control_file(&self, pid: u32) -> PathBuf {
        self.path.join(format!("{}-{pid}.reload", self.here.netns))
    }

    /// Process id in a file name of this namespace.
    fn pid_of(&self, path: &Path) -> Option<u32> {
        let name = path.file_stem().and_then(|stem| stem.to_str())?;
        name.strip_prefix(&format!("{}-", self.here.netns))?.parse().ok()
    }

    /// Running processes of this network namespace.
    pub fn alive(&self) -> &[Instance] {
        &self.alive
    }

    /// This process, if it has a record.
    pub fn me(&self) -> Option<&Owner> {
        let mut owners = self.alive.iter().map(|instance| &instance.owner);
        owners.find(|owner| matches!(owner, Owner::Process { pid, .. } if *pid == std::process::id()))
    }

    /// Applied files of this network namespace.
    pub fn applied(&self) -> impl Iterator<Item = &Instance> {
        self.applied.iter().map(|(_path, instance)| instance)
    }

    /// Dead processes of this network namespace that left jobs.
    pub fn dead(&self) -> &[Instance] {
        &self.dead
    }

    /// Fails if some record is unreadable, so that jobs of candor may look foreign.
    ///
    /// # Errors
    /// [`RunDirError::NotUnderstood`] with one of the records.
    pub fn knows_all(&self) -> Result<(), RunDirError> {
        match &self.odd {
            Some(path) => Err(RunDirError::NotUnderstood { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Fails if another owner has one of these jobs, with any engine: each frame would be forwarded twice, and
    /// endlessly with routes in both directions. `who` is the owner that asks.
    pub fn refuse_twins(&self, wanted: &[OwnedJob], who: Option<&Owner>) -> Result<(), RunDirError> {
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

    /// The first of these jobs that another owner reverses, so that a frame that matches both never ends: user space
    /// restarts the hop count, and a process ignores only frames of its own sockets.
    pub fn first_circle(&self, wanted: &[OwnedJob], who: Option<&Owner>) -> Option<(String, Owner)> {
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

    pub fn others<'a>(&'a self, who: Option<&'a Owner>) -> impl Iterator<Item = &'a Instance> {
        self.alive.iter().chain(self.applied()).filter(move |other| Some(&other.owner) != who)
    }

    /// Writes the ownership record of this process.
    pub fn announce(&self, engine: Engine, jobs: Vec<OwnedJob>) -> Result<Entry, RunDirError> {
        let owner = Owner::Process { pid: std::process::id(), engine };
        let instance = Instance { owner, since: Since::now()?, signer: None, jobs, change: None };
        Ok(Entry::write(&self.path, &self.here, &instance)?)
    }

    /// Writes the record of an applied file; removes it if there are no jobs.
    pub fn keep_applied(&mut self, instance: Instance) -> Result<(), RunDirError> {
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

    /// Removes the records of dead processes, after their jobs have been adopted or removed.
    pub fn forget_dead(&mut self) -> Result<(), RunDirError> {
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

    /// Removes control files and sockets of killed processes.
    fn clear_control_files(&self) {
        let Ok(files) = fs::read_dir(&self.path) else { return };
        let is_control_file = |path: &PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            extension.is_some_and(|extension| ["reload", "metrics", "mode"].contains(&extension))
        };
        let of_dead = |path: &PathBuf| {
            let pid = self.pid_of(path);
            let lives = |pid: u32| process_exists(pid) || self.alive.iter().any(|other| other.pid() == Some(pid));
            pid.is_some_and(|pid| !lives(pid))
        };
        for path in files.flatten().map(|file| file.path()).filter(is_control_file).filter(of_dead) {
            // A remaining file is harmless.
            let _ = fs::remove_file(path);
        }
    }

    /// Removes jobs from dead records that another owner has: an adopter may have been killed before it could remove
    /// the old record. So each job has one owner, and no owner removes another's job as a leftover.
    fn disown(&mut self) -> Result<(), RunDirError> {
        let living = self.others(None).flat_map(Instance::all_jobs).filter(|owned| owned.side == Side::Kernel);
        let mut known = Counts::of_jobs(living.map(|owned| &owned.job));
        let dead = std::mem::take(&mut self.dead).into_iter().zip(std::mem::take(&mut self.dead_files));
        for (mut instance, (path, lock)) in dead {
            let mut of_others = known.clone();
            instance.jobs.retain(|owned| owned.side != Side::Kernel || !of_others.take(&Identity::of(&owned.job)));
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
            // Its process has just ended and removed it.
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
            // User-space routes ended with their process, and jobs with their boot.
            (Ok(Found::Here(_) | Found::Past), Ok(lock)) => remove(path, &lock)?,
            // Jobs of another namespace are out of reach.
            (Ok(Found::Past | Found::OtherNamespace), _) => {}
            (Err(error), _) => {
                notify(Notice::OddList { path: path.to_owned(), reason: error.to_string() });
                self.odd.get_or_insert_with(|| path.to_owned());
            }
        }
        Ok(())
    }
}

/// True if a process has this id now; it may be any program.
pub fn process_exists(pid: u32) -> bool {
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

/// True if some identifier may match both filters; conservative for inverted ones.
fn may_overlap(one: Filter, other: Filter) -> bool {
    (one.id | other.id) & CAN_INV_FILTER != 0 || (one.id ^ other.id) & one.mask & other.mask == 0
}

/// A file that a process wrote and did not live to rename.
fn remove_if_abandoned(path: &Path) -> Result<(), FileError> {
    let Ok(file) = lock::open_regular(OpenOptions::new().read(true), path) else { return Ok(()) };
    match FileLock::try_exclusive(file).map_err(failed(path, "Locking it"))? {
        Ok(lock) => remove(path, &lock),
        Err(_held) => Ok(()),
    }
}

/// Removes the locked file, unless the path has another file by now or none.
fn remove(path: &Path, lock: &FileLock) -> Result<(), FileError> {
    if !lock.is_at(path).map_err(failed(path, "Reading its metadata"))? {
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
