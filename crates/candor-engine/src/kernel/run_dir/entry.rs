//! One file of the run directory.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use candor_io::lock::FileLock;
use candor_netlink::cangw::CangwJob;
use serde::{Deserialize, Serialize};

use super::{Instance, Place, failed};
use crate::error::RunDirError;

const VERSION: u32 = 1;

/// This process's own file; the lock lives as long as the value.
#[derive(Debug)]
pub(in crate::kernel) struct Entry {
    path: PathBuf,
    _lock: FileLock,
}

/// What such a file holds.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Content {
    version: u32,
    boot_id: String,
    netns: u64,
    pid: u32,
    /// The bytes of each job in hexadecimal, in the order of the plan.
    jobs: Vec<String>,
}

impl Entry {
    /// Writes the file aside, locks it, and only then gives it its name: it is never seen half or unlocked.
    pub(super) fn write(dir: &Path, content: &Content) -> Result<Self, RunDirError> {
        let name = format!("{}-{:.8}", content.pid, content.boot_id);
        let path = dir.join(&name).with_extension("json");
        let aside = dir.join(&name).with_extension("new");
        let file = File::create(&aside).map_err(failed(&aside, "Making it"))?;
        let taken = || failed(&aside, "Locking it")(io::ErrorKind::WouldBlock.into());
        let lock = FileLock::try_exclusive(file).map_err(failed(&aside, "Locking it"))?.map_err(|_file| taken())?;
        let text = serde_json::to_vec(content).map_err(io::Error::from).map_err(failed(&aside, "Writing it"))?;
        lock.file().write_all(&text).map_err(failed(&aside, "Writing it"))?;
        fs::rename(&aside, &path).map_err(failed(&path, "Naming it"))?;
        Ok(Self { path, _lock: lock })
    }

    /// Removes the file: nothing of this process is in the kernel any more.
    pub(in crate::kernel) fn forget(&self) {
        // A file that stays is harmless: its jobs will not be found.
        let _ = fs::remove_file(&self.path);
    }
}

impl Content {
    pub(super) fn new(place: &Place, pid: u32, jobs: &[CangwJob]) -> Self {
        let jobs = jobs.iter().map(|job| to_hex(&job.to_bytes())).collect();
        Self { version: VERSION, boot_id: place.boot_id.clone(), netns: place.netns, pid, jobs }
    }

    pub(super) fn read(file: &File) -> io::Result<Self> {
        let content: Self = serde_json::from_reader(io::BufReader::new(file)).map_err(io::Error::from)?;
        if content.version == VERSION { Ok(content) } else { Err(invalid("it is of another version of candor")) }
    }

    pub(super) fn place(&self) -> Place {
        Place { boot_id: self.boot_id.clone(), netns: self.netns }
    }

    pub(super) fn instance(&self) -> io::Result<Instance> {
        let job = |hex: &String| {
            let bytes = from_hex(hex).ok_or_else(|| invalid("a job is no hexadecimal text"))?;
            CangwJob::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        };
        Ok(Instance { pid: self.pid, jobs: self.jobs.iter().map(job).collect::<io::Result<_>>()? })
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
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
