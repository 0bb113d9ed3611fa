//! What is left to say when a gateway has ended.

use crate::counters::{BusCounters, RouteCounters};
use crate::notice::Notice;

/// How a gateway ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// What every route has counted, in the order of the plan. With the read-write engine nothing is missing; can-gw may
    /// forward a frame between the last look at a job and its removal, or its end with an interface.
    pub counters: Vec<RouteCounters>,
    /// What has come to and gone from every bus that user space used, in the order of the plan.
    pub buses: Vec<BusCounters>,
    /// Jobs that were taken out of the kernel.
    pub removed_jobs: usize,
    /// Jobs that were no longer there.
    pub missing_jobs: usize,
    /// What there is to know from the last moments.
    pub notices: Vec<Notice>,
}
