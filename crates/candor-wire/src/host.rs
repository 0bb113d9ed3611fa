//! Adapters in a running kernel: the one part of this crate that does something.
//!
//! ```text
//!  Vhci::attach ─▶ sockets ─┬─ one end: the kernel, until it is closed
//!                           └─ other end: Running, a thread that plays all buses
//! ```
//!
//! # Order of things
//! Sockets, then the thread, then [`Vhci::attach`]: the kernel asks for descriptors at once. At the end the other way
//! round: interfaces down, [`Running::stop`], wait for the interfaces to be gone ([`Port::is_free`]). Whoever dies
//! without that closes the sockets all the same, and the kernel removes the interfaces by itself.

mod running;
mod vhci;

pub use running::{BusReport, Conditions, Report, Running, Told};
pub use vhci::{Netdev, Port, Vhci, VhciError, load_driver};
