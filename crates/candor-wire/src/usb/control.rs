//! Standard requests on endpoint 0.

use super::{Description, Kind, Recipient, Setup, Stall};

/// `bRequest` of the standard requests.
const GET_STATUS: u8 = 0;
const CLEAR_FEATURE: u8 = 1;
const SET_ADDRESS: u8 = 5;
const GET_DESCRIPTOR: u8 = 6;
const GET_CONFIGURATION: u8 = 8;
const SET_CONFIGURATION: u8 = 9;
const GET_INTERFACE: u8 = 10;
const SET_INTERFACE: u8 = 11;

/// What a standard request meant for the rest of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A configuration or a setting of the interface was chosen, maybe the same again: the device starts afresh.
    Configured,
    /// Nothing.
    Nothing,
}

/// Endpoint 0 of a device, as far as USB itself defines it.
#[derive(Clone, Debug)]
pub struct ControlEndpoint {
    description: Description,
    configuration: u8,
}

impl ControlEndpoint {
    /// Of a device that has just been plugged in.
    #[must_use]
    pub const fn new(description: Description) -> Self {
        Self { description, configuration: 0 }
    }

    /// Appends the answer to a request, whole: the caller cuts it to what the host has room for.
    ///
    /// # Errors
    /// [`Stall`] for what is not known.
    pub fn answer(&self, setup: &Setup, into: &mut Vec<u8>) -> Result<(), Stall> {
        if setup.kind != Kind::Standard {
            return Err(Stall);
        }
        match (setup.request, setup.recipient) {
            (GET_STATUS, Recipient::Device | Recipient::Interface | Recipient::Endpoint) => into.extend([0, 0]),
            (GET_CONFIGURATION, Recipient::Device) => into.push(self.configuration),
            (GET_INTERFACE, Recipient::Interface) if setup.index == 0 => into.push(0),
            (GET_DESCRIPTOR, Recipient::Device)
                if self.description.descriptor(setup.value_high(), setup.value_low(), into) => {}
            _ => return Err(Stall),
        }
        Ok(())
    }

    /// Does what a request without an answer says.
    ///
    /// # Errors
    /// [`Stall`] for what is not known.
    pub fn obey(&mut self, setup: &Setup) -> Result<Change, Stall> {
        if setup.kind != Kind::Standard {
            return Err(Stall);
        }
        match (setup.request, setup.recipient) {
            (SET_CONFIGURATION, Recipient::Device) if setup.value <= 1 => {
                self.configuration = setup.value_low();
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
