//! One file of the run directory.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use candor_core::plan::Engine;
use candor_io::lock::FileLock;
use candor_netlink::cangw::CangwJob;
use serde::{Deserialize, Serialize};

use super::{Instance, Place, failed, remove};
use crate::error::RunDirError;

const VERSION: u32 = 2;
const PRIVATE_FILE: u32 = 0o600;

/// This process's own file; the lock lives as long as the value.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    lock: FileLock,
}

/// What such a file holds.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Content {
    version: u32,
    #[serde(flatten)]
    place: Place,
    pid: u32,
    engine: String,
    /// The bytes of each job in hexadecimal, in the order of the plan.
    jobs: Vec<String>,
}

/// Whose file it is.
#[derive(Debug)]
pub(super) enum Found {
    Here(Instance),
    OtherBoot,
    OtherNamespace,
}

impl Entry {
    /// Writes the file aside, locks it, and only then gives it its name: it is never seen half or unlocked.
    ///
    /// The process number alone is no name: processes of two pid namespaces can have the same one, and so can a dead
    /// process and the one after it. Whoever writes holds the directory, so a free name stays free.
    pub(super) fn write(dir: &Path, content: &Content) -> Result<Self, RunDirError> {
        let (path, aside) = (0_u32..)
            .map(|number| dir.join(format!("{}-{}-{number}", content.place.netns, content.pid)))
            .map(|name| (name.with_extension("json"), name.with_extension("new")))
            .find(|(path, aside)| !path.exists() && !aside.exists())
            .expect("a folder does not hold 2³² files");
        let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&aside);
        let file = file.map_err(failed(&aside, "Making it"))?;
        let taken = || failed(&aside, "Locking it")(ErrorKind::WouldBlock.into());
        let lock = FileLock::try_exclusive(file).map_err(failed(&aside, "Locking it"))?.map_err(|_file| taken())?;
        let text = serde_json::to_vec(content).map_err(io::Error::from).map_err(failed(&aside, "Writing it"))?;
        lock.file().write_all(&text).map_err(failed(&aside, "Writing it"))?;
        fs::rename(&aside, &path).map_err(failed(&path, "Naming it"))?;
        Ok(Self { path, lock })
    }

    /// Removes the file: this process runs nothing any more.
    pub(crate) fn forget(&self) {
        // A file that stays is harmless: its jobs will not be found.
        let _ = remove(&self.path, &self.lock);
    }
}

/// Reads what another process wrote. Where it belongs is read first: what does not concern this place need not be
/// understood.
pub(super) fn read(file: &File, here: &Place) -> io::Result<Found> {
    let text = io::read_to_string(file)?;
    let place: Place = serde_json::from_str(&text)?;
    if place.boot_id != here.boot_id {
        return Ok(Found::OtherBoot);
    }
    if place.netns != here.netns {
        return Ok(Found::OtherNamespace);
    }
    let content: Content = serde_json::from_str(&text)?;
    if content.version != VERSION {
        return Err(invalid("it is of another version of candor"));
    }
    Ok(Found::Here(content.instance()?))
}

impl Content {
    pub(super) fn new(place: &Place, pid: u32, engine: Engine, jobs: &[CangwJob]) -> Self {
        let jobs = jobs.iter().map(|job| to_hex(&job.to_bytes())).collect();
        Self { version: VERSION, place: place.clone(), pid, engine: engine.name().into(), jobs }
    }

    fn instance(&self) -> io::Result<Instance> {
        let job = |hex: &String| {
            let bytes = from_hex(hex).ok_or_else(|| invalid("a job is no hexadecimal text"))?;
            CangwJob::from_bytes(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
        };
        let engine = [Engine::Kernel, Engine::ReadWrite].into_iter().find(|engine| engine.name() == self.engine);
        let engine = engine.ok_or_else(|| invalid("its engine is unknown"))?;
        Ok(Instance { pid: self.pid, engine, jobs: self.jobs.iter().map(job).collect::<io::Result<_>>()? })
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    digits.map(|pair| u8::from_str_radix(pair.filter(|pair| pair.len() == 2)?, 16).ok()).collect()
}
