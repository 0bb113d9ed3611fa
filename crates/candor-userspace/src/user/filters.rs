//! CAN_RAW filters of a source socket.

use std::collections::HashSet;

use candor_config::plan::BusIndex;
use candor_core::filter::{Filter, ReceiveList};
use candor_core::frame::CAN_ERR_FLAG;
use candor_core::job::Job;
use candor_io::can::MAX_FILTERS;

/// The kernel compares a frame with the masked filters of all sockets one by one, at 7 instructions each, before the
/// rule set sees it. This many cost 3 % of the user-space path of a frame, less than a wake-up for an unwanted frame.
/// Filters for a single identifier are found in a table and cost nothing.
const MAX_WALKED: usize = 64;

/// The distinct filters of all jobs from this bus. If there are too many for a socket, or too many masked ones, one
/// filter for everything; the rule set decides anyway.
pub(super) fn wanted(jobs: &[Job], from: BusIndex) -> Vec<Filter> {
    let mut seen = HashSet::new();
    let of_bus = jobs.iter().filter(|job| job.from == from).map(|job| job.filter);
    let filters: Vec<Filter> = of_bus.filter(|filter| seen.insert(filter.normalise())).collect();
    let is_walked = |filter: &&Filter| matches!(filter.normalise().list, ReceiveList::Masked | ReceiveList::Inverted);
    if filters.len() > MAX_FILTERS || filters.iter().filter(is_walked).count() > MAX_WALKED {
        widened(&filters)
    } else {
        filters
    }
}

/// A superset of the filters in at most two: error frames need their own.
fn widened(filters: &[Filter]) -> Vec<Filter> {
    let of_list = |error: bool| {
        filters.iter().map(|filter| filter.normalise()).filter(move |n| (n.list == ReceiveList::Error) == error)
    };
    let classes = of_list(true).fold(0, |mask, filter| mask | filter.mask);
    let errors = (classes != 0).then_some(Filter { id: 0, mask: CAN_ERR_FLAG | classes });
    of_list(false).next().map(|_| Filter::ALL).into_iter().chain(errors).collect()
}

#[cfg(test)]
mod tests {
    use candor_core::frame::{FrameFormat, RawId};

    use super::*;

    fn job(from: usize, filter: Filter) -> Job {
        Job::plain(BusIndex(from), BusIndex(9), FrameFormat::Classic, filter)
    }

    #[test]
    fn each_filter_of_the_bus_once() {
        let (a, b) = (Filter::exact(RawId(1)), Filter::exact(RawId(2)));
        assert_eq!(wanted(&[job(0, a), job(0, b), job(0, a), job(1, Filter::ALL)], BusIndex(0)), [a, b]);
    }

    #[test]
    fn filters_with_masks_are_few_or_one() {
        let masked = |count| (0..count).map(|id| job(0, Filter { id, mask: 0x7FF })).collect::<Vec<_>>();
        assert_eq!(wanted(&masked(64), BusIndex(0)).len(), 64);
        assert_eq!(wanted(&masked(65), BusIndex(0)), [Filter::ALL]);
    }

    #[test]
    fn too_many_filters_become_wide_ones() {
        let mut jobs: Vec<_> = (0..600).map(|id| job(0, Filter::exact(RawId(id)))).collect();
        assert_eq!(wanted(&jobs, BusIndex(0)), [Filter::ALL]);
        jobs.push(job(0, Filter { id: 0, mask: CAN_ERR_FLAG | 0x40 }));
        jobs.push(job(0, Filter { id: 0, mask: CAN_ERR_FLAG | 0x04 }));
        assert_eq!(wanted(&jobs, BusIndex(0)), [Filter::ALL, Filter { id: 0, mask: CAN_ERR_FLAG | 0x44 }]);
    }
}
