//! What a bus tells.

use candor_core::frame::Frame;

use crate::confinement::{Counters, ErrorState};
use crate::controller::Tag;
use crate::node::{NodeId, NodeSet};
use crate::time::BusNs;

/// The kinds of error a node detects.
///
/// # Source
/// ISO 11898-1:2015, clause 10.11; `CAN_ERR_PROT_*` and `CAN_ERR_ACK` of `linux/can/error.h`.
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
        /// Who sent it. Of several nodes that sent the very same frame at the very same time there is an event each.
        sender: NodeId,
        /// The sender's name for it.
        tag: Tag,
        /// The frame as submitted.
        frame: Frame,
        /// Starts of it that were destroyed by an error before this one.
        retries: u32,
        /// How many times it lost arbitration.
        lost: u32,
        /// Who received it. Empty for all but the first of several senders.
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
        /// Who was sending.
        sender: NodeId,
        /// The frame that broke.
        frame: Frame,
        /// Number of the wrong bit; start of frame is 0 and stuff bits count.
        bit: u32,
        /// What the first of `detected` saw.
        kind: ErrorKind,
        /// Who noticed it by themselves or by the flags of others.
        detected: NodeSet,
        /// Whether the sender will not try again: one shot.
        given_up: Option<Tag>,
    },
    /// A node lost arbitration, and will try again.
    LostArbitration {
        /// Beginning of the bit that it lost.
        at: BusNs,
        /// Who lost.
        node: NodeId,
        /// Number of the bit; start of frame is 0 and stuff bits count.
        bit: u32,
        /// Whether it will not try again: one shot.
        given_up: Option<Tag>,
    },
    /// A node's error counters moved it to another state, or back.
    State {
        /// When.
        at: BusNs,
        /// Which node.
        node: NodeId,
        /// Its state now.
        state: ErrorState,
        /// Its counters now.
        counters: Counters,
    },
}
