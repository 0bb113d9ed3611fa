//! gs_usb: the protocol of candleLight and many other adapters. Several channels, CAN FD, hardware timestamps.
//!
//! ```text
//!  control (vendor, interface; wValue = channel)                 bulk: one frame per transfer, see `host_frame`
//!  0 out HOST_FORMAT    byte order: ignored, always little endian
//!  5 in  DEVICE_CONFIG  channels - 1, versions                   10 slots for each channel (GS_MAX_TX_URBS)
//!  4 in  BT_CONST       features, clock, limits                  30 transfers posted by the driver for all channels
//!  11 in BT_CONST_EXT   the same and limits of the data phase
//!  1 out BITTIMING      10 out DATA_BITTIMING
//!  2 out MODE           1 and flags: start; 0: stop
//!  6 in  TIMESTAMP      microseconds of bus time, 32 bits
//!  14 in GET_STATE      state and counters
//! ```
//!
//! The echo means to the driver that a frame was sent, and only a failed transfer that it was *not* sent. So transfers are
//! answered when the disposition of their frame is known, in one write with the echo.
//!
//! The protocol does not support bus-off as the kernel defines it: the driver counts it, but there is no loss of carrier
//! and no `restart-ms`. The device recovers by itself and reports `RESTARTED`, as candleLight does. ucan supports it.
//!
//! # Kernel
//! Read at 6.1.192 and at 6.2, from which on bits 12 and 13 of the features are used (`berr-reporting`, error counters).
//! A failed transfer frees its slot only in kernels with the stable backports of late 2025, such as 6.1.192; without
//! them, each aborted frame occupies a slot until the interface goes down, and devices with more than 3 channels are
//! refused.
//!
//! # Source
//! Linux 6.1: [`enum gs_usb_breq`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/gs_usb.c#L53),
//! [`struct gs_host_frame`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/gs_usb.c#L259),
//! [`gs_usb_receive_bulk_callback()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/gs_usb.c#L562),
//! [`gs_can_start_xmit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/gs_usb.c#L799).

mod control;
mod host_frame;

use std::num::NonZeroU8;

use candor_bus::BusNs;
use candor_core::frame::{CAN_EFF_FLAG, Frame, FrameFormat, RawId};
use candor_core::units::BitRate;

use super::{Aborts, Action, Content, Health, Malformed, Message, Model, Outgoing, Packing, Profile, Recovery};
use crate::exchange::Channel;
use crate::usb::{Description, Setup, Stall};

/// Slots of a channel (`GS_MAX_TX_URBS`).
pub const SLOTS: u8 = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub channels: NonZeroU8,
    /// Frames that the driver may have in flight, clamped to 1 to 10. Below 10 it takes [`plug`]s to enforce it.
    pub depth: u8,
    pub fd: bool,
    pub serial: String,
}

/// Registers of one channel, set by the driver.
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    nominal: Option<BitRate>,
    data: Option<BitRate>,
    is_stamped: bool,
    /// Plugs still needed before the channel has its depth.
    plugs: u8,
}

#[derive(Clone, Debug)]
pub struct GsUsb {
    options: Options,
    channels: Vec<Registers>,
}

impl GsUsb {
    /// A device that has just been plugged in.
    pub fn new(mut options: Options) -> Self {
        options.depth = options.depth.clamp(1, SLOTS);
        let channels = vec![Registers::default(); usize::from(options.channels.get())];
        Self { options, channels }
    }

    fn is_plug(&mut self, channel: Channel, frame: &Frame) -> bool {
        let Some(registers) = self.channels.get_mut(usize::from(channel.0)) else { return false };
        let found = registers.plugs > 0 && *frame == plug();
        registers.plugs -= u8::from(found);
        found
    }

    fn is_stamped(&self, channel: Channel) -> bool {
        self.channels.get(usize::from(channel.0)).is_some_and(|registers| registers.is_stamped)
    }
}

/// A frame that makes a channel shallower: the driver has 10 slots compiled in, and each plug sent to an interface after
/// it went up occupies one of them until it goes down. The device absorbs as many as its depth requires; a later
/// one is an ordinary frame.
pub fn plug() -> Frame {
    let mut data = [0; 64];
    data[..8].copy_from_slice(b"candplug");
    let id = RawId(CAN_EFF_FLAG | 0x1FFF_FFFF);
    Frame { format: FrameFormat::Classic, id, len: 8, len8_dlc: 0, flags: 0, data }
}

impl Model for GsUsb {
    fn boxed(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn description(&self) -> Description {
        Description {
            vendor: 0x1D50,
            product: 0x606F,
            manufacturer: "candor".into(),
            name: "gs_usb on a simulated bus".into(),
            serial: self.options.serial.clone(),
        }
    }

    fn profile(&self) -> Profile {
        Profile {
            channels: self.options.channels.get(),
            slots: usize::from(SLOTS),
            aborts: Aborts::FailTransfer,
            recovery: Recovery::ByDevice,
            packing: Packing::Single,
        }
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

/// Returns true if a message carries the 64-byte payload.
const fn is_fd(content: &Content) -> bool {
    match content {
        Content::Received(frame) | Content::Sent { frame, .. } => matches!(frame.format, FrameFormat::Fd),
        Content::Error(_) | Content::Failed { .. } => false,
    }
}

#[cfg(test)]
mod tests;
