//! Nodes of a bus.

use candor_core::units::BitRate;

use crate::controller::Order;

/// A node of one bus, numbered in the order of [`Bus::attach`](crate::Bus::add_node).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u8);

/// Some nodes of one bus, at most 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(u64);

impl NodeSet {
    /// Nodes that one bus can have.
    pub const MAX_NODES: usize = 64;

    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        self.0 |= 1 << (node.0 & 63);
    }

    /// Returns true if the set contains the node.
    #[must_use]
    pub const fn contains(self, node: NodeId) -> bool {
        self.0 >> (node.0 & 63) & 1 == 1
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
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

/// The bit rates a node is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// Of the arbitration phase and of classic frames.
    pub nominal: BitRate,
    /// Of the data phase of FD frames with bit-rate switch. `None`: the node is a classic controller, which takes an FD
    /// frame for an error.
    pub data: Option<BitRate>,
}

/// Configuration of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeConfig {
    /// Its bit rates.
    pub timing: Timing,
    /// In which order its controller sends what it holds.
    pub order: Order,
    /// Number of frames its controller holds, the one on the wire included; at least 1.
    pub depth: usize,
    /// Hears everything, says nothing: no acknowledgement, no error flag (`CAN_CTRLMODE_LISTENONLY`).
    pub listen_only: bool,
    /// A frame that lost arbitration or met an error is not tried again (`CAN_CTRLMODE_ONE_SHOT`).
    pub one_shot: bool,
}
