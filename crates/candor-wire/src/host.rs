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

mod orders;
mod report;
mod running;
mod vhci;

/// Of the thread of the buses: above every gateway and every tester, because hardware waits for nobody.
const PRIORITY: u8 = 93;
/// Of the kernel's threads for the ports. They take the processor from the buses, not the other way round: a bus that is too
/// much for it becomes late, which is counted, and not what drivers hear of it. And they say all that they have to say at
/// once, where each packet would be a wake-up of its own.
const PORT_PRIORITY: u8 = PRIORITY + 1;

pub use orders::Reply;
pub use report::{BusReport, Report};
pub use running::{Conditions, Running, Told};
pub use vhci::{Netdev, Port, Vhci, VhciError, load_driver};
