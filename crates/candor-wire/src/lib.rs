//! USB-CAN adapters that exist only as bytes: what a stock kernel asks of one over USB/IP, and what one answers.
//!
//! There is no socket here, no thread, no clock and no file: bytes go in, bytes come out.
#![forbid(unsafe_code)]

mod timing;
pub mod usb;
pub mod usbip;

pub use timing::{BitTiming, TimingError, TimingLimits};
