//! The eight bytes that begin a control transfer.
//!
//! ```text
//!  byte 0                                   1         2      4       6        8
//!  │ bmRequestType: in │ kind │ recipient │ bRequest │ wValue │ wIndex │ wLength │   words little endian
//!  │                 7   6..5     4..0    │
//! ```

/// Who defined a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A class of devices, or nobody.
    Other,
    /// USB itself.
    Standard,
    /// The maker of the device.
    Vendor,
}

/// Whom a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// The device.
    Device,
    /// An endpoint.
    Endpoint,
    /// An interface.
    Interface,
    /// Anything else.
    Other,
}

/// A request on endpoint 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Whether data go to the host.
    pub is_in: bool,
    /// Who defined it.
    pub kind: Kind,
    /// Whom it is for.
    pub recipient: Recipient,
    /// `bRequest`.
    pub request: u8,
    /// `wValue`.
    pub value: u16,
    /// `wIndex`.
    pub index: u16,
    /// `wLength`: bytes of data, or room for them.
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

impl Setup {
    /// The lower byte of `wValue`.
    #[must_use]
    pub const fn value_low(&self) -> u8 {
        self.value.to_le_bytes()[0]
    }

    /// The upper byte of `wValue`.
    #[must_use]
    pub const fn value_high(&self) -> u8 {
        self.value.to_le_bytes()[1]
    }
}
