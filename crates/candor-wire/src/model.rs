//! Adapter protocols behind one interface.
//!
//! ```text
//!                      ┌────────────────────────────── Device: transfers, slots, queues ─────────────────────────────┐
//!  control requests ──▶│ control_in: answer        control_out ─▶ Action ─▶ Start, Stop, Restart                     │
//!  bulk out ──────────▶│ decode ─▶ Outgoing ──────▶ Send …………… bus …………… Sent, Failed, Received, State ─▶ Message    │
//!  bulk in ◀───────────│ encode ◀────────────────────────────────────────────────────────────────────────────┘       │
//!                      └──────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A model only translates. Its only state is set by control requests: bit timings and flags.

pub mod error_frame;
pub mod gs_usb;
pub mod ucan;

use std::fmt;

use candor_bus::{BusNs, Counters, ErrorState, Timing};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, Frame, RawId};

pub use error_frame::ErrorReport;
pub use gs_usb::GsUsb;
pub use ucan::Ucan;

use crate::exchange::Channel;
use crate::usb::{Description, Setup, Stall};

/// A protocol between a driver and its adapter.
pub trait Model: fmt::Debug + Send {
    /// A copy, including its state.
    fn boxed(&self) -> Box<dyn Model>;

    /// Identity of the device, which selects the driver.
    fn description(&self) -> Description;

    /// Properties of the protocol; constant for a device.
    fn profile(&self) -> Profile;

    /// Appends the answer to a vendor request. `health` has an entry for each channel.
    ///
    /// # Errors
    /// [`Stall`] if there is no such request.
    fn control_in(&self, setup: &Setup, health: &[Health], now: BusNs, into: &mut Vec<u8>) -> Result<(), Stall>;

    /// Handles a vendor request with data.
    ///
    /// # Errors
    /// [`Stall`] if there is no such request, or if it is invalid.
    fn control_out(&mut self, setup: &Setup, data: &[u8]) -> Result<Action, Stall>;

    /// Decodes a transfer of the driver.
    ///
    /// # Errors
    /// [`Malformed`] if a driver would not write it.
    fn decode(&mut self, bytes: &[u8]) -> Result<Outgoing, Malformed>;

    /// The number of bytes that [`encode`](Self::encode) will append.
    fn size(&self, message: &Message) -> usize;

    /// Appends a message to the driver.
    fn encode(&self, message: &Message, into: &mut Vec<u8>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    pub channels: u8,
    /// Frames of one channel that the driver may have in flight, each in its own slot.
    pub slots: usize,
    pub aborts: Aborts,
    pub recovery: Recovery,
    pub packing: Packing,
}

/// Notification of a driver that a frame will not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborts {
    /// The transfer that carried the frame fails. It must not be answered before the disposition of the frame is known.
    FailTransfer,
    /// By a message: [`Content::Failed`].
    SendMessage,
}

/// The way in which a channel leaves bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// By the driver, which has dropped every frame in flight.
    ByDriver,
    /// By the device, at once. Frames in flight are sent afterwards.
    ByDevice,
}

/// Messages per transfer to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As many as fit, each at an offset divisible by this.
    Aligned(usize),
    Single,
}

/// State of a channel, as last reported by the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub is_started: bool,
    pub state: ErrorState,
    pub counters: Counters,
}

/// Effect of a vendor request outside the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Nothing,
    /// Starts the recovery of a channel from bus-off.
    Restart(Channel),
    Start(Channel, Setting),
    Stop(Channel),
}

/// Configuration with which a channel joins the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub timing: Timing,
    pub listen_only: bool,
    pub one_shot: bool,
    /// Report each bus error and each lost arbitration to the driver.
    pub bus_errors: bool,
}

/// A decoded transfer of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// A frame to send; `slot` is the driver's name for it.
    Frame { channel: Channel, slot: u32, frame: Frame },
    /// A frame that occupies its slot until the interface goes down and is never sent: see [`gs_usb::plug`].
    Plug,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This is not a message of the driver")]
pub struct Malformed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub channel: Channel,
    pub at: BusNs,
    /// True if received frames were lost just after this one.
    pub overflow: bool,
    pub content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A condition instead of a frame.
    Error(ErrorReport),
    /// The frame in this slot will not be sent.
    Failed { slot: u32 },
    /// A frame of another node.
    Received(Frame),
    /// The frame in this slot was transmitted.
    Sent { slot: u32, frame: Frame },
}

/// Microseconds of bus time as adapters count them: 32 bits that wrap after 71 minutes.
pub(crate) fn stamp_us(at: BusNs) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the 32-bit counter of an adapter wraps, and drivers expect it"
    )]
    let us = (at.0 / 1000) as u32;
    us
}

/// An identifier without the bits that are not transmitted.
pub(crate) const fn on_the_wire(id: u32, is_fd: bool) -> RawId {
    let mask = if id & CAN_EFF_FLAG == 0 { CAN_SFF_MASK } else { CAN_EFF_FLAG | CAN_EFF_MASK };
    RawId(id & (mask | if is_fd { 0 } else { CAN_RTR_FLAG }))
}
