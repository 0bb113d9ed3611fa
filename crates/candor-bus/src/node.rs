//! Nodes of a bus, and time.

use std::fmt;
use std::ops::Add;

use candor_core::units::BitRate;

/// A node of a bus, numbered in the order of [`Bus::add_node`](crate::Bus::add_node).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u8);

/// A set of nodes of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(u64);

impl NodeSet {
    /// Maximum number of nodes of a bus.
    pub const MAX_NODES: usize = 64;

    /// Adds a node; without effect if it is in the set.
    pub fn insert(&mut self, node: NodeId) {
        self.0 |= 1 << (node.0 & 63);
    }

    /// Returns true if the set contains the node.
    #[must_use]
    pub const fn contains(self, node: NodeId) -> bool {
        self.0 >> (node.0 & 63) & 1 == 1
    }

    /// The nodes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        (0..64).map(NodeId).filter(move |&node| self.contains(node))
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::default();
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

/// Bit rates of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// Bit rate of the arbitration phase and of classic frames.
    pub nominal: BitRate,
    /// Bit rate of the data phase of FD frames with bit-rate switch. `None`: a classic controller, for which FD frames
    /// are errors.
    pub data: Option<BitRate>,
}

/// Configuration of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeConfig {
    /// Bit timing of the arbitration and data phases.
    pub timing: Timing,
    /// Transmit order of its controller.
    pub order: Order,
    /// Transmit buffers of its controller, including the frame on the wire; at least 1.
    pub depth: usize,
    /// Receives, but sends neither acknowledgements nor error flags (`CAN_CTRLMODE_LISTENONLY`).
    pub listen_only: bool,
    /// Does not retry a frame after lost arbitration or an error (`CAN_CTRLMODE_ONE_SHOT`).
    pub one_shot: bool,
}

/// Transmit order of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// As submitted. An urgent frame waits for all frames before it (priority inversion).
    #[default]
    Fifo,
    /// Mailboxes: the frame that wins arbitration first; frames with equal identifiers as submitted.
    LowestId,
}

/// Time in nanoseconds. The owner of the bus defines time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BusNs(pub u64);

impl BusNs {
    /// Returns the nanoseconds since `earlier`; 0 if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for BusNs {
    type Output = Self;

    fn add(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }
}

impl fmt::Display for BusNs {
    /// Seconds with nine decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
