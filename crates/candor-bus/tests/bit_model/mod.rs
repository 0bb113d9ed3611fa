//! A CAN bus bit by bit: the slow and simple model that the tests compare the crate with.
//!
//! Each node is a state machine. For each bit, all nodes drive a level, the wire is dominant if any node drives
//! dominant, and all nodes process the level of the wire. The model does not compute the length of frames: a frame ends
//! with its last bit. It shares only [`candor_core::frame::Frame`] with the crate.
//!
//! ```text
//!  submit ─▶ Queue ─▶ encode ─▶ [WireBit] ─drive─▶ wire (AND, stuck, flip) ─see─▶ Receiver ─▶ accepted frame
//!                                    ▲                                      │
//!                                    └──────────── Node (phases) ◀──────────┘─▶ error ─▶ Counters, flags
//! ```
//!
//! # Source
//! Bosch CAN Specification 2.0 and ISO 11898-1:2015, clauses 10 and 12. Where they allow several behaviours, a comment
//! begins with "Choice". All bits have the same length, so time is a number of bits, and all nodes support CAN FD.

#![allow(dead_code, reason = "each test crate uses a part of the model")]
#![allow(unused_imports, reason = "as above")]
#![allow(unreachable_pub, reason = "a module of test crates")]

mod bus;
mod counters;
mod crc;
mod encode;
mod level;
mod log;
mod node;
mod queue;
mod receive;
mod step;

pub use bus::{Bus, Disturbance};
pub use counters::{Counters, NodeState};
pub use crc::{CRC15, CRC17, CRC21, Crc};
pub use encode::{Part, WireBit, append_fd_check, arbitration_key, classic_crc_input, encode};
pub use level::Level;
pub use log::{Episode, ErrorKind, FlagReason, Log, Role, What, episodes};
pub use node::{Config, OnBusOff, RecCredit};
pub use queue::Order;
pub use receive::{Heard, Receiver};
