//! Which steps a frame takes, by its identifier.

use std::collections::BTreeMap;

use candor_core::filter::ReceiveList;
use candor_core::frame::{CAN_SFF_MASK, RawId};
use candor_core::job::Job;

use super::CompileError;
use super::plan::Step;

/// A frame that no table of 11-bit identifiers has costs a look-up for each mask.
pub(super) const MAX_MASKS: usize = 32;

/// With more values to compare, tables are faster.
pub(super) const FEW_VALUES: usize = 3;
/// In all tables of a program: a value takes the kernel about 64 bytes.
const MAX_VALUES: usize = 1 << 15;

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
        tables.groups = groups.into_iter().map(|(mask, group)| Group { mask, ..group }).collect();
        tables.fold();
        if tables.groups.len() > MAX_MASKS {
            return Err(CompileError::Masks { masks: tables.groups.len() });
        }
        Ok(tables)
    }

    /// Writes the values of masks that compare less as values of masks that compare more, as far as they are not too many: each
    /// mask costs a look-up. Ranges of identifiers come as filters with many masks.
    fn fold(&mut self) {
        candor_core::order::sort_by_key(&mut self.groups, |group| std::cmp::Reverse(group.mask.count_ones()));
        let mut at = 0;
        while at < self.groups.len() {
            let wide = &self.groups[at];
            let into = self.groups[..at].iter().position(|group| {
                let free = (group.mask & !wide.mask).count_ones();
                let is_part = wide.mask & !group.mask == 0 && group.otherwise == 0 && wide.otherwise == 0;
                is_part && self.size() + (wide.values.len() << free.min(MAX_VALUES.ilog2() + 1)) <= MAX_VALUES
            });
            // A few values are compared one after another, without tables.
            match into.filter(|_| self.size() > FEW_VALUES) {
                Some(into) => {
                    let wide = self.groups.remove(at);
                    self.groups[into].take(&wide);
                }
                None => at += 1,
            }
        }
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

impl Group {
    /// Adds values with a mask that compares less.
    fn take(&mut self, wide: &Self) {
        let free = self.mask & !wide.mask;
        for (value, bits) in &wide.values {
            // All subsets of the free bits.
            let mut subset = free;
            loop {
                *self.values.entry(value | subset).or_default() |= bits;
                if subset == 0 {
                    break;
                }
                subset = (subset - 1) & free;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_core::filter::Filter;
    use candor_core::frame::FrameFormat;
    use candor_core::job::BusIndex;

    use super::*;

    fn tables(filters: &[(u32, u32)]) -> Result<Tables, CompileError> {
        let job =
            |&(id, mask): &(u32, u32)| Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter { id, mask });
        let jobs: Vec<_> = filters.iter().map(job).collect();
        let step = |number| Step { jobs: vec![number], is_exclusive: false, is_shared: false };
        // As many steps as there are bits: which one it is does not matter here.
        let steps: Vec<_> = (0..jobs.len()).map(step).collect();
        Tables::of(&jobs, &steps)
    }

    #[test]
    fn a_range_needs_one_look_up() {
        // 18FE0003 to 18FE0FFF, as masks.
        let mut filters = vec![(0x98FE_0003, 0x9FFF_FFFF)];
        filters.extend((2..12).map(|bit| (0x98FE_0000 | 1 << bit, 0x9FFF_FFFF ^ ((1 << bit) - 1))));
        let tables = tables(&filters).unwrap();
        assert_eq!((tables.groups.len(), tables.size()), (1, 0xFFD));
        for id in 0x98FD_FFF0..0x98FE_1010_u32 {
            let expected = filters
                .iter()
                .zip(0..)
                .fold(0, |steps, (&(value, mask), bit)| steps | u32::from(id & mask == value & mask) << bit);
            assert_eq!(tables.steps(RawId(id)), expected, "{id:08X}");
        }
    }

    #[test]
    fn too_many_values_stay_apart() {
        let wide =
            tables(&[(0x9800_0000, 0x9F00_0000), (0x9800_0001, 0x9FFF_FFFF), (0x9800_0002, 0x9FFF_FFFF)]).unwrap();
        assert_eq!((wide.groups.len(), wide.size()), (2, 3));
        let few = tables(&[(0x9800_0000, 0x9FFF_FFFC), (0x9800_0001, 0x9FFF_FFFF)]).unwrap();
        assert_eq!(few.groups.len(), 2, "two comparisons cost less than a table");
    }
}
