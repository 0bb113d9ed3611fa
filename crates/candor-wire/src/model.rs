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
//! A model only translates. The one thing it may remember is what its control requests set: bit timings and flags.

mod any;
pub mod error_frame;
pub mod gs_usb;
pub mod ucan;

use candor_bus::{BusNs, Counters, ErrorState, Timing};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, Frame, RawId};

pub use any::AnyModel;
pub use error_frame::ErrorReport;
pub use gs_usb::GsUsb;
pub use ucan::Ucan;

use crate::exchange::Channel;
use crate::usb::{Description, Setup, Stall};

/// A protocol between a driver and its adapter.
pub trait Model {
    /// Who the device claims to be; decides which driver takes it.
    fn description(&self) -> Description;

    /// How many channels there are.
    fn channels(&self) -> u8;

    /// Frames of one channel that the driver may have on the way, each in a slot of its own.
    fn slots(&self) -> usize;

    /// How the driver learns that a frame will not be sent.
    fn aborts(&self) -> Aborts;

    /// Who ends bus-off.
    fn recovery(&self) -> Recovery;

    /// How many messages one transfer to the host holds.
    fn packing(&self) -> Packing;

    /// Appends the answer to a vendor request. `health` has an entry for each channel.
    ///
    /// # Errors
    /// [`Stall`] if there is no such request.
    fn control_in(&self, setup: &Setup, health: &[Health], now: BusNs, into: &mut Vec<u8>) -> Result<(), Stall>;

    /// Takes a vendor request with its data.
    ///
    /// # Errors
    /// [`Stall`] if there is no such request, or if it makes no sense.
    fn control_out(&mut self, setup: &Setup, data: &[u8]) -> Result<Action, Stall>;

    /// Reads a transfer of the driver.
    ///
    /// # Errors
    /// [`Malformed`] if the driver would never write it.
    fn decode(&mut self, bytes: &[u8]) -> Result<Outgoing, Malformed>;

    /// How many bytes [`encode`](Self::encode) will append.
    fn size(&self, message: &Message) -> usize;

    /// Appends a message to the driver.
    fn encode(&self, message: &Message, into: &mut Vec<u8>);
}

/// How a driver learns that a frame will not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborts {
    /// The transfer that carried the frame fails. It must not be answered before the disposition of the frame is known.
    FailTheTransfer,
    /// A message says so: [`Content::Failed`].
    HaveAMessage,
}

/// Who ends bus-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The driver, which has also given up every frame on the way.
    ByDriver,
    /// The device itself, at once. Frames on the way are sent afterwards.
    ByItself,
}

/// How many messages one transfer to the host holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As many as fit, each at an offset divisible by this.
    Aligned(usize),
    /// One.
    Single,
}

/// How a channel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether it is on the bus.
    pub is_started: bool,
    /// Its state, as last told.
    pub state: ErrorState,
    /// Its error counters, as last told.
    pub counters: Counters,
}

/// What a vendor request means beyond the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Come back from bus-off.
    Restart(Channel),
    /// Go on the bus.
    Start(Channel, Setting),
    /// Leave the bus.
    Stop(Channel),
}

/// How a channel goes on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its bit rates.
    pub timing: Timing,
    /// Hear, but say nothing.
    pub listen_only: bool,
    /// Do not try a frame twice.
    pub one_shot: bool,
    /// Tell the driver of each broken frame and of each lost arbitration.
    pub bus_errors: bool,
}

/// A transfer of the driver in meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// A frame to be sent.
    Frame {
        /// On which channel.
        channel: Channel,
        /// What the driver calls it.
        slot: u32,
        /// The frame.
        frame: Frame,
    },
    /// A frame that takes its slot for ever and is never sent: see [`gs_usb::plug`].
    Plug,
}

/// Bytes that no driver writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This is no message of the driver")]
pub struct Malformed;

/// Something to tell the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Of which channel.
    pub channel: Channel,
    /// When it happened.
    pub at: BusNs,
    /// Whether received frames were lost just after this one.
    pub overflow: bool,
    /// What happened.
    pub content: Content,
}

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Something that is no frame.
    Error(ErrorReport),
    /// The frame in this slot was not sent and will not be.
    Failed {
        /// The driver's name for it.
        slot: u32,
    },
    /// A frame of another node.
    Received(Frame),
    /// The frame in this slot is on the wire for all to see.
    Sent {
        /// The driver's name for it.
        slot: u32,
        /// The frame.
        frame: Frame,
    },
}

/// Microseconds of the bus's time line as adapters count them: 32 bits that start again after 71 minutes.
pub(crate) fn stamp_us(at: BusNs) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the counter of an adapter has 32 bits; drivers expect it to wrap"
    )]
    let us = (at.0 / 1000) as u32;
    us
}

/// An identifier without the bits that no wire has.
pub(crate) const fn on_the_wire(id: u32, is_fd: bool) -> RawId {
    let mask = if id & CAN_EFF_FLAG == 0 { CAN_SFF_MASK } else { CAN_EFF_FLAG | CAN_EFF_MASK };
    RawId(id & (mask | if is_fd { 0 } else { CAN_RTR_FLAG }))
}
