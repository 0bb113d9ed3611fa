//! What a device asks of the bus beside it, and what it is told.

use candor_bus::{BusNs, Counters, ErrorKind, ErrorState, Tag, Timing};
use candor_core::frame::Frame;

/// One CAN controller of a device, counted from 0. Each becomes an interface of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(pub u8);

/// What the driver made of a channel, in the words of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Take this frame out of the controller unless it is on the wire already. The driver no longer waits for it, and
    /// the device ignores whatever is said of this tag from now on.
    Cancel {
        /// Whose.
        channel: Channel,
        /// Which frame.
        tag: Tag,
    },
    /// Come back from bus-off, after 128 times 11 recessive bits.
    Restart {
        /// Which controller.
        channel: Channel,
    },
    /// Put a frame into the controller. Wants [`Notice::Sent`] or [`Notice::Failed`] later.
    Send {
        /// Of which controller.
        channel: Channel,
        /// The device's name for it, not used twice while anyone can remember.
        tag: Tag,
        /// The frame, as it can be on a wire.
        frame: Frame,
    },
    /// Go on the bus, error active, with nothing to send.
    Start {
        /// Which controller.
        channel: Channel,
        /// Its bit rates. Data bit rate only if the driver wants CAN FD.
        timing: Timing,
        /// Hear, but say nothing (`CAN_CTRLMODE_LISTENONLY`).
        listen_only: bool,
        /// Do not try a frame twice (`CAN_CTRLMODE_ONE_SHOT`).
        one_shot: bool,
    },
    /// Leave the bus and forget every frame that is not on the wire yet.
    Stop {
        /// Which controller.
        channel: Channel,
    },
}

impl Request {
    /// Which channel it is about.
    #[must_use]
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

/// Which part a controller had in a frame that broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It received.
    Receiver,
    /// It was sending.
    Sender,
}

/// What happened on the bus, to a device of its.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A frame broke. Told on only to drivers that asked for it (`berr-reporting`).
    BusError {
        /// Who noticed.
        channel: Channel,
        /// What it saw.
        kind: ErrorKind,
        /// Whether it was its own frame.
        part: Part,
        /// Its error counters now.
        counters: Counters,
        /// When.
        at: BusNs,
    },
    /// A frame will never be sent.
    Failed {
        /// Whose.
        channel: Channel,
        /// Which.
        tag: Tag,
        /// When that was clear.
        at: BusNs,
    },
    /// Arbitration was lost. Told on only to drivers that asked for it.
    LostArbitration {
        /// Who lost.
        channel: Channel,
        /// Number of the bit; start of frame is 0 and stuff bits count.
        bit: u32,
        /// When.
        at: BusNs,
    },
    /// A frame was lost in the controller itself.
    Overflow {
        /// In which.
        channel: Channel,
    },
    /// A frame of another node arrived.
    Received {
        /// Where.
        channel: Channel,
        /// What.
        frame: Frame,
        /// End of frame.
        at: BusNs,
    },
    /// A frame of this device went over the wire whole.
    Sent {
        /// Whose.
        channel: Channel,
        /// Which.
        tag: Tag,
        /// The frame.
        frame: Frame,
        /// End of frame.
        at: BusNs,
    },
    /// The error counters moved a controller to another state.
    State {
        /// Which controller.
        channel: Channel,
        /// Its state now.
        state: ErrorState,
        /// Its counters now.
        counters: Counters,
        /// When.
        at: BusNs,
    },
}

impl Notice {
    /// Which channel it is about.
    #[must_use]
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
