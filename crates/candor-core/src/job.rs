//! One can-gw job as a value: the common meaning of the kernel gateway and the user-space engines.

mod cangw;

pub use cangw::cangw_arguments;

use std::num::NonZeroU32;

use crate::filter::Filter;
use crate::frame::{CANFD_FDF, Frame, FrameFormat};
use crate::payload::PayloadPattern;
pub use crate::rule::SendAs;
use crate::rule::{self, Checksums, Modifications, Verdict};

/// Position of a bus in the buses of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BusIndex(pub usize);

/// Position of a route in the routes of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteIndex(pub usize);

/// Echo of routed frames to local sockets on the outgoing interface (`CGW_FLAGS_CAN_ECHO`, `cangw -e`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Echo {
    /// They do.
    On,
    /// They do not.
    Off,
}

/// Timestamp of routed frames (`CGW_FLAGS_CAN_SRC_TSTAMP`, `cangw -t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timestamp {
    /// It is stamped anew where it leaves.
    Fresh,
    /// It keeps the one it came with.
    Kept,
}

/// Sending of frames back to the interface that first received them (`CGW_FLAGS_CAN_IIF_TX_OK`,
/// `cangw -i`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Incoming {
    /// It may not: can-gw passes over it, and counts it nowhere.
    Skipped,
    /// It may.
    Allowed,
}

/// One can-gw job, without interface indices; `payload` and `send_as` are features that only user space
/// can do beyond that.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Modifications.
    pub modifications: Modifications,
    /// Checksums.
    pub checksums: Checksums,
    /// `CGW_FLAGS_CAN_ECHO`.
    pub echo: Echo,
    /// `CGW_LIM_HOPS`.
    pub hop_limit: Option<u8>,
    /// `CGW_FLAGS_CAN_SRC_TSTAMP`.
    pub timestamp: Timestamp,
    /// `CGW_FLAGS_CAN_IIF_TX_OK`.
    pub incoming: Incoming,
    /// `CGW_MOD_UID`.
    pub uid: Option<NonZeroU32>,
    /// Payloads it sees: one of these, or any if there is none. Beyond can-gw.
    pub payload: Vec<PayloadPattern>,
    /// The format that the frame gets before it is modified; `None` if it keeps its own. Beyond can-gw.
    pub send_as: Option<SendAs>,
}

impl Job {
    /// A job that carries the frames of a filter as they are.
    #[must_use]
    pub const fn plain(from: BusIndex, to: BusIndex, format: FrameFormat, filter: Filter) -> Self {
        Self {
            route: RouteIndex(0),
            from,
            to,
            format,
            filter,
            modifications: Modifications::NONE,
            checksums: Checksums::NONE,
            echo: Echo::Off,
            hop_limit: None,
            timestamp: Timestamp::Fresh,
            incoming: Incoming::Skipped,
            uid: None,
            payload: Vec::new(),
            send_as: None,
        }
    }

    /// Returns true if can-gw can run this job.
    #[must_use]
    pub const fn is_for_kernel(&self) -> bool {
        self.payload.is_empty() && self.send_as.is_none()
    }

    /// The format in which frames leave: operands and positions of checksums are meant for it.
    #[must_use]
    pub fn leaves_as(&self) -> FrameFormat {
        self.send_as.map_or(self.format, SendAs::format)
    }

    /// Returns true if this job accepts a frame: it has the job's format, a length that the format allows, and one of the
    /// job's payloads.
    ///
    /// Other frames pass by it and are counted nowhere.
    #[must_use]
    pub fn takes(&self, frame: &Frame) -> bool {
        frame.format == self.format
            && usize::from(frame.len) <= self.format.max_len()
            && (self.payload.is_empty() || self.payload.iter().any(|pattern| pattern.matches(frame)))
    }

    /// Applies the job to a frame that it accepts and that its filter matches.
    ///
    /// After [`Verdict::Delete`] the frame is as it was when can-gw gave it up.
    #[must_use]
    pub fn apply(&self, frame: &Frame) -> (Frame, Verdict) {
        let mut frame = *frame;
        let mut verdict = self.send_as.map_or(Verdict::Send, |send_as| rule::convert(&mut frame, send_as));
        if verdict == Verdict::Send {
            verdict = rule::change(&mut frame, &self.modifications, &self.checksums);
        }
        // The network layer marks every FD frame that is sent, whatever a rule has made of its flags.
        if frame.format == FrameFormat::Fd {
            frame.flags |= CANFD_FDF;
        }
        (frame, verdict)
    }
}
