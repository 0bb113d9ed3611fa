//! Jobs that are in the kernel because of this process, and that leave it with this process.

use std::collections::{HashMap, VecDeque};

use candor_core::filter::Filter;
use candor_netlink::cangw::{self, CangwError, CangwJob, JobCounters};
use candor_netlink::client::{Client, NetlinkError};

use crate::refusal::Refusal;
use crate::run_dir::Entry;

/// Owns jobs in the kernel. Dropping removes them, so an error or a panic half-way leaves nothing.
#[derive(Debug)]
pub(super) struct Installed {
    client: Client,
    /// In the order of the plan, which is the kernel's order too.
    jobs: VecDeque<CangwJob>,
    entry: Entry,
}

impl Installed {
    /// Nothing yet, but others know by `entry` what is to come.
    pub(super) fn new(entry: Entry) -> Result<Self, NetlinkError> {
        let client = Client::open().inspect_err(|_error| entry.forget())?;
        Ok(Self { client, jobs: VecDeque::new(), entry })
    }

    /// All jobs that are in the kernel, whoever's they are.
    pub(super) fn present(&mut self) -> Result<Vec<CangwJob>, CangwError> {
        cangw::dump(&mut self.client)
    }

    /// Makes jobs that are in the kernel already this process's own.
    pub(super) fn take_over(&mut self, jobs: &[CangwJob]) {
        self.jobs.extend(jobs);
    }

    /// Adds a job in front of those that are owned.
    pub(super) fn add(&mut self, job: &CangwJob) -> Result<(), Refusal> {
        match cangw::add(&mut self.client, job) {
            Ok(()) => {
                self.jobs.push_front(*job);
                Ok(())
            }
            Err(error) => {
                // Without an answer the kernel may have it all the same: taking it out tells.
                if matches!(error, CangwError::Netlink(NetlinkError::Decode(_) | NetlinkError::Socket(_))) {
                    self.jobs.push_front(*job);
                }
                Err(self.explain(job, error))
            }
        }
    }

    /// Looks for the causes of a refusal.
    pub(super) fn explain(&mut self, job: &CangwJob, error: CangwError) -> Refusal {
        Refusal::explain(&mut self.client, job, error)
    }

    /// Removes a job that a dead process left.
    pub(super) fn remove_leftover(&mut self, job: &CangwJob) -> Result<(), CangwError> {
        remove_leftover(&mut self.client, job)
    }

    /// An owned job, by its position in the order of the plan.
    pub(super) fn job(&self, at: usize) -> &CangwJob {
        &self.jobs[at]
    }

    /// Deletes a job that is to be put back at once.
    pub(super) fn take_out(&mut self, at: usize) -> Result<(), CangwError> {
        match cangw::delete(&mut self.client, &self.jobs[at]) {
            Ok(()) | Err(CangwError::NoSuchJob | CangwError::NoSuchInterface) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds a job in the place of one that is gone from the kernel.
    pub(super) fn put_back(&mut self, at: usize, job: &CangwJob) -> Result<(), CangwError> {
        // What is taken out at the end is this one, also if its answer is lost.
        self.jobs[at] = *job;
        cangw::add(&mut self.client, job)
    }

    /// The jobs as the kernel gets them.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &CangwJob> {
        self.jobs.iter()
    }

    /// Owns these jobs instead, of which the kernel has what can be there.
    pub(super) fn replace(&mut self, jobs: Vec<CangwJob>) {
        self.jobs = jobs.into();
    }

    pub(super) const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Has others know of the jobs by a new entry of the run directory.
    pub(super) fn announce(&mut self, entry: Entry) {
        std::mem::replace(&mut self.entry, entry).forget();
    }

    /// What the kernel shows of every owned job; `None` for one that is gone. Of equal ones, which somebody else may have
    /// added, the one of the least growth is taken.
    pub(super) fn list(
        &mut self,
        growth: impl Fn(usize, JobCounters) -> u64,
    ) -> Result<Vec<Option<JobCounters>>, CangwError> {
        let present = cangw::dump(&mut self.client)?;
        Ok(self.find(&present, growth))
    }

    /// As [`list`](Self::list), in what the kernel has shown already.
    pub(super) fn find(
        &self,
        present: &[CangwJob],
        growth: impl Fn(usize, JobCounters) -> u64,
    ) -> Vec<Option<JobCounters>> {
        let mut taken = vec![false; present.len()];
        // Every job with every other one would be millions of comparisons.
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

    /// Removes all owned jobs and says how many were removed and how many were gone already. The kernel looks for each from the
    /// beginning of its list, so the first ones go first.
    ///
    /// On an error the rest stays owned, and the run directory keeps the list of them.
    pub(super) fn remove_all(&mut self) -> Result<(usize, usize), CangwError> {
        let (mut removed, mut missing) = (0, 0);
        while let Some(job) = self.jobs.front() {
            match cangw::delete(&mut self.client, job) {
                Ok(()) => removed += 1,
                // A module takes its jobs along.
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
        // Nobody is left to tell: what could not be removed stays listed in the run directory.
        let _ = self.remove_all();
    }
}

#[cfg(test)]
mod tests;
