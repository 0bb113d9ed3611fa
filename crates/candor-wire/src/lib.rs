//! USB-CAN adapters that exist only as bytes: what a stock kernel asks of one over USB/IP, and what one answers.
//!
//! ```text
//!  kernel: gs_usb or ucan                                                    the bus beside the device
//!     │  URBs                                                                      (candor-bus)
//!  vhci-hcd ─stream─▶ usbip::Reader ─▶ Device ─┬─ endpoint 0 ─▶ usb, Model ─▶ Request ─▶ Start, Stop, Restart
//!     ▲               (any split)              ├─ bulk out ───▶ Model::decode ─▶ Request ─▶ Send, Cancel
//!     └────stream──── Device::output ◀─────────┴─ bulk in ◀─── Model::encode ◀─ Notice ◀─ Sent, Received, State, …
//! ```
//!
//! Outside of [`host`] there is no socket, no thread, no clock and no file. Whoever holds a [`Device`] gives it the bytes that came
//! ([`Device::receive`]), carries its [`Request`]s to a bus, tells it what the bus did ([`Device::notice`]) and writes
//! what it has to say ([`Device::output`]), once per wake-up if it likes. [`Harness`] is buses with their devices, and
//! [`host`] plays them to the kernel of this machine.
//!
//! # A third adapter
//! Everything that a protocol has of its own is behind [`Model`]: its descriptors, its control requests, the bytes of a
//! frame. [`Device`] does the rest for all of them: transfers, slots, queues, bus-off. Write a file beside
//! `model/ucan.rs`, add a variant to [`model::AnyModel`], and let the driver of `tests/` play its part.
//!
//! # What a peer can do
//! Bytes that no kernel sends end the device with a [`DeviceError`], never the process. What a peer can make a device
//! remember is bounded: one packet of [`usbip::MAX_OUT_BYTES`], [`device::MAX_POSTED`] posted transfers, the slots of
//! its model, and a queue of chosen length for each channel.
//!
//! # Missing
//! Isochronous and interrupt transfers, class requests, loopback mode, triple sampling, bus termination, identification
//! by light, CAN XL.
#![forbid(unsafe_code)]

pub mod device;
mod exchange;
pub mod fault;
mod harness;
pub mod host;
pub mod invariants;
pub mod model;
mod segment;
mod timing;
pub mod usb;
pub mod usbip;

pub use device::{Device, DeviceError, Statistics};
pub use exchange::{Channel, Notice, Part, Request};
pub use harness::{DeviceId, Harness, Place};
pub use model::Model;
pub use segment::Settings;
pub use timing::{BitTiming, TimingError, TimingLimits};
