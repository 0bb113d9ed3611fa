//! Emulated USB-CAN adapters: they answer the requests that an unmodified kernel sends over USB/IP.
//!
//! ```text
//!  kernel: gs_usb or ucan                                                    the simulated bus
//!     │  URBs                                                                      (candor-bus)
//!  vhci-hcd ─stream─▶ usbip::Reader ─▶ Device ─┬─ endpoint 0 ─▶ usb, Model ─▶ Request ─▶ Start, Stop, Restart
//!     ▲               (any split)              ├─ bulk out ───▶ Model::decode ─▶ Request ─▶ Send, Cancel
//!     └────stream──── Device::output ◀─────────┴─ bulk in ◀─── Model::encode ◀─ Notice ◀─ Sent, Received, State, …
//! ```
//!
//! There is no socket, thread, clock or file outside of [`host`]. The owner of a [`Device`] passes it received bytes
//! ([`Device::receive`]), its [`Request`]s to a bus, events of the bus to it ([`Device::notice`]), and writes
//! [`Device::output`], once per wake-up. [`Harness`] combines buses with their devices, and [`host`] connects them to the
//! kernel.
//!
//! # Adding an adapter
//! [`Model`] is the part that depends on the protocol: descriptors, control requests, and the encoding of frames.
//! [`Device`] handles transfers, slots, queues and bus-off for all of them. Add a file next to `model/ucan.rs`, and a
//! driver to `tests/driver`.
//!
//! # Untrusted peers
//! Bytes that a kernel would not send end the device with a [`DeviceError`], never the process. The memory that a peer can
//! occupy is bounded: one packet of [`usbip::MAX_OUT_BYTES`], [`device::MAX_POSTED`] posted transfers, the slots of the
//! model, and a queue of fixed length for each channel.
//!
//! # Not implemented
//! Isochronous and interrupt transfers, class requests, loopback mode, triple sampling, bus termination, identification
//! by LED, CAN XL.
#![forbid(unsafe_code)]

pub mod device;
mod devices;
mod exchange;
pub mod fault;
mod harness;
pub mod host;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
pub mod model;
mod segment;
mod timing;
pub mod usb;
pub mod usbip;

pub use device::{Device, DeviceError, Statistics};
pub use devices::{BusNode, Devices};
pub use exchange::{Channel, Notice, Part, Request};
pub use fault::DeviceId;
pub use harness::Harness;
pub use model::Model;
pub use segment::{Script, Settings};
pub use timing::{BitTiming, TimingError, TimingLimits};
