//! Kvaser PCIcan cards: a PCI bridge (S5920), a controller, and logic that this program does not need.

use core::fmt;

use alloc::vec::Vec;

use candor_bare::Card;
use candor_sja1000::Registers;

use super::cpu::Ports;

/// Vendor and device of the card.
const IDENTITY: u32 = 0x8406_10E8;

/// Registers of the bridge.
mod bridge {
    /// INTCSR
    pub(super) const INTERRUPTS: u16 = 0x38;
    /// Passes the interrupts of the controller on.
    pub(super) const ADD_ON: u32 = 0x2000;
}

/// Where a card may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    bus: u8,
    devfn: u8,
}

/// The registers of a card's controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel(Ports);

impl From<Card> for Place {
    fn from(Card { bus, devfn, .. }: Card) -> Self {
        Self { bus, devfn }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}:{:02x}.{}", self.bus, self.devfn >> 3, self.devfn & 7)
    }
}

impl Place {
    /// All cards of the first bus.
    pub(super) fn all() -> Vec<Self> {
        let places = (0..=u8::MAX).map(|devfn| Self { bus: 0, devfn });
        places.filter(|place| place.configuration(0) == IDENTITY).collect()
    }

    /// The controller of a card, whose interrupts then reach the processor. `None` if there is no card.
    pub(super) fn channel(self) -> Option<Channel> {
        if self.configuration(0) != IDENTITY {
            return None;
        }
        self.set_configuration(0x04, self.configuration(0x04) | 1);
        let bridge = self.ports(0)?;
        bridge.write_32(bridge::INTERRUPTS, bridge.read_32(bridge::INTERRUPTS) | bridge::ADD_ON);
        self.ports(1).map(Channel)
    }

    /// Keeps the interrupts of a card to itself.
    pub(super) fn interrupts_off(self) {
        if let Some(bridge) = self.ports(0) {
            bridge.write_32(bridge::INTERRUPTS, bridge.read_32(bridge::INTERRUPTS) & !bridge::ADD_ON);
        }
    }

    /// The interrupt line that the firmware has chosen; the same number on the shared controller.
    pub(super) fn interrupt_line(self) -> u8 {
        self.configuration(0x3C).to_le_bytes()[0]
    }

    /// An area of I/O ports.
    fn ports(self, number: u8) -> Option<Ports> {
        let base = self.configuration(0x10 + 4 * number);
        let base = u16::try_from(base & !3).ok().filter(|_| base & 1 != 0)?;
        // SAFETY: the card of the caller, which has no access to memory.
        Some(unsafe { Ports::new(base) })
    }

    fn configuration(self, register: u8) -> u32 {
        self.select(register).read_32(4)
    }

    fn set_configuration(self, register: u8, value: u32) {
        self.select(register).write_32(4, value);
    }

    fn select(self, register: u8) -> Ports {
        // SAFETY: the configuration mechanism of PCI; what is written there moves no device, as only cards are written to.
        let ports = unsafe { Ports::new(0xCF8) };
        let address = u32::from_be_bytes([0x80, self.bus, self.devfn, register & 0xFC]);
        ports.write_32(0, address);
        ports
    }
}

impl Registers for Channel {
    #[inline]
    fn read(&mut self, register: u8) -> u8 {
        self.0.read(register.into())
    }

    #[inline]
    fn write(&mut self, register: u8, value: u8) {
        self.0.write(register.into(), value);
    }
}
