//! Fault injection: the faults of a bus and its nodes, and their outcome.

use candor_bus::{BusNs, Counters, Event, NodeId, NotOnBus, SubmitError, Target};
use candor_core::frame::{Frame, RawId};

/// An adapter, numbered in the order of [`Harness::plug`](crate::Harness::plug).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub usize);

/// Identifies an order in its effects; chosen by the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(pub u64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultOrder {
    pub id: FaultId,
    /// Bus time; `None`: now.
    pub at: Option<BusNs>,
    /// Duration of [`Fault::Babble`], [`Fault::Freeze`] and [`Fault::Stuck`]; `None`: until ended by another order.
    pub lasts_ns: Option<u64>,
    pub fault: Fault,
}

/// A fault of a bus or a node. Bits count from start of frame, which is 0; without a bit, the seed chooses one for each
/// frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A node sends this frame over and over; `None` adds a node to the bus for it.
    Babble { frame: Frame, node: Option<NodeId> },
    /// All nodes see a bit of the next `times` matching frames inverted.
    BitError { target: Target, bit: Option<u32>, times: u32 },
    /// All nodes see each bit inverted with this probability, 0 to 1.
    BitErrorRate { rate: f64 },
    /// A node goes bus-off.
    BusOff { node: NodeId },
    /// Ends every fault in force and drops scheduled ones. Unplugged adapters stay unplugged.
    Clear,
    /// Sets the error counters of a node.
    Counters { node: NodeId, counters: Counters },
    /// One node sees a bit inverted and sends an error flag.
    ErrorFrame { node: NodeId, id: Option<RawId>, bit: Option<u32>, times: u32 },
    /// A node starts no transmission; it still receives and acknowledges.
    Freeze { node: NodeId },
    /// The next `times` matching frames are not acknowledged.
    LostAck { target: Target, times: u32 },
    /// Ends babbling, a stuck bus, or both.
    Release { what: Hold },
    /// An unplugged adapter returns in its initial state. It needs a new stream.
    Replug { device: DeviceId },
    /// The bus is stuck dominant.
    Stuck,
    /// Ends [`Self::Freeze`].
    Thaw { node: NodeId },
    /// An adapter leaves the bus with all its nodes. The caller closes its stream.
    Unplug { device: DeviceId },
}

/// Faults that keep other nodes from sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    All,
    Babble,
    Stuck,
}

impl Fault {
    /// The fault that ends this one, if it lasts.
    pub(crate) const fn end(&self) -> Option<Self> {
        match *self {
            Self::Babble { .. } => Some(Self::Release { what: Hold::Babble }),
            Self::Freeze { node } => Some(Self::Thaw { node }),
            Self::Stuck => Some(Self::Release { what: Hold::Stuck }),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    pub at: BusNs,
    /// The end of a fault after its duration has the identifier of the order that started it.
    pub order: FaultId,
    pub fault: Fault,
    pub refused: Option<Refusal>,
}

/// The reason why an order was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("the node cannot send this frame: {0}")]
    Frame(SubmitError),
    #[error("there is no such node")]
    NoNode,
    #[error("the bus has no room for one more node that babbles; name one of its interfaces (--node)")]
    NoRoom,
    #[error("the interface is down, bus-off or unplugged, so there is nothing to disturb; see `ip -details link`")]
    NotOnBus,
    #[error("it is not unplugged")]
    NotUnplugged,
    #[error("the bus is already at {now} s; use a later time, or omit it for now")]
    Past { now: BusNs },
    #[error("no node is on the bus; set an interface up first")]
    Silent,
    #[error("too many faults are scheduled; `clear` drops them")]
    TooMany,
    #[error("it is already unplugged")]
    Unplugged,
}

impl From<NotOnBus> for Refusal {
    fn from(_: NotOnBus) -> Self {
        Self::NotOnBus
    }
}

/// An entry in the trace of a bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TraceEntry {
    Event(Event),
    Fault(Effect),
}
