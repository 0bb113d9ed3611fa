//! Messages between a device and the bus it is attached to.

use candor_bus::{BusNs, Counters, ErrorKind, ErrorState, Tag, Timing};
use candor_core::frame::Frame;

/// One CAN controller of a device, counted from 0. Each becomes a network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(pub u8);

/// A request of the driver, in terms of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Remove this frame from the controller unless its transmission has started. The device ignores later notices for
    /// the tag.
    Cancel { channel: Channel, tag: Tag },
    /// Recover from bus-off, after 128 times 11 recessive bits.
    Restart { channel: Channel },
    /// Hand a frame to the controller, to be answered by [`Notice::Sent`] or [`Notice::Failed`]. The tag is unique among
    /// the frames that can still be answered.
    Send { channel: Channel, tag: Tag, frame: Frame },
    /// Join the bus, error-active, with nothing to send. `timing` has a data bit rate only with CAN FD.
    Start {
        channel: Channel,
        timing: Timing,
        /// `CAN_CTRLMODE_LISTENONLY`.
        listen_only: bool,
        /// `CAN_CTRLMODE_ONE_SHOT`.
        one_shot: bool,
    },
    /// Leave the bus and drop every frame whose transmission has not started.
    Stop { channel: Channel },
}

impl Request {
    pub const fn channel(&self) -> Channel {
        match *self {
            Self::Cancel { channel, .. }
            | Self::Restart { channel }
            | Self::Send { channel, .. }
            | Self::Start { channel, .. }
            | Self::Stop { channel } => channel,
        }
    }
}

/// Role of a controller in a destroyed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Receiver,
    Sender,
}

/// An event on the bus that concerns a channel. Times of frames are those of the end of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A frame was destroyed. Reported only to drivers that asked for it (`berr-reporting`).
    BusError { channel: Channel, kind: ErrorKind, part: Part, counters: Counters, at: BusNs },
    /// A frame will never be sent.
    Failed { channel: Channel, tag: Tag, at: BusNs },
    /// Arbitration was lost at this bit; start of frame is bit 0 and stuff bits count. Reported as [`Self::BusError`].
    LostArbitration { channel: Channel, bit: u32, at: BusNs },
    /// The controller dropped a received frame.
    Overflow { channel: Channel },
    /// A frame of another node arrived.
    Received { channel: Channel, frame: Frame, at: BusNs },
    /// A frame of this device was transmitted.
    Sent { channel: Channel, tag: Tag, frame: Frame, at: BusNs },
    /// The error state changed.
    State { channel: Channel, state: ErrorState, counters: Counters, at: BusNs },
}

impl Notice {
    pub const fn channel(&self) -> Channel {
        match *self {
            Self::BusError { channel, .. }
            | Self::Failed { channel, .. }
            | Self::LostArbitration { channel, .. }
            | Self::Overflow { channel }
            | Self::Received { channel, .. }
            | Self::Sent { channel, .. }
            | Self::State { channel, .. } => channel,
        }
    }
}
