//! Jobs owned by this process.

use std::collections::{HashMap, VecDeque};

use candor_core::filter::Filter;
use candor_netlink::cangw::{self, CangwError, CangwJob, JobCounters};
use candor_netlink::client::{Client, NetlinkError};

use crate::refusal::Refusal;
use candor_userspace::run_dir::Entry;

/// Owned jobs. Dropping this removes them, so that an error or a panic leaves nothing.
#[derive(Debug)]
pub(super) struct Installed {
    client: Client,
    /// In plan order, which is the kernel's order.
    jobs: VecDeque<CangwJob>,
    entry: Entry,
}

impl Installed {
    /// No jobs yet; `entry` announces them.
    pub(super) fn new(entry: Entry) -> Result<Self, NetlinkError> {
        let client = Client::open().inspect_err(|_error| entry.forget())?;
        Ok(Self { client, jobs: VecDeque::new(), entry })
    }

    /// All jobs of the namespace, of any owner.
    pub(super) fn present(&mut self) -> Result<Vec<CangwJob>, CangwError> {
        cangw::dump(&mut self.client)
    }

    pub(super) fn take_over(&mut self, jobs: &[CangwJob]) {
        self.jobs.extend(jobs);
    }

    /// Adds a job before the owned ones.
    pub(super) fn add(&mut self, job: &CangwJob) -> Result<(), Refusal> {
        match cangw::add(&mut self.client, job) {
            Ok(()) => {
                self.jobs.push_front(*job);
                Ok(())
            }
            Err(error) => {
                // Without an answer the kernel may have added it: the removal handles both cases.
                if matches!(error, CangwError::Netlink(NetlinkError::Decode(_) | NetlinkError::Socket(_))) {
                    self.jobs.push_front(*job);
                }
                Err(self.explain(job, error))
            }
        }
    }

    /// Determines the likely causes of a refusal.
    pub(super) fn explain(&mut self, job: &CangwJob, error: CangwError) -> Refusal {
        Refusal::explain(&mut self.client, job, error)
    }

    /// Removes a job of a dead process.
    pub(super) fn remove_leftover(&mut self, job: &CangwJob) -> Result<(), CangwError> {
        remove_leftover(&mut self.client, job)
    }

    /// An owned job by its position.
    pub(super) fn job(&self, at: usize) -> &CangwJob {
        &self.jobs[at]
    }

    /// Deletes a job that will be added again at once.
    pub(super) fn take_out(&mut self, at: usize) -> Result<(), CangwError> {
        match cangw::delete(&mut self.client, &self.jobs[at]) {
            Ok(()) | Err(CangwError::NoSuchJob | CangwError::NoSuchInterface) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds a job in place of a missing one.
    pub(super) fn put_back(&mut self, at: usize, job: &CangwJob) -> Result<(), CangwError> {
        // Recorded first, so that it is removed at the end even if the answer is lost.
        self.jobs[at] = *job;
        cangw::add(&mut self.client, job)
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &CangwJob> {
        self.jobs.iter()
    }

    /// Replaces the owned jobs after a reload.
    pub(super) fn replace(&mut self, jobs: Vec<CangwJob>) {
        self.jobs = jobs.into();
    }

    pub(super) const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(super) fn announce(&mut self, entry: Entry) {
        std::mem::replace(&mut self.entry, entry).forget();
    }

    /// Counters by owned job; `None` if it is missing. Of equal jobs, which another program may have added, the one
    /// with the least growth is taken.
    pub(super) fn list(
        &mut self,
        growth: impl Fn(usize, JobCounters) -> u64,
    ) -> Result<Vec<Option<JobCounters>>, CangwError> {
        let present = cangw::dump(&mut self.client)?;
        Ok(self.find(&present, growth))
    }

    /// As [`list`](Self::list), in an earlier dump.
    pub(super) fn find(
        &self,
        present: &[CangwJob],
        growth: impl Fn(usize, JobCounters) -> u64,
    ) -> Vec<Option<JobCounters>> {
        let mut taken = vec![false; present.len()];
        // A hash table instead of millions of comparisons.
        let mut by_filter: HashMap<Filter, Vec<usize>> = HashMap::new();
        for (at, job) in present.iter().enumerate() {
            by_filter.entry(job.filter).or_default().push(at);
        }
        self.jobs
            .iter()
            .enumerate()
            .map(|(position, own)| {
                let alike = by_filter.get(&own.filter).into_iter().flatten().copied();
                let equal = alike.filter(|&at| !taken[at] && present[at].is_same_job(own));
                let found = equal.min_by_key(|&at| growth(position, present[at].counters))?;
                taken[found] = true;
                Some(present[found].counters)
            })
            .collect()
    }

    /// Removes all owned jobs and returns how many were removed and how many were already gone. The kernel searches its
    /// list from the beginning, so the first ones are removed first.
    ///
    /// After an error the rest stays owned and recorded.
    pub(super) fn remove_all(&mut self) -> Result<(usize, usize), CangwError> {
        let (mut removed, mut missing) = (0, 0);
        while let Some(job) = self.jobs.front() {
            match cangw::delete(&mut self.client, job) {
                Ok(()) => removed += 1,
                // Unloading the module removes its jobs.
                Err(CangwError::ModuleMissing | CangwError::NoSuchInterface | CangwError::NoSuchJob) => missing += 1,
                Err(error) => return Err(error),
            }
            self.jobs.pop_front();
        }
        self.entry.forget();
        Ok((removed, missing))
    }
}

/// Removes a job that a dead process left.
pub(super) fn remove_leftover(client: &mut Client, job: &CangwJob) -> Result<(), CangwError> {
    match cangw::delete(client, job) {
        Ok(()) | Err(CangwError::NoSuchJob | CangwError::NoSuchInterface) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // There is no caller to report an error to; what could not be removed stays recorded.
        let _ = self.remove_all();
    }
}

#[cfg(test)]
mod tests;
