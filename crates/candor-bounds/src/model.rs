//! Buses, nodes and messages.

use alloc::vec::Vec;
use core::num::{NonZeroU8, NonZeroU32};

use candor_core::frame::{FrameFormat, RawId};
use candor_core::units::BitRate;

use crate::time::Ns;

/// The position of a bus in [`Network::buses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BusId(pub usize);

/// The position of a node in [`Network::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// The position of a message in [`Network::messages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub usize);

/// Buses, the nodes on them, and all messages of these nodes.
///
/// A gateway is one node on each of its buses. A message that it forwards is one message on each bus, connected by
/// [`Origin::Forwarded`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The buses.
    pub buses: Vec<Bus>,
    /// What sends on the buses.
    pub nodes: Vec<Node>,
    /// All traffic. Bounds hold only if no other frames are sent.
    pub messages: Vec<Message>,
}

/// The bit rates of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Of arbitration, and of classic frames.
    pub nominal: BitRate,
    /// Of the data phase of CAN FD frames with bit-rate switch. `None`: the bus carries classic frames only.
    pub data: Option<BitRate>,
}

/// A sender on one bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its bus.
    pub bus: BusId,
    /// The order in which its frames go to the controller.
    pub queue: Queue,
    /// What the controller does with them.
    pub controller: Controller,
}

/// The order in which the frames of a node go to its controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The frame that would win arbitration first: a priority queue, or candor's `queue = "arbitration"`.
    Arbitration,
    /// Bands, the most urgent first, with a FIFO queue each. One band is a FIFO queue for all frames.
    Bands(Vec<Band>),
}

impl Queue {
    /// One FIFO queue: the default of Linux.
    #[must_use]
    pub fn fifo() -> Self {
        Self::Bands(alloc::vec![Band::default()])
    }
}

/// A band of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    /// Frames per second at most, with a burst of one frame and 50 µs.
    pub rate: Option<NonZeroU32>,
    /// Frames per round among the bands with a share, which are the last ones.
    pub share: Option<NonZeroU8>,
    /// The sockets of the band take turns of one frame.
    pub turns: bool,
}

/// The transmit buffers of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// The controller exchanges its frame for a more urgent one until the transmission starts. With [`Queue::Arbitration`]
    /// this is the node of the classic analysis, which always competes with its most urgent frame.
    Abortable,
    /// Frames leave in the order in which they came.
    Fifo(NonZeroU32),
    /// The frame that wins arbitration leaves first. Frames cannot be withdrawn.
    Mailboxes(NonZeroU32),
}

/// A message: frames with one identifier from one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Its sender on this bus.
    pub node: NodeId,
    /// Its identifier, with the flag of 29-bit identifiers and that of remote frames.
    pub id: RawId,
    /// Classic or CAN FD.
    pub format: FrameFormat,
    /// Bit-rate switch, CAN FD only.
    pub bit_rate_switch: bool,
    /// The largest payload in bytes.
    pub len: u8,
    /// When its frames are queued.
    pub origin: Origin,
    /// The longest acceptable time from the release to the end of the frame, in which jitter counts. For a forwarded message
    /// from the release at its first sender. It may be longer than the period.
    pub deadline: Ns,
    /// The band of its node. Without effect for [`Queue::Arbitration`].
    pub band: usize,
    /// The socket of its node, for bands whose sockets take turns. All frames that the kernel forwards have one socket.
    pub socket: u32,
}

/// When the frames of a message are queued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// By a program, periodically or with a minimum distance.
    ///
    /// Offsets between messages are not part of the model: bounds hold for any offsets.
    Queued {
        /// The period, or the shortest distance of two releases.
        period: Ns,
        /// The longest time from a release to its frame in the queue. 0 for a message with a minimum distance.
        jitter: Ns,
    },
    /// By a gateway, when it has received a frame.
    Forwarded {
        /// The message that the gateway receives.
        from: MessageId,
        /// The time in the gateway.
        latency: Latency,
    },
}

/// The time from the end of a frame on one bus to its copy in the queue of the next bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Lower bound; 0 if it is not known.
    pub shortest: Ns,
    /// Upper bound.
    pub longest: Ns,
    /// What the upper bound is worth.
    pub basis: Basis,
}

/// What an upper bound of a latency is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// A requirement on the gateway.
    Budget,
    /// A measured quantile, from 0 to 1: bounds do not hold for the frames above it. 1 is the maximum of a measurement, which
    /// is not a proof either.
    Measured(f64),
}

impl Network {
    /// The bus of a message.
    ///
    /// # Panics
    /// If the network has problems; see [`Network::problems`](crate::Network::problems).
    #[must_use]
    pub fn bus_of(&self, message: MessageId) -> BusId {
        self.nodes[self.messages[message.0].node.0].bus
    }
}
