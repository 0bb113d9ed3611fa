//! What a device says of itself.
//!
//! ```text
//!  device (18 bytes) ── configuration (9) ── interface (9) ─┬─ endpoint 0x81, bulk in (7)
//!                                                           └─ endpoint 0x02, bulk out (7)
//! ```

/// Number of the endpoint whose data go to the host. Older gs_usb takes no other.
pub const BULK_IN: u32 = 1;
/// Number of the endpoint whose data come from the host. Older gs_usb takes no other.
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
/// The vendor's own class.
const VENDOR_SPECIFIC: u8 = 0xFF;
/// Code units that fit into a string descriptor, whose length is a byte.
const STRING_UNITS: usize = (u8::MAX as usize - 2) / 2;

/// Who a device claims to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// `idVendor`.
    pub vendor: u16,
    /// `idProduct`.
    pub product: u16,
    /// Name of the maker.
    pub manufacturer: String,
    /// Name of the device.
    pub name: String,
    /// Serial number, for udev to tell devices apart.
    pub serial: String,
}

impl Description {
    /// Appends a descriptor. `false`: there is none of this type and index.
    pub(super) fn descriptor(&self, kind: u8, index: u8, into: &mut Vec<u8>) -> bool {
        match (kind, index) {
            (DEVICE, 0) => into.extend_from_slice(&self.device()),
            (CONFIGURATION, 0) => into.extend_from_slice(&configuration()),
            (STRING, 0) => into.extend_from_slice(&[4, STRING, LANGUAGE.to_le_bytes()[0], LANGUAGE.to_le_bytes()[1]]),
            (STRING, 1) => string(&self.manufacturer, into),
            (STRING, 2) => string(&self.name, into),
            (STRING, 3) => string(&self.serial, into),
            _ => return false,
        }
        true
    }

    fn device(&self) -> [u8; 18] {
        let [vendor_low, vendor_high] = self.vendor.to_le_bytes();
        let [product_low, product_high] = self.product.to_le_bytes();
        [
            18,
            DEVICE, // bLength, bDescriptorType
            0x00,
            0x02, // bcdUSB 2.00: from 2.01 on the kernel asks for a BOS descriptor
            0,
            0,
            0,  // bDeviceClass, bDeviceSubClass, bDeviceProtocol: see interface
            64, // bMaxPacketSize0 at high speed
            vendor_low,
            vendor_high,
            product_low,
            product_high, // idVendor, idProduct
            0x00,
            0x01, // bcdDevice
            1,
            2,
            3, // iManufacturer, iProduct, iSerialNumber
            1, // bNumConfigurations
        ]
    }
}

fn configuration() -> [u8; CONFIGURATION_BYTES as usize] {
    let [length_low, length_high] = CONFIGURATION_BYTES.to_le_bytes();
    let [packet_low, packet_high] = BULK_PACKET_BYTES.to_le_bytes();
    [
        9,
        CONFIGURATION,
        length_low,
        length_high, // bLength, bDescriptorType, wTotalLength
        1,
        1,
        0, // bNumInterfaces, bConfigurationValue, iConfiguration
        0x80,
        50, // bmAttributes: powered by the bus; bMaxPower: 100 mA
        9,
        INTERFACE,
        0,
        0,
        2, // bLength, bDescriptorType, bInterfaceNumber, bAlternateSetting, bNumEndpoints
        VENDOR_SPECIFIC,
        VENDOR_SPECIFIC,
        VENDOR_SPECIFIC,
        0, // class, subclass, protocol, iInterface
        7,
        ENDPOINT,
        0x81,
        2,
        packet_low,
        packet_high,
        0, // bEndpointAddress in, bmAttributes bulk, wMaxPacketSize
        7,
        ENDPOINT,
        0x02,
        2,
        packet_low,
        packet_high,
        0, // bEndpointAddress out
    ]
}

fn string(text: &str, into: &mut Vec<u8>) {
    let start = into.len();
    into.extend_from_slice(&[2, STRING]);
    into.extend(text.encode_utf16().take(STRING_UNITS).flat_map(u16::to_le_bytes));
    into[start] = u8::try_from(into.len() - start).unwrap_or(2);
}
