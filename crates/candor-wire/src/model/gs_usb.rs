//! gs_usb: the protocol of candleLight and many other adapters. Many channels, CAN FD, timestamps of the wire.
//!
//! ```text
//!  control (vendor, interface; wValue = channel)                 bulk: one frame per transfer, see `host_frame`
//!  0 out HOST_FORMAT    byte order: little endian all the same
//!  5 in  DEVICE_CONFIG  channels - 1, versions                   10 slots for each channel (GS_MAX_TX_URBS)
//!  4 in  BT_CONST       features, clock, limits                  30 transfers posted by the driver for all channels
//!  11 in BT_CONST_EXT   the same and limits of the data phase
//!  1 out BITTIMING      10 out DATA_BITTIMING
//!  2 out MODE           1 and flags: on the bus; 0: off it
//!  6 in  TIMESTAMP      microseconds of the wire, 32 bits
//!  14 in GET_STATE      state and counters
//! ```
//!
//! The driver knows that a frame was sent from its echo. It knows that a frame was *not* sent only from a failed
//! transfer; so transfers are answered when the disposition of their frame is known, in one write with the echo.
//!
//! The protocol knows no bus-off as the kernel means it: the driver counts it, but there is no loss of carrier and no
//! `restart-ms`. The device recovers by itself and says `RESTARTED`, as candleLight does. Use ucan to see it done right.
//!
//! # Kernel
//! Read in 6.1.192 and in the state of 6.2 and later, where bits 12 and 13 of the features are used (`berr-reporting`,
//! error counters). A failed transfer frees its slot only in kernels with the stable backports of late 2025 (6.1.192
//! has it); before, each aborted frame costs a slot until the interface goes down. Drivers of before these backports
//! also refuse a device of more than 3 channels.
//!
//! # Source
//! `drivers/net/can/usb/gs_usb.c`.

mod control;
mod host_frame;

use std::num::NonZeroU8;

use candor_bus::BusNs;
use candor_core::frame::{CAN_EFF_FLAG, Frame, FrameFormat, RawId};
use candor_core::units::BitRate;

use super::{Aborts, Action, Content, Health, Malformed, Message, Model, Outgoing, Packing, Recovery};
use crate::exchange::Channel;
use crate::usb::{Description, Setup, Stall};

/// Slots of a channel (`GS_MAX_TX_URBS`).
pub const SLOTS: u8 = 10;

/// What a gs_usb device is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many CAN controllers, each an interface of its own.
    pub channels: NonZeroU8,
    /// How many frames the driver may have on the way, from 1 to 10; other values are brought in range. Below 10 it
    /// takes [`plug`]s to make it true.
    pub depth: u8,
    /// Whether the controllers know CAN FD.
    pub fd: bool,
    /// Serial number.
    pub serial: String,
}

/// What the driver set on one channel.
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    nominal: Option<BitRate>,
    data: Option<BitRate>,
    /// Whether messages carry timestamps.
    is_stamped: bool,
    /// Plugs that are still to come before the channel has its depth.
    plugs: u8,
}

/// A gs_usb adapter.
#[derive(Clone, Debug)]
pub struct GsUsb {
    options: Options,
    channels: Vec<Registers>,
}

impl GsUsb {
    /// A device that has just been plugged in.
    #[must_use]
    pub fn new(mut options: Options) -> Self {
        options.depth = options.depth.clamp(1, SLOTS);
        let channels = vec![Registers::default(); usize::from(options.channels.get())];
        Self { options, channels }
    }

    /// How many [`plug`]s a channel wants after each start.
    #[must_use]
    pub const fn plugs(&self) -> u8 {
        SLOTS - self.options.depth
    }

    fn is_plug(&mut self, channel: Channel, frame: &Frame) -> bool {
        let Some(registers) = self.channels.get_mut(usize::from(channel.0)) else { return false };
        let found = registers.plugs > 0 && *frame == plug();
        registers.plugs -= u8::from(found);
        found
    }
}

/// A frame that makes a channel shallower: the driver has 10 slots compiled in, and each plug sent into an interface
/// after it went up takes one of them until it goes down. The device swallows as many as it wants
/// ([`GsUsb::plugs`]); any later one is a frame like all others.
#[must_use]
pub fn plug() -> Frame {
    let mut data = [0; 64];
    data[..8].copy_from_slice(b"candplug");
    let id = RawId(CAN_EFF_FLAG | 0x1FFF_FFFF);
    Frame { format: FrameFormat::Classic, id, len: 8, len8_dlc: 0, flags: 0, data }
}

impl Model for GsUsb {
    fn description(&self) -> Description {
        Description {
            vendor: 0x1D50,
            product: 0x606F,
            manufacturer: "candor".into(),
            name: "gs_usb on a simulated bus".into(),
            serial: self.options.serial.clone(),
        }
    }

    fn channels(&self) -> u8 {
        self.options.channels.get()
    }

    fn slots(&self) -> usize {
        usize::from(SLOTS)
    }

    fn aborts(&self) -> Aborts {
        Aborts::FailTheTransfer
    }

    fn recovery(&self) -> Recovery {
        Recovery::ByItself
    }

    fn packing(&self) -> Packing {
        Packing::Single
    }

    fn control_in(&self, setup: &Setup, health: &[Health], now: BusNs, into: &mut Vec<u8>) -> Result<(), Stall> {
        control::answer(&self.options, setup, health, now, into)
    }

    fn control_out(&mut self, setup: &Setup, data: &[u8]) -> Result<Action, Stall> {
        control::obey(&self.options, &mut self.channels, setup, data)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Outgoing, Malformed> {
        let (channel, slot, frame) = host_frame::decode(bytes)?;
        if self.is_plug(channel, &frame) {
            return Ok(Outgoing::Plug);
        }
        Ok(Outgoing::Frame { channel, slot, frame })
    }

    fn size(&self, message: &Message) -> usize {
        host_frame::size(message, self.is_stamped(message.channel))
    }

    fn encode(&self, message: &Message, into: &mut Vec<u8>) {
        host_frame::encode(message, self.is_stamped(message.channel), into);
    }
}

impl GsUsb {
    fn is_stamped(&self, channel: Channel) -> bool {
        self.channels.get(usize::from(channel.0)).is_some_and(|registers| registers.is_stamped)
    }
}

/// Whether a message carries the long payload.
const fn is_fd(content: &Content) -> bool {
    match content {
        Content::Received(frame) | Content::Sent { frame, .. } => matches!(frame.format, FrameFormat::Fd),
        Content::Error(_) | Content::Failed { .. } => false,
    }
}

#[cfg(test)]
mod tests;
