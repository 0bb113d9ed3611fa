//! Effects of one frame in a world.

use crate::frame::Frame;
use crate::job::{BusIndex, Timestamp};

/// Identifies a job as long as it is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobId(pub u32);

/// Error codes of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// Invalid request, or no such job.
    Einval,
    /// The interface is down.
    Enetdown,
    /// The queue is full.
    Enobufs,
    /// There is no such interface.
    Enodev,
}

/// All effects of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Frames received by sockets, in order. A socket receives from its own interface only.
    pub seen: Vec<Seen>,
    /// Frames passed to interfaces for transmission, in order.
    pub sent: Vec<Sent>,
    /// Actions of jobs, in order.
    pub visits: Vec<Visit>,
    /// Result of the simulation.
    pub end: End,
}

/// End of the simulation of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// All frames reached their destinations.
    #[default]
    Settled,
    /// Stopped, because frames circulate without end.
    Circulates,
}

/// A frame that the sockets of one interface receive, if their filters match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Interface of the sockets.
    pub on: BusIndex,
    /// The frame as delivered to sockets.
    pub frame: Frame,
    /// Timestamp: kept from the reception before the last gateway, or fresh.
    pub stamp: Timestamp,
    /// Gateways that the frame passed, as can-gw counts them. Not visible to sockets.
    pub hops: u8,
}

/// A frame that an interface accepted for transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The interface that sent it.
    pub on: BusIndex,
    /// The frame as passed to the driver.
    pub frame: Frame,
}

/// A job processed a frame of its format that its filter matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The job that handled the frame.
    pub job: JobId,
    /// The result, including the counter that it increments.
    pub did: Did,
}

/// Action of a job on a frame, with the counter that it increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// Increments `deleted`.
    Deleted(Deleted),
    /// Increments `dropped`.
    Dropped(Dropped),
    /// Increments `handled`: the interface accepted this frame, but may not have sent it yet.
    Handled(Frame),
    /// Increments no counter: the frame would leave where it first entered this machine.
    Skipped,
}

/// Reason for deleting a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It passed as many gateways as the module allows (`max_hops`).
    Hops,
    /// A modification made its length invalid.
    Length,
}

/// Reason for dropping a frame. The kernel can also run out of memory, which is not simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The outgoing interface is down.
    Down,
    /// The queue of the outgoing interface is full.
    QueueFull,
    /// The outgoing interface accepts classic frames only.
    TooLarge,
}
