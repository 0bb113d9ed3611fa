//! One can-gw job as a value: the common meaning of the kernel gateway and the user-space engines.

mod cangw;

pub use cangw::cangw_arguments;

use crate::filter::Filter;
use crate::frame::{CANFD_FDF, Frame, FrameFormat};
use crate::plan::{BusIndex, Echo, Formats, Plan, RouteIndex, Timestamp};
use crate::rule::{self, Checksums, Modifications, Verdict};

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

impl Job {
    /// Whether this job takes a frame at all: it has the job's format and a length that the format allows.
    ///
    /// Other frames pass by it and are counted nowhere.
    #[must_use]
    pub fn takes(&self, frame: &Frame) -> bool {
        frame.format == self.format && usize::from(frame.len) <= self.format.max_len()
    }

    /// What this job makes of a frame that it takes and that its filter matches.
    ///
    /// After [`Verdict::Delete`] the frame is as it was when can-gw gave it up.
    #[must_use]
    pub fn apply(&self, frame: &Frame) -> (Frame, Verdict) {
        let mut frame = *frame;
        let verdict = rule::change(&mut frame, &self.modifications, &self.checksums);
        // The network layer marks every FD frame that is sent, whatever a rule has made of its flags.
        if frame.format == FrameFormat::Fd {
            frame.flags |= CANFD_FDF;
        }
        (frame, verdict)
    }
}

/// The jobs of a plan in the order of its routes; a route for any format makes two, classic first.
///
/// This is the order in which jobs of one receive list are to see a frame. The kernel puts each new job at the head of
/// its list, so they are installed last to first.
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
