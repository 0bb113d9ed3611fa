//! Netlink operations on the jobs of a world: add, update by uid, delete, flush, list.
//!
//! # Source
//! Linux 6.1:
//! [`cgw_parse_attr()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L815),
//! [`cgw_create_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1071),
//! [`cgw_remove_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1196),
//! [`cgw_dump_jobs()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L770).

use std::num::NonZeroU32;

use super::outcome::{Errno, JobId};
use super::world::{Installed, SameInterface, World};
use crate::frame::FrameFormat;
use crate::job::{Incoming, Job};
use crate::rule::{ChecksumSpan, Checksums, Modifications, Operand};

/// Result of adding a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// A new job, even if an equal one exists.
    New(JobId),
    /// An installed job with the same uid has the new modifications and checksums. Everything else is unchanged.
    Updated(JobId),
}

/// An entry of the list of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Stable until the job is deleted.
    pub id: JobId,
    /// The job as the kernel keeps it.
    pub job: Job,
    /// `handled`, modulo 2^32.
    pub handled: u32,
    /// `dropped`, modulo 2^32.
    pub dropped: u32,
    /// `deleted`, modulo 2^32.
    pub deleted: u32,
}

impl World {
    /// Adds a job before all others, or updates the newest one with its uid.
    ///
    /// There is no check for duplicates: each copy sends every frame.
    ///
    /// # Errors
    /// EINVAL if the hop limit or a position of an active checksum is out of range, if the uid is in use with other
    /// interfaces or another filter, and on newer kernels if source and destination are equal; ENODEV if an interface
    /// does not exist. Interfaces may be down.
    pub fn add(&mut self, job: &Job) -> Result<Added, Errno> {
        let job = self.parsed(job)?;
        let mut same_uid = self.jobs.iter_mut().filter(|installed| job.uid.is_some() && installed.job.uid == job.uid);
        if let Some(newest) = same_uid.next() {
            return update(newest, &job);
        }
        if self.interface(job.from).is_none() || self.interface(job.to).is_none() {
            return Err(Errno::Enodev);
        }
        let goes_nowhere = job.from == job.to && job.incoming == Incoming::Skipped;
        if goes_nowhere && self.kernel.same_interface == SameInterface::Refused {
            return Err(Errno::Einval);
        }
        let id = JobId(self.next_job);
        self.next_job += 1;
        self.jobs.insert(0, Installed { id, job, handled: 0, dropped: 0, deleted: 0 });
        Ok(Added::New(id))
    }

    /// Deletes the newest matching job.
    ///
    /// Flags, hop limit, interfaces and filter (as given) must be equal. If one of the jobs has a uid, the uids must be
    /// equal and nothing else is compared; otherwise modifications and checksums must be equal.
    ///
    /// # Errors
    /// EINVAL if no job matches, or as for [`add`](Self::add).
    pub fn delete(&mut self, job: &Job) -> Result<JobId, Errno> {
        let wanted = self.parsed(job)?;
        let position = self.jobs.iter().position(|installed| matches(&installed.job, &wanted)).ok_or(Errno::Einval)?;
        Ok(self.jobs.remove(position).id)
    }

    /// Deletes all jobs, as can-gw does for an empty delete request.
    pub fn flush(&mut self) {
        self.jobs.clear();
    }

    /// All jobs, newest first.
    #[must_use]
    pub fn list(&self) -> Vec<Listed> {
        let listed = |installed: &Installed| {
            let Installed { id, job, handled, dropped, deleted } = installed.clone();
            Listed { id, job, handled, dropped, deleted }
        };
        self.jobs.iter().map(listed).collect()
    }

    /// `cgw_parse_attr()`: the job as the kernel keeps it.
    fn parsed(&self, job: &Job) -> Result<Job, Errno> {
        if job.hop_limit.is_some_and(|limit| limit < 1 || limit > self.kernel.max_hops) {
            return Err(Errno::Einval);
        }
        let mut parsed = Job { modifications: of_format(&job.modifications, job.leaves_as()), ..job.clone() };
        if parsed.modifications.is_empty() {
            // Ignored, and not kept.
            parsed.checksums = Checksums::NONE;
            parsed.uid = None;
        }
        let Checksums { crc8, xor } = &parsed.checksums;
        let spans = crc8.iter().map(|crc8| crc8.span).chain(xor.iter().map(|xor| xor.span));
        for ChecksumSpan { from, to, result } in spans {
            let bytes = i16::try_from(job.leaves_as().max_len()).expect("8 or 64");
            if [from, to, result].into_iter().any(|at| i16::from(at) < -bytes || i16::from(at) >= bytes) {
                return Err(Errno::Einval);
            }
        }
        Ok(parsed)
    }
}

/// Updates a job in place. Its flags and its hop limit are neither compared nor changed: a job for classic frames stays
/// one, even if the update is for FD frames.
fn update(installed: &mut Installed, job: &Job) -> Result<Added, Errno> {
    let old = &mut installed.job;
    if old.from != job.from || old.to != job.to || old.filter != job.filter {
        return Err(Errno::Einval);
    }
    old.modifications = job.modifications;
    old.checksums = job.checksums;
    Ok(Added::Updated(installed.id))
}

fn matches(installed: &Job, wanted: &Job) -> bool {
    let flags = |job: &Job| (job.format, job.echo, job.timestamp, job.incoming);
    let uids: [Option<NonZeroU32>; 2] = [installed.uid, wanted.uid];
    let same_work = if uids == [None, None] {
        installed.modifications == wanted.modifications && installed.checksums == wanted.checksums
    } else {
        installed.uid == wanted.uid
    };
    flags(installed) == flags(wanted)
        && installed.hop_limit == wanted.hop_limit
        && same_work
        && (installed.from, installed.to, installed.filter) == (wanted.from, wanted.to, wanted.filter)
}

/// Removes operands that classic frames do not have: flags, and data beyond 8 bytes.
fn of_format(modifications: &Modifications, format: FrameFormat) -> Modifications {
    let Modifications { and, or, xor, set } = *modifications;
    let operand = |mut operand: Operand| {
        if format == FrameFormat::Classic {
            operand.flags = None;
            if let Some(data) = &mut operand.data {
                data[format.max_len()..].fill(0);
            }
        }
        operand
    };
    Modifications { and: operand(and), or: operand(or), xor: operand(xor), set: operand(set) }
}
