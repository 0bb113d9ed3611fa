//! Inverted filters. Most of them match most frames, so they are compared one by one. Consecutive jobs with equal
//! filters are one step, and one comparison per mask recognises a frame that all of them exclude.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::meter::Meter;
use super::pool::number;
use crate::filter::Normalised;

/// The inverted filters of one bus and frame format.
#[derive(Clone, Debug, Default)]
pub(super) struct Inverted {
    runs: Box<[Run]>,
    jobs: Box<[u32]>,
    /// Distinct filters, if all of them can exclude the same frame: not if two share a mask.
    together: Option<Box<[(u32, u32)]>>,
}

/// Consecutive jobs with equal filters.
#[derive(Clone, Copy, Debug)]
struct Run {
    id: u32,
    mask: u32,
    start: u32,
    end: u32,
}

impl Inverted {
    /// Filters must be in ascending order of their jobs.
    pub(super) fn build(filters: &[(Normalised, u32)]) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        let mut ids = BTreeMap::new();
        let mut one_of_each_mask = true;
        for (at, (filter, _)) in filters.iter().enumerate() {
            let (start, end) = (number(at), number(at + 1));
            match runs.last_mut() {
                Some(run) if (run.id, run.mask) == (filter.id, filter.mask) => run.end = end,
                _ => runs.push(Run { id: filter.id, mask: filter.mask, start, end }),
            }
            one_of_each_mask &= *ids.entry(filter.mask).or_insert(filter.id) == filter.id;
        }
        let together = (one_of_each_mask && runs.len() > ids.len()).then(|| ids.into_iter().collect());
        Self { runs: runs.into(), jobs: filters.iter().map(|(_, job)| *job).collect(), together }
    }

    /// Calls back for each job whose filter matches, in ascending order.
    #[inline]
    pub(super) fn for_each_match(&self, id: u32, meter: &mut impl Meter, found: &mut impl FnMut(u32)) {
        if let Some(together) = &self.together
            && together.iter().all(|(mask, excluded)| {
                meter.look();
                id & mask == *excluded
            })
        {
            return;
        }
        for run in &self.runs {
            meter.look();
            if id & run.mask != run.id {
                let jobs = self.jobs.get(run.start as usize..run.end as usize).unwrap_or_default();
                jobs.iter().for_each(|job| found(*job));
            }
        }
    }
}
