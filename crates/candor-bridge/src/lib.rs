//! CAN buses on Zenoh and MQTT.
//!
//! ```text
//!  bus ──reader──▶ Line ─┬─▶ Queue ──▶ Zenoh: frames, signals, last values
//!   ▲                    └─▶ Board ──▶ MQTT: signals, for Home Assistant
//!   └──── Admission ◀──────────────── Zenoh: PREFIX/BUS/send/ID
//! ```
//!
//! [`bridge`] has the threads, [`fleet`] is Zenoh, [`broker`] MQTT. The other modules use no network.
#![forbid(unsafe_code)]

pub mod admission;
pub mod board;
pub mod book;
pub mod bridge;
pub mod broker;
pub mod bus;
pub mod counts;
pub mod discovery;
pub mod fleet;
pub mod keys;
pub mod line;
pub mod payload;
pub mod queue;
pub mod settings;
pub mod shared;
pub mod signals;
pub mod tls;
