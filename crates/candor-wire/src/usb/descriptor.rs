//! Descriptors of a device.
//!
//! ```text
//!  device (18 bytes) ── configuration (9) ── interface (9) ─┬─ endpoint 0x81, bulk in (7)
//!                                                           └─ endpoint 0x02, bulk out (7)
//! ```

/// Endpoint to the host. Older versions of gs_usb accept no other.
pub const BULK_IN: u32 = 1;
/// Endpoint from the host. Older versions of gs_usb accept no other.
pub const BULK_OUT: u32 = 2;
/// `wMaxPacketSize` of both; USB 2.0 allows no other at high speed.
pub const BULK_PACKET_BYTES: u16 = 512;

/// Length of the configuration descriptor and of all that belong to it.
const CONFIGURATION_BYTES: u16 = 9 + 9 + 7 + 7;
/// `bDescriptorType`.
const DEVICE: u8 = 1;
const CONFIGURATION: u8 = 2;
const STRING: u8 = 3;
const INTERFACE: u8 = 4;
const ENDPOINT: u8 = 5;
/// US English, the one language of the strings.
const LANGUAGE: u16 = 0x0409;
const VENDOR_SPECIFIC: u8 = 0xFF;
/// Code units that fit into a string descriptor, whose length is a byte.
const STRING_UNITS: usize = (u8::MAX as usize - 2) / 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub vendor: u16,
    pub product: u16,
    pub manufacturer: String,
    pub name: String,
    /// Serial number, by which udev distinguishes devices.
    pub serial: String,
}

impl Description {
    /// Appends a descriptor. `false`: there is none of this type and index.
    pub(super) fn descriptor(&self, kind: u8, index: u8, into: &mut Vec<u8>) -> bool {
        match (kind, index) {
            (DEVICE, 0) => self.device(into),
            (CONFIGURATION, 0) => configuration(into),
            (STRING, 0) => {
                into.extend([4, STRING]);
                into.extend(LANGUAGE.to_le_bytes());
            }
            (STRING, 1) => string(&self.manufacturer, into),
            (STRING, 2) => string(&self.name, into),
            (STRING, 3) => string(&self.serial, into),
            _ => return false,
        }
        true
    }

    fn device(&self, into: &mut Vec<u8>) {
        into.extend([18, DEVICE, 0x00, 0x02]); // bcdUSB 2.00: from 2.01 on the kernel asks for a BOS descriptor
        into.extend([0, 0, 0, 64]); // class, subclass, protocol: of the interface; bMaxPacketSize0 at high speed
        into.extend(self.vendor.to_le_bytes());
        into.extend(self.product.to_le_bytes());
        into.extend([0x00, 0x01]); // bcdDevice
        into.extend([1, 2, 3]); // iManufacturer, iProduct, iSerialNumber
        into.push(1); // bNumConfigurations
    }
}

fn configuration(into: &mut Vec<u8>) {
    into.extend([9, CONFIGURATION]);
    into.extend(CONFIGURATION_BYTES.to_le_bytes());
    into.extend([1, 1, 0]); // bNumInterfaces, bConfigurationValue, iConfiguration
    into.extend([0x80, 50]); // bmAttributes: powered by the bus; bMaxPower: 100 mA
    into.extend([9, INTERFACE, 0, 0, 2]); // bInterfaceNumber, bAlternateSetting, bNumEndpoints
    into.extend([VENDOR_SPECIFIC, VENDOR_SPECIFIC, VENDOR_SPECIFIC, 0]); // class, subclass, protocol, iInterface
    for address in [0x81, 0x02] {
        into.extend([7, ENDPOINT, address, 2]); // bmAttributes: bulk
        into.extend(BULK_PACKET_BYTES.to_le_bytes());
        into.push(0);
    }
}

fn string(text: &str, into: &mut Vec<u8>) {
    let start = into.len();
    into.extend([2, STRING]);
    into.extend(text.encode_utf16().take(STRING_UNITS).flat_map(u16::to_le_bytes));
    into[start] = u8::try_from(into.len() - start).unwrap_or(2);
}
