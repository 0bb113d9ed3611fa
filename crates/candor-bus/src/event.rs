//! Events of a bus.

use candor_core::frame::Frame;

use crate::confinement::{Counters, ErrorState};
use crate::controller::Tag;
use crate::node::{NodeId, NodeSet};
use crate::time::BusNs;

/// The kinds of error a node detects.
///
/// # Source
/// ISO 11898-1:2015, clause 10.11; [`CAN_ERR_PROT_*`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/error.h#L80)
/// and [`CAN_ERR_ACK`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/error.h#L56) in Linux 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Nobody acknowledged the frame.
    Ack,
    /// A sender saw another level than the one it sent.
    Bit,
    /// The check sum does not fit what was read.
    Crc,
    /// A bit of fixed form had the wrong level.
    Form,
    /// Six equal bits where stuffing forbids them.
    Stuff,
}

/// Something that happened on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A frame went over the wire whole. It can be read by its receivers, and its sender's controller has room again.
    Delivered {
        /// End of the last bit of its end-of-frame field: the intermission follows.
        end: BusNs,
        /// Beginning of its start-of-frame bit.
        start: BusNs,
        /// Sender. Nodes that send identical frames at the same time get one event each.
        sender: NodeId,
        /// The sender's name for it.
        tag: Tag,
        /// The frame as submitted.
        frame: Frame,
        /// Starts of it that were destroyed by an error before this one.
        retries: u32,
        /// Number of times it lost arbitration.
        lost: u32,
        /// Receivers. Empty for all but the first of several senders.
        receivers: NodeSet,
    },
    /// A frame broke on the wire.
    Error {
        /// When the first node noticed it: end of the wrong bit.
        at: BusNs,
        /// Beginning of the broken frame.
        start: BusNs,
        /// When the error delimiter is over and the intermission begins.
        end: BusNs,
        /// Senders.
        sender: NodeId,
        /// The frame that broke.
        frame: Frame,
        /// Number of the wrong bit; start of frame is 0 and stuff bits count.
        bit: u32,
        /// Error seen by the first of `detected`.
        kind: ErrorKind,
        /// Nodes that detected the error themselves or through the error flags of others.
        detected: NodeSet,
        /// True in one-shot mode: the sender does not retry.
        given_up: Option<Tag>,
    },
    /// A node lost arbitration, and will try again.
    LostArbitration {
        /// Beginning of the bit that it lost.
        at: BusNs,
        /// Node that lost arbitration.
        node: NodeId,
        /// Number of the bit; start of frame is 0 and stuff bits count.
        bit: u32,
        /// True in one-shot mode: the node does not retry.
        given_up: Option<Tag>,
    },
    /// A node's error counters moved it to another state, or back.
    State {
        /// When.
        at: BusNs,
        /// Node.
        node: NodeId,
        /// Its state now.
        state: ErrorState,
        /// Its counters now.
        counters: Counters,
    },
}
