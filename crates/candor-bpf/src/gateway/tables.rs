//! Which steps a frame takes, by its identifier.

use std::collections::BTreeMap;

use candor_core::filter::ReceiveList;
use candor_core::frame::{CAN_SFF_MASK, RawId};
use candor_core::job::Job;

use super::CompileError;
use super::plan::Step;

/// A frame that no table of 11-bit identifiers has costs a look-up for each mask.
pub(super) const MAX_MASKS: usize = 32;

/// Steps are bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Steps of every frame that is no error frame.
    pub(super) always: u32,
    pub(super) groups: Vec<Group>,
    /// Error classes, and the step for frames with one of them.
    pub(super) errors: Vec<(u32, u32)>,
}

/// Filters with the same mask.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) mask: u32,
    /// By the compared bits of the identifier.
    pub(super) values: BTreeMap<u32, u32>,
    /// Steps for all other values: inverted filters.
    pub(super) otherwise: u32,
}

impl Tables {
    pub(super) fn of(jobs: &[Job], steps: &[Step]) -> Result<Self, CompileError> {
        let mut tables = Self::default();
        let mut inverted = Vec::new();
        let mut groups = BTreeMap::<u32, Group>::new();
        for (number, step) in steps.iter().enumerate() {
            let bit = 1 << number;
            for &job in &step.jobs {
                let filter = jobs[job].filter.normalise();
                match filter.list {
                    ReceiveList::Error => tables.errors.push((filter.mask, bit)),
                    ReceiveList::All => tables.always |= bit,
                    ReceiveList::Masked | ReceiveList::Exact => {
                        *groups.entry(filter.mask).or_default().values.entry(filter.id).or_default() |= bit;
                    }
                    ReceiveList::Inverted => {
                        groups.entry(filter.mask).or_default().values.entry(filter.id).or_default();
                        inverted.push((filter, bit));
                    }
                }
            }
        }
        for (filter, bit) in inverted {
            let group = groups.entry(filter.mask).or_default();
            group.otherwise |= bit;
            group.values.iter_mut().filter(|(id, _)| **id != filter.id).for_each(|(_, bits)| *bits |= bit);
        }
        if groups.len() > MAX_MASKS {
            return Err(CompileError::Masks { masks: groups.len() });
        }
        tables.groups = groups.into_iter().map(|(mask, group)| Group { mask, ..group }).collect();
        Ok(tables)
    }

    /// The steps of frames with this identifier.
    pub(super) fn steps(&self, id: RawId) -> u32 {
        if id.is_err() {
            let errors = self.errors.iter().filter(|(classes, _)| id.0 & classes != 0);
            return errors.fold(0, |steps, (_, bit)| steps | bit);
        }
        self.groups.iter().fold(self.always, |steps, group| {
            steps | group.values.get(&(id.0 & group.mask)).copied().unwrap_or(group.otherwise)
        })
    }

    /// Mask and value, if a single one is compared, and nothing else decides.
    pub(super) fn only_value(&self) -> Option<(u32, u32)> {
        let [Group { mask, values, otherwise: 0 }] = &self.groups[..] else { return None };
        let decides = self.always == 0 && self.errors.is_empty() && values.len() == 1;
        values.keys().next().filter(|_| decides).map(|value| (*mask, *value))
    }

    /// By 11-bit identifier of a data frame.
    pub(super) fn standard(&self) -> Vec<u32> {
        (0..=CAN_SFF_MASK).map(|id| self.steps(RawId(id))).collect()
    }

    /// Values to compare with.
    pub(super) fn size(&self) -> usize {
        self.groups.iter().map(|group| group.values.len()).sum()
    }
}
