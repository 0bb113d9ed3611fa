//! Events of a bus.

use candor_core::frame::Frame;

use crate::confinement::{Counters, ErrorState};
use crate::controller::Tag;
use crate::node::{BusNs, NodeId, NodeSet};

/// Errors that a node detects.
///
/// # Source
/// ISO 11898-1:2015, clause 10.11; [`CAN_ERR_PROT_*`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/error.h#L80)
/// and [`CAN_ERR_ACK`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/error.h#L56) in Linux 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The frame was not acknowledged.
    Ack,
    /// The level differs from the sent one.
    Bit,
    /// The CRC does not match the received bits.
    Crc,
    /// A bit of fixed form had the wrong level.
    Form,
    /// Six equal bits in a stuffed field.
    Stuff,
}

/// An event on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A frame was sent. Its receivers have it, and its transmit buffer is free.
    Delivered {
        /// End of the end-of-frame field, before the intermission.
        end: BusNs,
        /// Beginning of the start-of-frame bit.
        start: BusNs,
        /// Sender. Each node has an event if several send identical frames at the same time.
        sender: NodeId,
        /// Tag of the frame.
        tag: Tag,
        /// The frame as it was submitted.
        frame: Frame,
        /// Number of attempts before that ended with an error.
        retries: u32,
        /// Number of attempts that lost arbitration.
        lost: u32,
        /// Receivers. Empty for all senders after the first.
        receivers: NodeSet,
    },
    /// An error destroyed a frame.
    Error {
        /// End of the wrong bit, when the first node detects it.
        at: BusNs,
        /// Beginning of the frame.
        start: BusNs,
        /// End of the error delimiter, before the intermission.
        end: BusNs,
        /// The node whose attempt failed.
        sender: NodeId,
        /// The frame whose transmission an error frame cut short.
        frame: Frame,
        /// Number of the wrong bit; start of frame is 0 and stuff bits count.
        bit: u32,
        /// Error of the first node in `detected`.
        kind: ErrorKind,
        /// Nodes that detected the error, or the error flags of others.
        detected: NodeSet,
        /// Tag of the frame in one-shot mode: the sender does not retry.
        given_up: Option<Tag>,
    },
    /// A node lost arbitration.
    LostArbitration {
        /// Beginning of the bit at which it lost.
        at: BusNs,
        /// The node that lost.
        node: NodeId,
        /// Number of the bit; start of frame is 0 and stuff bits count.
        bit: u32,
        /// Tag of the frame in one-shot mode: the node does not retry.
        given_up: Option<Tag>,
    },
    /// The error state of a node changed.
    State {
        /// Time of the change.
        at: BusNs,
        /// The node whose state or counters changed.
        node: NodeId,
        /// Its state after the change.
        state: ErrorState,
        /// Its counters after the change.
        counters: Counters,
    },
}
