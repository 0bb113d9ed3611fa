//! What other nodes and programs send, for bounds.

use std::time::Duration;

use candor_bounds::{Controller, Queue};
use candor_core::frame::{FrameFormat, RawId};

use super::BusIndex;

/// A message that another node or program sends; for bounds only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub bus: BusIndex,
    /// With `CAN_EFF_FLAG` for 29 bits.
    pub id: RawId,
    pub format: FrameFormat,
    pub bit_rate_switch: bool,
    /// Longest payload in bytes.
    pub len: u8,
    /// Or the shortest time between two frames.
    pub period: Duration,
    pub jitter: Duration,
    pub deadline: Duration,
    /// Of its copies on other buses.
    pub deadline_forwarded: Duration,
    /// [`Traffic::THIS_MACHINE`], or the name of a node. `None`: a node for this message alone.
    pub sender: Option<String>,
    /// Equal for all messages of a sender. Of no meaning for this machine, which has `[egress.BUS]`.
    pub sending: Sending,
}

/// How another node sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    pub queue: Queue,
    pub controller: Controller,
}

impl Default for Sending {
    /// The node always competes with its most urgent frame.
    fn default() -> Self {
        Self { queue: Queue::Arbitration, controller: Controller::Abortable }
    }
}

impl Traffic {
    /// The sender whose frames are sent by the queues of this machine.
    pub const THIS_MACHINE: &str = "candor";

    /// True if this machine sends it.
    pub fn is_of_this_machine(&self) -> bool {
        self.sender.as_deref() == Some(Self::THIS_MACHINE)
    }
}
