//! Setup packets, and standard requests on endpoint 0.
//!
//! ```text
//!  byte 0                                   1         2      4       6        8
//!  │ bmRequestType: in │ kind │ recipient │ bRequest │ wValue │ wIndex │ wLength │   words little endian
//!  │                 7   6..5     4..0    │
//! ```

use super::{Description, Stall};

/// `bRequest` of the standard requests.
const GET_STATUS: u8 = 0;
const CLEAR_FEATURE: u8 = 1;
const SET_ADDRESS: u8 = 5;
const GET_DESCRIPTOR: u8 = 6;
const GET_CONFIGURATION: u8 = 8;
const SET_CONFIGURATION: u8 = 9;
const GET_INTERFACE: u8 = 10;
const SET_INTERFACE: u8 = 11;

/// Origin of a request: USB itself, the vendor, or anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Other,
    Standard,
    Vendor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    Device,
    Endpoint,
    Interface,
    Other,
}

/// A request on endpoint 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// True if data go to the host.
    pub is_in: bool,
    pub kind: Kind,
    pub recipient: Recipient,
    pub request: u8,
    pub value: u16,
    pub index: u16,
    /// Bytes of data, or room for them.
    pub length: u16,
}

impl From<[u8; 8]> for Setup {
    fn from(bytes: [u8; 8]) -> Self {
        let [request_type, request, value_low, value_high, index_low, index_high, length_low, length_high] = bytes;
        Self {
            is_in: request_type & 0x80 != 0,
            kind: match request_type >> 5 & 3 {
                0 => Kind::Standard,
                2 => Kind::Vendor,
                _ => Kind::Other,
            },
            recipient: match request_type & 0x1F {
                0 => Recipient::Device,
                1 => Recipient::Interface,
                2 => Recipient::Endpoint,
                _ => Recipient::Other,
            },
            request,
            value: u16::from_le_bytes([value_low, value_high]),
            index: u16::from_le_bytes([index_low, index_high]),
            length: u16::from_le_bytes([length_low, length_high]),
        }
    }
}

/// Effect of a standard request on the rest of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A configuration or a setting of the interface was selected, possibly the current one: the device is reset.
    Configured,
    Nothing,
}

/// Endpoint 0 of a device, as far as USB itself defines it.
#[derive(Clone, Debug)]
pub struct ControlEndpoint {
    description: Description,
    configuration: u8,
}

impl ControlEndpoint {
    /// The endpoint of a device that has just been plugged in.
    pub const fn new(description: Description) -> Self {
        Self { description, configuration: 0 }
    }

    /// Appends the complete answer to a request; the caller truncates it to the room of the host.
    pub fn answer(&self, setup: &Setup, into: &mut Vec<u8>) -> Result<(), Stall> {
        if setup.kind != Kind::Standard {
            return Err(Stall);
        }
        let [index, kind] = setup.value.to_le_bytes();
        match (setup.request, setup.recipient) {
            (GET_STATUS, Recipient::Device | Recipient::Interface | Recipient::Endpoint) => into.extend([0, 0]),
            (GET_CONFIGURATION, Recipient::Device) => into.push(self.configuration),
            (GET_INTERFACE, Recipient::Interface) if setup.index == 0 => into.push(0),
            (GET_DESCRIPTOR, Recipient::Device) if self.description.descriptor(kind, index, into) => {}
            _ => return Err(Stall),
        }
        Ok(())
    }

    /// Carries out a request without an answer.
    pub fn obey(&mut self, setup: &Setup) -> Result<Change, Stall> {
        if setup.kind != Kind::Standard {
            return Err(Stall);
        }
        match (setup.request, setup.recipient) {
            (SET_CONFIGURATION, Recipient::Device) if setup.value <= 1 => {
                self.configuration = setup.value.to_le_bytes()[0];
                Ok(Change::Configured)
            }
            (SET_INTERFACE, Recipient::Interface) if setup.index == 0 && setup.value == 0 => Ok(Change::Configured),
            // vhci-hcd answers this itself, and nothing here depends on the address.
            (SET_ADDRESS, Recipient::Device) => Ok(Change::Nothing),
            // An endpoint that never halts has nothing to clear.
            (CLEAR_FEATURE, Recipient::Device | Recipient::Endpoint) => Ok(Change::Nothing),
            _ => Err(Stall),
        }
    }
}
