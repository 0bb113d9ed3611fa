//! The subset of USB 2.0 that an adapter needs: descriptors and standard requests on endpoint 0.
//!
//! All adapters have the same shape: high speed, one configuration, one vendor-specific interface, one bulk endpoint each
//! way. Vendor and product select the driver.
//!
//! # Source
//! [Universal Serial Bus Specification](https://www.usb.org/document-library/usb-20-specification) 2.0, chapter 9;
//! [`struct usb_device_descriptor`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/usb/ch9.h#L289) in Linux 6.1.

mod control;
mod descriptor;

pub use control::{Change, ControlEndpoint, Kind, Recipient, Setup};
pub use descriptor::{BULK_IN, BULK_OUT, BULK_PACKET_BYTES, Description};

/// An unknown or refused request. The host sees a stalled endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The device stalls this request")]
pub struct Stall;
