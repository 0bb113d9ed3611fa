//! Filters that share a mask, in a hash table per mask.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::meter::Meter;
use super::pool::number;
use crate::filter::Normalised;
use crate::frame::CAN_ERR_FLAG;

/// Marks a free slot. No masked identifier has this bit, because masks with it select error frames, which have their
/// own list.
const FREE: u32 = CAN_ERR_FLAG;

/// Odd multipliers. Each table uses the one that spreads its identifiers best.
const MULTIPLIERS: [u64; 8] = [
    0x9E37_79B9_7F4A_7C15,
    0xBF58_476D_1CE4_E5B9,
    0x94D0_49BB_1331_11EB,
    0xD6E8_FEB8_6659_FD93,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0xFF51_AFD7_ED55_8CCD,
    0xC4CE_B9FE_1A85_EC53,
];

/// Numbers of jobs by mask and masked identifier.
///
/// The tables of all masks are concatenated. A search ends at a free slot and does not wrap around, because a free slot
/// follows every table.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    masks: Box<[Group]>,
    /// Masked identifiers, or [`FREE`].
    slots: Box<[u32]>,
    /// By slot: range of its jobs in `jobs`.
    buckets: Box<[(u32, u32)]>,
    /// Ascending in each bucket.
    jobs: Box<[u32]>,
}

/// A mask and the position of its table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    mask: u32,
    shift: u32,
    multiplier: u64,
    first_slot: usize,
}

impl Groups {
    /// Filters must be in ascending order of their jobs.
    pub(super) fn build(filters: &[(Normalised, u32)]) -> Self {
        let mut by_mask: BTreeMap<u32, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
        for (filter, job) in filters {
            by_mask.entry(filter.mask).or_default().entry(filter.id).or_default().push(*job);
        }
        let (mut masks, mut slots, mut buckets, mut jobs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (mask, by_id) in by_mask {
            let ids: Vec<u32> = by_id.keys().copied().collect();
            let (mut group, placed) = Group::with_table_for(mask, &ids);
            group.first_slot = slots.len();
            buckets.resize(slots.len() + placed.len(), (0, 0));
            for (slot, id) in (slots.len()..).zip(&placed) {
                if let Some(of_id) = by_id.get(id) {
                    let start = jobs.len();
                    jobs.extend(of_id);
                    buckets[slot] = (number(start), number(jobs.len()));
                }
            }
            slots.extend(placed);
            masks.push(group);
        }
        Self { masks: masks.into(), slots: slots.into(), buckets: buckets.into(), jobs: jobs.into() }
    }

    pub(super) fn masks(&self) -> &[Group] {
        &self.masks
    }

    /// The jobs of one mask for a frame's identifier, ascending.
    #[inline]
    pub(super) fn find(&self, group: &Group, id: u32, meter: &mut impl Meter) -> &[u32] {
        let wanted = id & group.mask;
        let mut slot = group.first_slot + group.home(wanted);
        while let Some(&found) = self.slots.get(slot) {
            meter.look();
            if found == wanted {
                return self.bucket(slot);
            }
            if found == FREE {
                break;
            }
            slot += 1;
        }
        &[]
    }

    fn bucket(&self, slot: usize) -> &[u32] {
        let Some(&(start, end)) = self.buckets.get(slot) else { return &[] };
        self.jobs.get(start as usize..end as usize).unwrap_or_default()
    }
}

impl Group {
    /// First slot of the search for a masked identifier, relative to the table.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the shift leaves the bits of a slot")]
    fn home(&self, wanted: u32) -> usize {
        (u64::from(wanted).wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// A table that is at most a third full, with the multiplier of the shortest searches.
    fn with_table_for(mask: u32, ids: &[u32]) -> (Self, Vec<u32>) {
        let bits = (ids.len() * 3).next_power_of_two().trailing_zeros().max(1);
        let tables = MULTIPLIERS.map(|multiplier| {
            let group = Self { mask, shift: u64::BITS - bits, multiplier, first_slot: 0 };
            let mut slots = vec![FREE; 1 << bits];
            let mut looks = 0;
            for &id in ids {
                let mut slot = group.home(id);
                while slots[slot] != FREE {
                    slot += 1;
                    looks += 1;
                    if slot == slots.len() {
                        slots.push(FREE);
                    }
                }
                slots[slot] = id;
            }
            slots.push(FREE);
            (looks, group, slots)
        });
        let best = tables.into_iter().min_by_key(|(looks, ..)| *looks).expect("there are multipliers");
        (best.1, best.2)
    }
}
