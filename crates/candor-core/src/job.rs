//! can-gw jobs, which the kernel and the user-space engines run.

#[cfg(feature = "std")]
mod cangw;
mod computed;

pub use crate::rule::SendAs;
#[cfg(feature = "std")]
pub use cangw::cangw_arguments;
pub use computed::{Compute, Computed, CounterInByte, OnBad, RealtimeNs, Seen, Steps};

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::filter::Filter;
use crate::frame::{CANFD_FDF, Frame, FrameFormat};
use crate::payload::PayloadPattern;
use crate::rule::{self, Checksums, Modifications, Verdict};

/// Index of a bus of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BusIndex(pub usize);

/// Index of a route of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteIndex(pub usize);

/// Echo of routed frames to local sockets on the outgoing interface (`CGW_FLAGS_CAN_ECHO`, `cangw -e`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Echo {
    /// Sockets receive the frames.
    On,
    /// Sockets do not receive the frames.
    Off,
}

/// Timestamp of routed frames (`CGW_FLAGS_CAN_SRC_TSTAMP`, `cangw -t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timestamp {
    /// A new timestamp on the outgoing interface.
    Fresh,
    /// The timestamp of the reception.
    Kept,
}

/// Sending of frames back to the interface that first received them (`CGW_FLAGS_CAN_IIF_TX_OK`, `cangw -i`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Incoming {
    /// Ignores such frames and does not count them.
    Skipped,
    /// Sends frames back to the interface that received them.
    Allowed,
}

/// A can-gw job with buses in place of interfaces. can-gw supports neither `payload` nor `send_as` nor `is_xl`, nor what is
/// computed.
///
/// ```
/// use candor_core::filter::Filter;
/// use candor_core::frame::{Frame, FrameFormat};
/// use candor_core::job::{BusIndex, Job};
/// use candor_core::rule::{Modifications, Operand, Verdict};
///
/// let plain = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::ALL);
/// let set = Operand { id: Some(0x456), ..Operand::NONE };
/// let job = Job { modifications: Modifications { set, ..Modifications::NONE }, ..plain };
/// let frame: Frame = "123#11".parse().unwrap();
/// assert_eq!(job.apply(&frame), ("456#11".parse().unwrap(), Verdict::Send));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Route of the job.
    pub route: RouteIndex,
    /// The bus whose received frames the job handles.
    pub from: BusIndex,
    /// The bus on which the job sends.
    pub to: BusIndex,
    /// Format of the matched frames, unless `is_xl`.
    pub format: FrameFormat,
    /// The job matches CAN XL frames, whose priority and virtual network are in the first word as an identifier is
    /// (`struct canxl_frame`), and sends them unchanged. eBPF programs only.
    pub is_xl: bool,
    /// Filter of the matched frames.
    pub filter: Filter,
    /// Checks of the received frame, in this order: each deletes it or lets it pass. User space only.
    pub checks: Vec<Computed>,
    /// A change before the modifications, computed from the received frame. User space only.
    pub computed: Option<Computed>,
    /// Changes to each sent frame (`CGW_MOD_*`).
    pub modifications: Modifications,
    /// Checksums computed after the modifications (`CGW_CS_*`).
    pub checksums: Checksums,
    /// The last change, for example a checksum with a counter. User space, and eBPF programs if it has [`Steps`].
    pub protected: Option<Computed>,
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
    /// Matched payloads: one of these, or any if empty. User space only.
    pub payload: Vec<PayloadPattern>,
    /// Conversion before modification, if any. User space only.
    pub send_as: Option<SendAs>,
}

impl Job {
    /// A job that forwards the frames of a filter unchanged.
    #[must_use]
    pub const fn plain(from: BusIndex, to: BusIndex, format: FrameFormat, filter: Filter) -> Self {
        Self {
            route: RouteIndex(0),
            from,
            to,
            format,
            is_xl: false,
            filter,
            checks: Vec::new(),
            computed: None,
            modifications: Modifications::NONE,
            checksums: Checksums::NONE,
            protected: None,
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
        self.payload.is_empty() && self.send_as.is_none() && !self.is_xl && !self.is_computed()
    }

    /// Returns true if a frame may leave with other bytes, apart from what [`checks`](Self::checks) and
    /// [`computed`](Self::computed) do.
    #[must_use]
    pub fn modifies(&self) -> bool {
        !self.modifications.is_empty() || self.protected.is_some()
    }

    /// Returns true if a frame is checked, changed or protected by a computation.
    #[must_use]
    pub const fn is_computed(&self) -> bool {
        !self.checks.is_empty() || self.computed.is_some() || self.protected.is_some()
    }

    /// The format of sent frames, which operands and checksums refer to.
    #[must_use]
    pub fn leaves_as(&self) -> FrameFormat {
        self.send_as.map_or(self.format, SendAs::format)
    }

    /// Returns true if the job accepts a frame: its format, a valid length, and one of its payloads. Other frames are
    /// ignored and not counted.
    #[must_use]
    pub fn takes(&self, frame: &Frame) -> bool {
        frame.format == self.format
            && !self.is_xl
            && usize::from(frame.len) <= self.format.max_len()
            && (self.payload.is_empty() || self.payload.iter().any(|pattern| pattern.matches(frame)))
    }

    /// Applies the job to a frame that it accepts and that its filter matches.
    ///
    /// After [`Verdict::Delete`] the frame is as it was when can-gw deleted it.
    #[must_use]
    pub fn apply(&self, frame: &Frame) -> (Frame, Verdict) {
        let mut frame = *frame;
        for computed in self.checks.iter().chain(&self.computed) {
            if computed.change_frame(RealtimeNs::UNKNOWN, &mut frame) == Verdict::Delete {
                return (frame, Verdict::Delete);
            }
        }
        let mut verdict = self.send_as.map_or(Verdict::Send, |send_as| rule::convert(&mut frame, send_as));
        if verdict == Verdict::Send {
            verdict = rule::change(&mut frame, &self.modifications, &self.checksums);
        }
        if let (Verdict::Send, Some(protected)) = (verdict, &self.protected) {
            verdict = protected.change_frame(RealtimeNs::UNKNOWN, &mut frame);
        }
        // The network layer sets FDF in every sent FD frame, regardless of the rule.
        if frame.format == FrameFormat::Fd {
            frame.flags |= CANFD_FDF;
        }
        (frame, verdict)
    }
}
