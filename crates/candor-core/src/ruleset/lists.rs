//! The filters of one bus and one frame format, laid out as the kernel's receive lists.

use crate::filter::{Normalised, ReceiveList};
use crate::frame::{CAN_SFF_MASK, RawId};

/// Positions of jobs, by how their filters are found.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    /// Error frames only.
    error: Vec<(Normalised, usize)>,
    /// Filters that are compared one by one: those for all frames, then with a mask, then inverted.
    compared: Vec<(Normalised, usize)>,
    /// Single identifiers of 11 bits.
    standard: StandardTable,
    /// Single identifiers of 29 bits (EFF flag included), sorted; equal ones in the order of the jobs.
    extended: Vec<(u32, usize)>,
}

impl Lists {
    pub(super) fn build(filters: impl Iterator<Item = (usize, Normalised)>) -> Self {
        let mut lists = Self::default();
        let mut standard = Vec::new();
        for (job, filter) in filters {
            match filter.list {
                ReceiveList::Error => lists.error.push((filter, job)),
                ReceiveList::All | ReceiveList::Masked | ReceiveList::Inverted => lists.compared.push((filter, job)),
                ReceiveList::Exact if RawId(filter.id).is_eff() => lists.extended.push((filter.id, job)),
                ReceiveList::Exact => standard.push((filter.id, job)),
            }
        }
        // These sorts are stable: within a list the order of the jobs stays.
        lists.compared.sort_by_key(|(filter, _)| filter.list);
        lists.extended.sort_by_key(|(id, _)| *id);
        standard.sort_by_key(|(id, _)| *id);
        lists.standard = StandardTable::build(&standard);
        lists
    }

    /// Calls back for each job whose filter matches, in the order of delivery.
    pub(super) fn for_each_match(&self, id: RawId, mut found: impl FnMut(usize)) {
        let compared = if id.is_err() { &self.error } else { &self.compared };
        for (filter, job) in compared {
            if filter.matches(id) {
                found(*job);
            }
        }
        if id.is_err() || id.is_rtr() {
            return;
        }
        if id.is_eff() {
            let start = self.extended.partition_point(|(wanted, _)| *wanted < id.0);
            for (_, job) in self.extended[start..].iter().take_while(|(wanted, _)| *wanted == id.0) {
                found(*job);
            }
        } else {
            for job in self.standard.jobs_for(id) {
                found(*job);
            }
        }
    }
}

/// Jobs by 11-bit identifier: the jobs of identifier `i` are `jobs[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, Default)]
struct StandardTable {
    /// One entry for each identifier and one more, or none at all if there are no jobs.
    starts: Vec<usize>,
    jobs: Vec<usize>,
}

impl StandardTable {
    fn build(sorted: &[(u32, usize)]) -> Self {
        if sorted.is_empty() {
            return Self::default();
        }
        let starts = (0..=CAN_SFF_MASK + 1).map(|id| sorted.partition_point(|(wanted, _)| *wanted < id)).collect();
        Self { starts, jobs: sorted.iter().map(|(_, job)| *job).collect() }
    }

    fn jobs_for(&self, id: RawId) -> &[usize] {
        let index = id.bits() as usize;
        match self.starts.get(index..index + 2) {
            Some([start, end]) => &self.jobs[*start..*end],
            _ => &[],
        }
    }
}
