//! One can-gw job as a value: the common meaning of the kernel gateway and the user-space engines.

use crate::filter::Filter;
use crate::frame::FrameFormat;
use crate::plan::{BusIndex, Echo, Formats, Plan, RouteIndex, Timestamp};
use crate::rule::{Checksums, Modifications};

/// What one can-gw job does, still without interface indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The route this job is part of.
    pub route: RouteIndex,
    /// Source bus.
    pub from: BusIndex,
    /// Destination bus.
    pub to: BusIndex,
    /// The frames it sees.
    pub format: FrameFormat,
    /// The identifiers it sees.
    pub filter: Filter,
    /// What it changes.
    pub modifications: Modifications,
    /// What it computes.
    pub checksums: Checksums,
    /// `CGW_FLAGS_CAN_ECHO`.
    pub echo: Echo,
    /// `CGW_LIM_HOPS`.
    pub hop_limit: Option<u8>,
    /// `CGW_FLAGS_CAN_SRC_TSTAMP`.
    pub timestamp: Timestamp,
}

/// The jobs of a plan in the order of its routes; a route for any format makes two, classic first.
#[must_use]
pub fn lower(plan: &Plan) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (index, route) in plan.routes().iter().enumerate() {
        let formats: &[FrameFormat] = match &route.formats {
            Formats::Any => &[FrameFormat::Classic, FrameFormat::Fd],
            Formats::Only(format) => std::slice::from_ref(format),
        };
        jobs.extend(formats.iter().map(|&format| Job {
            route: RouteIndex(index),
            from: route.from,
            to: route.to,
            format,
            filter: route.filter,
            modifications: route.modifications,
            checksums: route.checksums,
            echo: route.echo,
            hop_limit: route.hop_limit,
            timestamp: route.timestamp,
        }));
    }
    jobs
}
