//! Netlink operations on the jobs of a world: add, update by uid, delete, flush, list.
//!
//! # Source
//! Linux 6.1:
//! [`cgw_parse_attr()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L815),
//! [`cgw_create_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1071),
//! [`cgw_remove_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1196),
//! [`cgw_dump_jobs()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L770).

use std::num::NonZeroU32;

use super::world::{Installed, JobId, SameInterface, World};
use crate::frame::FrameFormat;
use crate::job::Incoming;
use crate::job::Job;
use crate::rule::{ChecksumSpan, Checksums, Modifications, Operand};

/// Error codes of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// 22: an impossible request, or no such job.
    Einval,
    /// 100: the interface is down.
    Enetdown,
    /// 105: the queue is full.
    Enobufs,
    /// 19: no such interface.
    Enodev,
}

/// Result of adding a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is a new one, even if there was the same already.
    New(JobId),
    /// An older one with the same uid got its modifications, checksums included, and kept everything else.
    Updated(JobId),
}

/// A job as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Position of the job.
    pub id: JobId,
    /// As the kernel keeps it.
    pub job: Job,
    /// `handled`, modulo 2^32.
    pub handled: u32,
    /// `dropped`, modulo 2^32.
    pub dropped: u32,
    /// `deleted`, modulo 2^32.
    pub deleted: u32,
}

impl World {
    /// Adds a job, before all others, or changes the newest one that has its uid.
    ///
    /// Nothing looks for a job that is the same: added twice it does everything twice.
    ///
    /// # Errors
    /// EINVAL for a hop limit, or an active checksum's position, that is out of range, for a uid in use with other
    /// interfaces or another filter, and, by newer kernels, for a job that goes nowhere; ENODEV for an unknown
    /// interface. Interfaces may be down.
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

    /// Deletes the newest job that is meant.
    ///
    /// Flags, hop limit, interfaces and filter (as it was given) must be equal. If one of both has a uid, the uids must
    /// be, and nothing else is compared; otherwise modifications and checksums must be.
    ///
    /// # Errors
    /// EINVAL if there is none, or as for [`add`](Self::add).
    pub fn delete(&mut self, job: &Job) -> Result<JobId, Errno> {
        let wanted = self.parsed(job)?;
        let position = self.jobs.iter().position(|installed| is_meant(&installed.job, &wanted)).ok_or(Errno::Einval)?;
        Ok(self.jobs.remove(position).id)
    }

    /// Deletes all jobs.
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
            // Neither looked at nor kept.
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

/// Changes a job in place. Its flags and its hop limit are neither compared nor changed: a job for classic frames stays
/// one, though the change was meant for FD frames.
fn update(installed: &mut Installed, job: &Job) -> Result<Added, Errno> {
    let old = &mut installed.job;
    if old.from != job.from || old.to != job.to || old.filter != job.filter {
        return Err(Errno::Einval);
    }
    old.modifications = job.modifications;
    old.checksums = job.checksums;
    Ok(Added::Updated(installed.id))
}

fn is_meant(installed: &Job, wanted: &Job) -> bool {
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

/// Without what frames of this format have not: flags, and more than 8 bytes of data.
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
