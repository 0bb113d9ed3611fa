//! rtnetlink for CAN: interfaces, the jobs of the kernel's CAN gateway, and a small synchronous client.
//!
//! ```text
//!  values (cangw::CangwJob, link::Link) ──codec──▶ bytes ──client──▶ candor_io::netlink::RouteSocket ──▶ kernel
//! ```
//!
//! [`codec`] writes and reads messages and checks every length; [`client`] sends a request, waits for the answer and turns
//! errnos into errors; [`link`] and [`cangw`] encode and decode the attributes. Integers are in host byte order, as in
//! rtnetlink.
//!
//! Not supported: notifications (can-gw sends none), and links other than vcan, vxcan and CAN controllers.
//!
//! # Examples
//! ```no_run
//! use candor_netlink::client::Client;
//! use candor_netlink::{cangw, link};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = Client::open()?;
//! link::create_vcan(&mut client, "vcan0")?;
//! let vcan0 = link::by_name(&mut client, "vcan0")?.expect("it was just created");
//! link::set_up(&mut client, vcan0.index)?;
//! for job in cangw::dump(&mut client)? {
//!     println!("{} -> {}: {} frames forwarded", job.source, job.destination, job.counters.handled);
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cangw;
pub mod client;
pub mod codec;
pub mod link;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
