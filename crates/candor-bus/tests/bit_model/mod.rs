//! A CAN bus bit by bit: the slow and obvious oracle for the bus in arithmetic.
//!
//! Every node is a state machine of its own. Once per bit all of them say what they drive, the wire is dominant where
//! anybody drives dominant, and all of them take in what they see. Nothing here knows how long a frame is: a frame is
//! over when its bits are. All that the model shares with the crate under test is [`candor_core::frame::Frame`].
//!
//! ```text
//!  submit ─▶ Queue ─▶ encode ─▶ [WireBit] ─drive─▶ wire (AND, stuck, flip) ─see─▶ Receiver ─▶ accepted frame
//!                                    ▲                                      │
//!                                    └──────────── Node (phases) ◀──────────┘─▶ error ─▶ Counters, flags
//! ```
//!
//! # Source
//! Bosch CAN Specification 2.0 and ISO 11898-1:2015. Where they leave freedom, the choice stands where it is made,
//! marked "Choice". All bits have the same length, so time is a number of bits, and every node understands CAN FD.

#![allow(dead_code, reason = "each test crate that includes the model uses its own part of it")]
#![allow(unused_imports, reason = "as above")]
#![allow(unreachable_pub, reason = "a module of test crates; nothing of it is reachable from outside")]

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
