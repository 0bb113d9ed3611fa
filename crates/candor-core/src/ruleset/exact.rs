//! Filters for one identifier: a table for 11-bit identifiers, a hash table for 29-bit identifiers.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::groups::Groups;
use super::meter::Meter;
use super::pool::number;
use crate::filter::Normalised;
use crate::frame::{CAN_EFF_FLAG, CAN_SFF_MASK};

/// One entry per identifier, and one more.
const STARTS: usize = CAN_SFF_MASK as usize + 2;

/// The filters for one identifier of one bus and frame format.
#[derive(Clone, Debug, Default)]
pub(super) struct Exact {
    standard: Standard,
    extended: Groups,
}

/// The jobs of identifier `i` are `jobs[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, Default)]
struct Standard {
    /// `None` if there are no jobs.
    starts: Option<Box<[u32; STARTS]>>,
    jobs: Box<[u32]>,
}

impl Exact {
    /// Filters must be in ascending order of their jobs.
    pub(super) fn build(filters: Vec<(Normalised, u32)>) -> Self {
        let (extended, standard): (Vec<_>, Vec<_>) =
            filters.into_iter().partition(|(filter, _)| filter.id & CAN_EFF_FLAG != 0);
        Self { standard: Standard::build(standard), extended: Groups::build(&extended) }
    }

    /// The jobs for a data frame with this identifier, in ascending order.
    #[inline(always)]
    pub(super) fn find(&self, id: u32, meter: &mut impl Meter) -> &[u32] {
        if id & CAN_EFF_FLAG == 0 {
            meter.look();
            return self.standard.find(id);
        }
        // At most one mask.
        self.extended.masks().first().map_or(&[], |group| self.extended.find(group, id, meter))
    }
}

impl Standard {
    fn build(mut filters: Vec<(Normalised, u32)>) -> Self {
        if filters.is_empty() {
            return Self::default();
        }
        // Stable: the jobs of one identifier stay in order.
        crate::order::sort_by_key(&mut filters, |(filter, _)| filter.id);
        let start = |id: usize| number(filters.partition_point(|(filter, _)| (filter.id as usize) < id));
        let starts = Box::new(core::array::from_fn(start));
        Self { starts: Some(starts), jobs: filters.iter().map(|(_, job)| *job).collect() }
    }

    #[inline]
    fn find(&self, id: u32) -> &[u32] {
        let Some(starts) = &self.starts else { return &[] };
        // The low 11 bits of a malformed identifier count, as in the kernel.
        let index = (id & CAN_SFF_MASK) as usize;
        self.jobs.get(starts[index] as usize..starts[index + 1] as usize).unwrap_or_default()
    }
}
