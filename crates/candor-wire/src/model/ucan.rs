//! ucan: one channel, whose depth the device chooses, with bus-off as the kernel defines it. No CAN FD, no timestamps.
//!
//! ```text
//!  control (vendor, interface)                          bulk: see `message`
//!  5 in  GET    value 1: protocol version 3
//!               value 0: clock, depth, limits, modes    tx_fifo slots, reported by the device
//!  0 in         to the device: name of the firmware      8 transfers of 512 bytes posted by the driver
//!  4 out RESET  7 out SET_BITTIMING
//!  0 out START  1 out STOP  8 out RESTART
//! ```
//!
//! The driver expects a completion for each frame, sent or not. On bus-off it drops the carrier, and `restart-ms` or
//! `ip link set type can restart` restarts the device. Frames in flight are completed as not sent at once, because the
//! driver frees the frames but not their slots.
//!
//! # Kernel
//! From 4.19 on; read at 6.1.192. The driver requests every bus error and filters them by `berr-reporting` itself. Its
//! interfaces have no `IFF_ECHO`: the kernel loops a frame back when it is *handed to the driver*, even if it is never
//! transmitted, and transmitted bytes are counted as 0. Only the count of transmitted packets shows completion; use
//! gs_usb where the time of an own frame matters.
//!
//! # Source
//! Linux 6.1: [`struct ucan_message_in`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/ucan.c#L233),
//! [`struct ucan_message_out`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/ucan.c#L218),
//! [`ucan_read_bulk_callback()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/ucan.c#L687),
//! [`ucan_handle_error_frame()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/usb/ucan.c#L483).

mod control;
mod message;

use std::num::NonZeroU8;

use candor_bus::BusNs;
use candor_core::units::BitRate;

use super::{Aborts, Action, Health, Malformed, Message, Model, Outgoing, Packing, Profile, Recovery};
use crate::usb::{Description, Setup, Stall};

#[derive(Clone, Debug)]
pub struct Ucan {
    depth: NonZeroU8,
    serial: String,
    nominal: Option<BitRate>,
}

impl Ucan {
    /// A device that has just been plugged in, with room for `depth` frames in flight.
    pub const fn new(depth: NonZeroU8, serial: String) -> Self {
        Self { depth, serial, nominal: None }
    }
}

impl Model for Ucan {
    fn boxed(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn description(&self) -> Description {
        Description {
            vendor: 0x2294,
            product: 0x425B,
            manufacturer: "candor".into(),
            name: "ucan on a simulated bus".into(),
            serial: self.serial.clone(),
        }
    }

    fn profile(&self) -> Profile {
        Profile {
            channels: 1,
            slots: usize::from(self.depth.get()),
            aborts: Aborts::SendMessage,
            recovery: Recovery::ByDriver,
            packing: Packing::Aligned(4),
        }
    }

    fn control_in(&self, setup: &Setup, _: &[Health], _: BusNs, into: &mut Vec<u8>) -> Result<(), Stall> {
        control::answer(self.depth, setup, into)
    }

    fn control_out(&mut self, setup: &Setup, data: &[u8]) -> Result<Action, Stall> {
        control::obey(&mut self.nominal, setup, data)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Outgoing, Malformed> {
        message::decode(bytes, self.depth)
    }

    fn size(&self, message: &Message) -> usize {
        message::size(message)
    }

    fn encode(&self, message: &Message, into: &mut Vec<u8>) {
        message::encode(message, into);
    }
}

#[cfg(test)]
mod tests;
