//! Final state of a gateway.

use crate::counters::{BusCounters, FrameCounters, RouteCounters};
use crate::notice::Notice;

/// Final counters and notices of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// By route, in plan order. Complete in user space; can-gw may forward a frame between the last reading of a job
    /// and its removal.
    pub counters: Vec<RouteCounters>,
    /// By composed frame, in plan order.
    pub frames: Vec<FrameCounters>,
    /// By bus that user space used, in plan order.
    pub buses: Vec<BusCounters>,
    pub removed_jobs: usize,
    /// Filters with programs.
    pub removed_filters: usize,
    /// Jobs that had already disappeared.
    pub missing_jobs: usize,
    pub notices: Vec<Notice>,
}
