//! What happens in a world because of one frame.

use super::world::JobId;
use crate::frame::Frame;
use crate::job::{BusIndex, Timestamp};

/// Everything that one frame has caused until nothing moves any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What sockets see, in order. A socket sees its own interface only.
    pub seen: Vec<Seen>,
    /// What was given to interfaces to be put on their buses, in order.
    pub sent: Vec<Sent>,
    /// What jobs did, in order.
    pub visits: Vec<Visit>,
    /// How it ended.
    pub end: End,
}

/// How it ended.
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
    /// What they read.
    pub frame: Frame,
    /// Whether its stamp is that of the reception before the last gateway, or one of its own.
    pub stamp: Timestamp,
    /// Gateways behind it, as can-gw counts them; nobody can read that.
    pub hops: u8,
}

/// A frame that an interface took to put it on its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Which interface.
    pub on: BusIndex,
    /// What.
    pub frame: Frame,
}

/// One job has looked at a frame that its filter lets through and that has its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Which job.
    pub job: JobId,
    /// What it did.
    pub did: Did,
}

/// What a job does with a frame, and what it counts for it.
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
