//! Faults on command: what can be done to a bus and its nodes, and what came of it.

use candor_bus::{BusNs, Counters, Event, NodeId, NotOnBus, SubmitError, Target};
use candor_core::frame::{Frame, RawId};

use crate::harness::DeviceId;

/// What whoever gives an order calls it, to know its effects again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(pub u64);

/// A fault, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultOrder {
    /// Its name.
    pub id: FaultId,
    /// When, on the time line of the bus; `None`: now.
    pub at: Option<BusNs>,
    /// How long, in nanoseconds, for those that last: [`Fault::Babble`], [`Fault::Freeze`], [`Fault::Stuck`]. `None`: until
    /// somebody ends it.
    pub lasts_ns: Option<u64>,
    /// What.
    pub fault: Fault,
}

/// Something that is done to a bus or to a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A node sends this frame over and over.
    Babble {
        /// Which frame.
        frame: Frame,
        /// Which node; `None`: one more that hangs on the bus for it.
        node: Option<NodeId>,
    },
    /// Everybody sees a bit of some frames wrong.
    BitError {
        /// Which frames.
        target: Target,
        /// Which bit, start of frame being 0; `None`: one that the seed chooses for each frame.
        bit: Option<u32>,
        /// How many frames.
        times: u32,
    },
    /// Each bit is seen wrong by everybody with this probability.
    BitErrorRate {
        /// From 0 to 1.
        rate: f64,
    },
    /// A node falls silent as if it had erred too often.
    BusOff {
        /// Which.
        node: NodeId,
    },
    /// Everything ends that was ordered and has not ended, and what was planned is not done. What was unplugged stays so.
    Clear,
    /// A node's error counters.
    Counters {
        /// Whose.
        node: NodeId,
        /// What they are from now on.
        counters: Counters,
    },
    /// A node takes a bit for wrong that all others see right, and says so by an error flag.
    ErrorFrame {
        /// Which node.
        node: NodeId,
        /// Only in frames of this identifier.
        id: Option<RawId>,
        /// Which bit; `None`: one that the seed chooses for each frame.
        bit: Option<u32>,
        /// In how many frames.
        times: u32,
    },
    /// A node starts no frame any more; it hears and acknowledges.
    Freeze {
        /// Which.
        node: NodeId,
    },
    /// Nobody acknowledges some frames.
    LostAck {
        /// Which frames.
        target: Target,
        /// How many.
        times: u32,
    },
    /// Ends what holds the wire.
    Release {
        /// What of it.
        what: Hold,
    },
    /// An unplugged adapter comes back, as new. It needs a stream.
    Replug {
        /// Which.
        device: DeviceId,
    },
    /// The wire is dominant.
    Stuck,
    /// A frozen node goes on.
    Thaw {
        /// Which.
        node: NodeId,
    },
    /// An adapter leaves the bus with all its nodes. Its stream is to be closed.
    Unplug {
        /// Which.
        device: DeviceId,
    },
}

/// What keeps the wire from the other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Both.
    All,
    /// [`Fault::Babble`].
    Babble,
    /// [`Fault::Stuck`].
    Stuck,
}

impl Fault {
    /// What ends it, if it lasts.
    pub(crate) const fn end(&self) -> Option<Self> {
        match *self {
            Self::Babble { .. } => Some(Self::Release { what: Hold::Babble }),
            Self::Freeze { node } => Some(Self::Thaw { node }),
            Self::Stuck => Some(Self::Release { what: Hold::Stuck }),
            _ => None,
        }
    }
}

/// What came of an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// When, on the time line of the bus.
    pub at: BusNs,
    /// Of which order. What ends a fault after its time has the name of that.
    pub order: FaultId,
    /// What was to be done.
    pub fault: Fault,
    /// Why it was not.
    pub refused: Option<Refusal>,
}

/// Why an order was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The frame to babble.
    #[error("the node cannot send this frame: {0}")]
    Frame(SubmitError),
    /// No such node or device.
    #[error("there is no such node")]
    NoNode,
    /// There is no place for one more node.
    #[error("the bus has no room for one more node that babbles; let one of its own do it")]
    NoRoom,
    /// The node has no part in what happens.
    #[error("it is set down, bus-off or unplugged, so that there is nothing to disturb; `ip -details link` says which")]
    NotOnBus,
    /// It is still there.
    #[error("it is not unplugged")]
    NotUnplugged,
    /// Too late.
    #[error("the bus is at {now} s already; name a later moment, or none to have it at once")]
    Past {
        /// When it is.
        now: BusNs,
    },
    /// Nobody to take the bit rate from.
    #[error("no node is on the bus; set one up first")]
    Silent,
    /// A bound of what is remembered.
    #[error("too much is planned already; `clear` takes it back")]
    TooMany,
    /// It is gone.
    #[error("it is unplugged already")]
    Unplugged,
}

impl From<NotOnBus> for Refusal {
    fn from(_: NotOnBus) -> Self {
        Self::NotOnBus
    }
}

/// A part of the story of a bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// On the wire.
    Event(Event),
    /// On command.
    Fault(Effect),
}
