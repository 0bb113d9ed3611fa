//! The kernel filters of a source socket: it gets only what some job wants.

use candor_core::filter::{Filter, ReceiveList};
use candor_core::frame::CAN_ERR_FLAG;
use candor_core::job::Job;
use candor_core::plan::BusIndex;
use candor_io::can::MAX_FILTERS;

/// The filters of all jobs that start from this bus, each once. Too many for a socket become one that takes everything;
/// the rule set decides anyway.
pub(super) fn wanted(jobs: &[Job], from: BusIndex) -> Vec<Filter> {
    let mut filters: Vec<Filter> = Vec::new();
    for filter in jobs.iter().filter(|job| job.from == from).map(|job| job.filter) {
        if !filters.iter().any(|known| known.normalise() == filter.normalise()) {
            filters.push(filter);
        }
    }
    if filters.len() > MAX_FILTERS { widened(&filters) } else { filters }
}

/// Everything that any of the filters takes, and more, in two filters at most: error frames need their own.
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
    fn too_many_filters_become_wide_ones() {
        let mut jobs: Vec<_> = (0..600).map(|id| job(0, Filter::exact(RawId(id)))).collect();
        assert_eq!(wanted(&jobs, BusIndex(0)), [Filter::ALL]);
        jobs.push(job(0, Filter { id: 0, mask: CAN_ERR_FLAG | 0x40 }));
        jobs.push(job(0, Filter { id: 0, mask: CAN_ERR_FLAG | 0x04 }));
        assert_eq!(wanted(&jobs, BusIndex(0)), [Filter::ALL, Filter { id: 0, mask: CAN_ERR_FLAG | 0x44 }]);
    }
}
