//! Filters with a mask: a hash table per mask that several filters share, and a list of the rest.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::groups::Groups;
use super::meter::Meter;
use super::nearest::Nearest;
use crate::filter::Normalised;

/// Up to this number, filters of one mask are compared one by one, which costs as much as a table lookup.
const WALKED: usize = 3;

/// The masked filters of one bus, frame format and identifier format.
#[derive(Clone, Debug, Default)]
pub(super) struct Masked {
    groups: Groups,
    /// Filters with rare masks, in the order of their jobs.
    walked: Box<[(Normalised, u32)]>,
}

impl Masked {
    /// Filters must be in ascending order of their jobs.
    pub(super) fn build(filters: Vec<(Normalised, u32)>) -> Self {
        let mut sharing: BTreeMap<u32, usize> = BTreeMap::new();
        for (filter, _) in &filters {
            *sharing.entry(filter.mask).or_default() += 1;
        }
        let (walked, grouped): (Vec<_>, Vec<_>) =
            filters.into_iter().partition(|(filter, _)| sharing.get(&filter.mask).is_none_or(|&count| count <= WALKED));
        Self { groups: Groups::build(&grouped), walked: walked.into() }
    }

    /// Calls back for each job whose filter matches, in ascending order.
    #[inline]
    pub(super) fn for_each_match(&self, id: u32, meter: &mut impl Meter, found: &mut impl FnMut(u32)) {
        let mut only: &[u32] = &[];
        for group in self.groups.masks() {
            let jobs = self.groups.find(group, id, meter);
            if !jobs.is_empty() {
                if !only.is_empty() {
                    return self.merge(id, meter, found);
                }
                only = jobs;
            }
        }
        if only.is_empty() {
            for (filter, job) in &self.walked {
                meter.look();
                if id & filter.mask == filter.id {
                    found(*job);
                }
            }
        } else if self.walked.is_empty() {
            only.iter().for_each(|job| found(*job));
        } else {
            self.walk_with(only, id, meter, found);
        }
    }

    /// Merges the jobs of one mask with those of the list.
    fn walk_with(&self, mut grouped: &[u32], id: u32, meter: &mut impl Meter, found: &mut impl FnMut(u32)) {
        for (filter, job) in &self.walked {
            meter.look();
            if id & filter.mask == filter.id {
                while let Some((first, rest)) = grouped.split_first()
                    && first < job
                {
                    found(*first);
                    grouped = rest;
                }
                found(*job);
            }
        }
        grouped.iter().for_each(|job| found(*job));
    }

    /// Merges the jobs of several masks, a few at a time.
    #[inline(never)]
    fn merge(&self, id: u32, meter: &mut impl Meter, found: &mut impl FnMut(u32)) {
        let mut from = 0;
        loop {
            let mut nearest = Nearest::new();
            for group in self.groups.masks() {
                let jobs = self.groups.find(group, id, meter);
                let done = if from == 0 { 0 } else { jobs.partition_point(|job| *job < from) };
                for job in jobs.iter().skip(done) {
                    meter.look();
                    if !nearest.offer(*job) {
                        break;
                    }
                }
            }
            let done = self.walked.partition_point(|(_, job)| *job < from);
            for (filter, job) in self.walked.iter().skip(done) {
                meter.look();
                if id & filter.mask == filter.id && !nearest.offer(*job) {
                    break;
                }
            }
            nearest.jobs().for_each(&mut *found);
            match nearest.last_if_full() {
                Some(last) => from = last + 1,
                None => return,
            }
        }
    }
}
