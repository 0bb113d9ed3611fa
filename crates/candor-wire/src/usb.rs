//! As much of USB 2.0 as an adapter needs: descriptors and standard requests on endpoint 0.
//!
//! Every adapter here looks the same from afar: high speed, one configuration, one interface of the vendor's own class,
//! one bulk endpoint each way. Vendor and product say which driver takes it.
//!
//! # Source
//! Universal Serial Bus Specification 2.0, chapter 9; `include/uapi/linux/usb/ch9.h`.

mod control;
mod descriptor;
mod setup;

pub use control::{Change, ControlEndpoint};
pub use descriptor::{BULK_IN, BULK_OUT, BULK_PACKET_BYTES, Description};
pub use setup::{Kind, Recipient, Setup};

/// A request that the device does not know or does not grant. The host sees a stalled endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The device stalls this request")]
pub struct Stall;
