//! Effects of one frame in a world.

use super::world::JobId;
use crate::frame::Frame;
use crate::job::{BusIndex, Timestamp};

/// Everything that one frame has caused until nothing moves any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Frames received by sockets, in order. A socket receives from its own interface only.
    pub seen: Vec<Seen>,
    /// Frames passed to interfaces for transmission, in order.
    pub sent: Vec<Sent>,
    /// Actions of jobs, in order.
    pub visits: Vec<Visit>,
    /// Result.
    pub end: End,
}

/// Result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Nothing moves any more.
    #[default]
    Settled,
    /// It was stopped after so many frames that it would go on for ever.
    Circulates,
}

/// A frame as the sockets on one interface get it, if their filters let it through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The interface they are bound to.
    pub on: BusIndex,
    /// Frame.
    pub frame: Frame,
    /// Timestamp: kept from the reception before the last gateway, or fresh.
    pub stamp: Timestamp,
    /// Gateways behind it, as can-gw counts them; nobody can read that.
    pub hops: u8,
}

/// A frame that an interface took to put it on its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Interface.
    pub on: BusIndex,
    /// Frame.
    pub frame: Frame,
}

/// One job has looked at a frame that its filter lets through and that has its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Job.
    pub job: JobId,
    /// Action.
    pub did: Did,
}

/// Action of a job on a frame, with the counter that it increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// `deleted` is one more.
    Deleted(Deleted),
    /// `dropped` is one more.
    Dropped(Dropped),
    /// `handled` is one more: the interface took this frame, which does not mean that it was ever sent.
    Handled(Frame),
    /// Nothing is counted: the frame first came into this machine where it would now leave.
    Skipped,
}

/// Why a frame was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It has as many gateways behind it as the module allows.
    Hops,
    /// Its length became impossible.
    Length,
}

/// Why a frame was dropped. No memory is another reason that is never met here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The outgoing interface is down.
    Down,
    /// The queue of the outgoing interface is full.
    QueueFull,
    /// The outgoing interface takes classic frames only.
    TooLarge,
}
