//! The filters of one bus and frame format, as the kernel's receive lists.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::exact::Exact;
use super::inverted::Inverted;
use super::masked::Masked;
use super::meter::Meter;
use crate::filter::{Normalised, ReceiveList};
use crate::frame::{CAN_EFF_FLAG, CAN_ERR_FLAG, CAN_RTR_FLAG, RawId};

/// Numbers of jobs by receive list.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    /// Error frames only.
    error: Errors,
    /// Mask 0.
    all: Box<[u32]>,
    /// Set if any filter is masked or inverted.
    compares: bool,
    /// For frames with 11-bit identifiers: without filters for 29-bit identifiers only.
    masked_standard: Masked,
    /// For frames with 29-bit identifiers.
    masked_extended: Masked,
    inverted: Inverted,
    exact: Exact,
}

/// Filters for error frames, compared one by one because such frames are rare.
#[derive(Clone, Debug, Default)]
struct Errors {
    /// Error classes of all filters.
    any: u32,
    filters: Box<[(u32, u32)]>,
}

impl Lists {
    /// Filters must be in ascending order of their jobs.
    pub(super) fn build(filters: impl Iterator<Item = (Normalised, u32)>) -> Self {
        let (mut error, mut all, mut masked) = (Vec::new(), Vec::new(), Vec::new());
        let (mut inverted, mut exact) = (Vec::new(), Vec::new());
        for (filter, job) in filters {
            match filter.list {
                ReceiveList::Error => error.push((filter.mask, job)),
                ReceiveList::All => all.push(job),
                ReceiveList::Masked => masked.push((filter, job)),
                ReceiveList::Inverted => inverted.push((filter, job)),
                ReceiveList::Exact => exact.push((filter, job)),
            }
        }
        let masked_for = |format: u32| {
            let can_match = |filter: &Normalised| (filter.id ^ format) & filter.mask & CAN_EFF_FLAG == 0;
            Masked::build(masked.iter().filter(|(filter, _)| can_match(filter)).copied().collect())
        };
        Self {
            error: Errors { any: error.iter().fold(0, |any, (mask, _)| any | mask), filters: error.into() },
            all: all.into(),
            compares: !masked.is_empty() || !inverted.is_empty(),
            masked_standard: masked_for(0),
            masked_extended: masked_for(CAN_EFF_FLAG),
            inverted: Inverted::build(&inverted),
            exact: Exact::build(exact),
        }
    }

    /// Fast path: the matching jobs in the order of delivery, if they are contiguous. This is the case for data frames
    /// in gateways without masks, or with filters for all frames only.
    #[inline(always)]
    pub(super) fn matches(&self, id: RawId, meter: &mut impl Meter) -> Option<&[u32]> {
        if self.compares || id.0 & (CAN_ERR_FLAG | CAN_RTR_FLAG) != 0 {
            return None;
        }
        match (&*self.all, self.exact.find(id.0, meter)) {
            ([], jobs) | (jobs, []) => Some(jobs),
            _ => None,
        }
    }

    /// Calls back for each matching job in the order of delivery.
    ///
    /// Not inlined, so the [fast path](Self::matches) does not reserve its stack space.
    #[inline(never)]
    pub(super) fn for_each_match(&self, id: RawId, meter: &mut impl Meter, found: &mut impl FnMut(u32)) {
        if id.is_err() {
            return self.error.for_each_match(id.0, meter, found);
        }
        for job in &self.all {
            found(*job);
        }
        if self.compares {
            let masked = if id.is_eff() { &self.masked_extended } else { &self.masked_standard };
            masked.for_each_match(id.0, meter, found);
            self.inverted.for_each_match(id.0, meter, found);
        }
        if !id.is_rtr() {
            for job in self.exact.find(id.0, meter) {
                found(*job);
            }
        }
    }
}

impl Errors {
    #[cold]
    fn for_each_match(&self, id: u32, meter: &mut impl Meter, found: &mut impl FnMut(u32)) {
        if id & self.any == 0 {
            return;
        }
        for (classes, job) in &self.filters {
            meter.look();
            if id & classes != 0 {
                found(*job);
            }
        }
    }
}
