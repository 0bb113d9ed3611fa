//! A fake of the kernel's job list, written after
//! [`net/can/gw.c`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1071) and independent of the code under test.

use candor_core::filter::ReceiveList;
use candor_netlink::cangw::{CangwJob, ExactJob, JobCounters};

use super::super::Step;

/// Jobs newest first. The counter `handled` of each is a number by which the very job is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Kernel {
    pub(super) jobs: Vec<ExactJob>,
    born: u32,
}

impl Kernel {
    /// `cgw_create_job()`.
    pub(super) fn add(&mut self, job: &ExactJob) -> Result<(), &'static str> {
        let uid = job.job().uid;
        if uid != 0
            && let Some(at) = self.jobs.iter().position(|other| other.job().uid == uid)
        {
            let (old, new) = (*self.jobs[at].job(), *job.job());
            let ends = |job: &CangwJob| (job.source, job.destination, job.filter);
            if ends(&old) != ends(&new) {
                return Err("EINVAL");
            }
            let changed = CangwJob { modifications: new.modifications, checksums: new.checksums, ..old };
            self.jobs[at] = counted(changed);
            return Ok(());
        }
        self.born += 1;
        self.jobs.insert(0, counted(CangwJob { counters: handled(self.born), ..*job.job() }));
        Ok(())
    }

    /// `cgw_remove_job()`.
    pub(super) fn delete(&mut self, job: &ExactJob) -> Result<(), &'static str> {
        let wanted = *job.job();
        let matches = |other: &ExactJob| {
            let present = *other.job();
            let ends = |job: &CangwJob| (job.flags, job.hop_limit, job.source, job.destination, job.filter);
            let changes = |job: &CangwJob| (job.modifications, job.checksums);
            ends(&present) == ends(&wanted)
                && if present.uid != 0 || wanted.uid != 0 {
                    present.uid == wanted.uid
                } else {
                    changes(&present) == changes(&wanted)
                }
        };
        let at = self.jobs.iter().position(matches).ok_or("EINVAL")?;
        self.jobs.remove(at);
        Ok(())
    }

    pub(super) fn follow(&mut self, step: &Step) -> Result<(), &'static str> {
        match step {
            Step::Add(job) | Step::Change(job) => self.add(job),
            Step::Delete(job) => self.delete(job),
        }
    }

    /// By which number each job is known.
    pub(super) fn known(&self) -> Vec<u32> {
        self.jobs.iter().map(|job| job.job().counters.handled).collect()
    }
}

/// A job as a dump gives it.
fn counted(job: CangwJob) -> ExactJob {
    use candor_netlink::codec::{Message, MessageWriter};

    let mut writer = MessageWriter::new(0, 0);
    writer.header(&job.to_bytes()).attribute(7, &job.counters.handled.to_ne_bytes());
    let payload = writer.payload();
    ExactJob::decode(&Message { kind: 0, flags: 0, sequence: 0, payload }).unwrap()
}

fn handled(handled: u32) -> JobCounters {
    JobCounters { handled, ..JobCounters::default() }
}

/// True if two jobs can see the same frame one after the other, so that their order matters.
pub(super) fn order_matters(one: &CangwJob, other: &CangwJob) -> bool {
    let (a, b) = (one.filter.normalise(), other.filter.normalise());
    one.source == other.source
        && one.flags.format() == other.flags.format()
        && a.list == b.list
        && (a.list != ReceiveList::Exact || a.id == b.id)
}
