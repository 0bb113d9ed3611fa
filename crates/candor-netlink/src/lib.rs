//! Bytes and values of rtnetlink for CAN, and a small synchronous client.
//!
//! ```text
//!  values (cangw::CangwJob, link::Link) ──codec──▶ bytes ──client──▶ candor_io::netlink::RouteSocket ──▶ kernel
//! ```
//!
//! [`codec`] writes and reads messages and never trusts a length it is given; [`client`] asks, waits and turns errnos
//! into words; [`link`] and [`cangw`] know what the attributes mean. Everything is in host byte order, as
//! rtnetlink is.
//!
//! Not here yet: notifications (can-gw sends none), links other than vcan, vxcan and CAN controllers.
#![forbid(unsafe_code)]

pub mod cangw;
pub mod client;
pub mod codec;
pub mod link;
