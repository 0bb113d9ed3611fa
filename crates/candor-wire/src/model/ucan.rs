//! ucan: one channel of a depth that the device chooses, with bus-off as the kernel means it. No CAN FD, no timestamps.
//!
//! ```text
//!  control (vendor, interface)                          bulk: see `message`
//!  5 in  GET    value 1: protocol version 3
//!               value 0: clock, depth, limits, modes    as many slots as the device says (tx_fifo)
//!  0 in         to the device: name of the firmware      8 transfers of 512 bytes posted by the driver
//!  4 out RESET  7 out SET_BITTIMING
//!  0 out START  1 out STOP  8 out RESTART
//! ```
//!
//! The driver wants a word for each frame, sent or not. On bus-off it takes the carrier away, and `restart-ms` or
//! `ip link set type can restart` bring the device back; whatever was on the way is completed as not sent at once,
//! because the driver forgets the frames but not their slots.
//!
//! # Kernel
//! From 4.19 on; read at 6.1.192. The driver asks for every bus error and itself keeps back what `berr-reporting` does
//! not want. Its interfaces have no `IFF_ECHO`: the kernel shows own frames to other sockets when they are *sent to the
//! driver*, also those that never reach the wire, and transmitted bytes are counted as 0. Only the count of transmitted
//! packets tells completion; use gs_usb where the time of an own frame matters.
//!
//! # Source
//! `drivers/net/can/usb/ucan.c`.

mod control;
mod message;

use std::num::NonZeroU8;

use candor_bus::BusNs;
use candor_core::units::BitRate;

use super::{Aborts, Action, Health, Malformed, Message, Model, Outgoing, Packing, Recovery};
use crate::usb::{Description, Setup, Stall};

/// A ucan adapter.
#[derive(Clone, Debug)]
pub struct Ucan {
    depth: NonZeroU8,
    serial: String,
    nominal: Option<BitRate>,
}

impl Ucan {
    /// A device that has just been plugged in, with room for `depth` frames on the way.
    #[must_use]
    pub const fn new(depth: NonZeroU8, serial: String) -> Self {
        Self { depth, serial, nominal: None }
    }
}

impl Model for Ucan {
    fn description(&self) -> Description {
        Description {
            vendor: 0x2294,
            product: 0x425B,
            manufacturer: "candor".into(),
            name: "ucan on a simulated bus".into(),
            serial: self.serial.clone(),
        }
    }

    fn channels(&self) -> u8 {
        1
    }

    fn slots(&self) -> usize {
        usize::from(self.depth.get())
    }

    fn aborts(&self) -> Aborts {
        Aborts::HaveAMessage
    }

    fn recovery(&self) -> Recovery {
        Recovery::ByDriver
    }

    fn packing(&self) -> Packing {
        Packing::Aligned(4)
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
