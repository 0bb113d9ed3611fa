//! Inverted filters. Nearly all of them match nearly every frame, so they are walked; but jobs with the same filter are
//! one step, and a frame that all of them exclude is recognised by one look for each mask.

use super::groups::Groups;
use super::meter::Meter;
use super::pool::number;
use crate::filter::Normalised;

/// Up to so many steps a walk is the shortest way.
const WALKED: usize = 8;

/// The inverted filters of one bus and frame format.
#[derive(Clone, Debug, Default)]
pub(super) struct Inverted {
    runs: Box<[Run]>,
    jobs: Box<[u32]>,
    /// All jobs by what they exclude; empty if there are few runs.
    excluded: Groups,
}

/// Jobs that follow each other and have the same filter.
#[derive(Clone, Copy, Debug)]
struct Run {
    id: u32,
    mask: u32,
    start: u32,
    end: u32,
}

impl Inverted {
    /// From filters of jobs in ascending order of their numbers.
    pub(super) fn build(filters: &[(Normalised, u32)]) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (at, (filter, _)) in filters.iter().enumerate() {
            let (start, end) = (number(at), number(at + 1));
            match runs.last_mut() {
                Some(run) if (run.id, run.mask) == (filter.id, filter.mask) => run.end = end,
                _ => runs.push(Run { id: filter.id, mask: filter.mask, start, end }),
            }
        }
        let excluded = if runs.len() > WALKED { Groups::build(filters) } else { Groups::default() };
        Self { runs: runs.into(), jobs: filters.iter().map(|(_, job)| *job).collect(), excluded }
    }

    /// Calls back for each job whose filter matches, in ascending order.
    #[inline]
    pub(super) fn for_each_match(&self, id: u32, meter: &mut impl Meter, found: &mut impl FnMut(u32)) {
        if !self.excluded.masks().is_empty() && self.excludes(id, meter) {
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

    /// Whether no job matches.
    fn excludes(&self, id: u32, meter: &mut impl Meter) -> bool {
        let excluded = self.excluded.masks().iter().map(|group| self.excluded.find(group, id, meter).len());
        excluded.sum::<usize>() == self.jobs.len()
    }
}
