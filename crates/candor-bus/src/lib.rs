//! A CAN bus as arithmetic: what happens on the wire when nodes have frames to send, and when.
//!
//! ```text
//!  submit(node, frame) ─▶ Controller ─▶ arbitration ─▶ transmission ─┬─▶ Event::Delivered
//!                         (FIFO or       (lowest       (bit-exact    └─▶ error episode ─▶ Event::Error
//!                          mailboxes)     wins)         times)           (flags, counters, states)
//! ```
//!
//! There is no clock here and no thread: whoever holds the [`Bus`] asks it when the next thing happens
//! ([`Bus::next_event`]) and lets time pass up to there or less ([`Bus::advance`]). Everything is a function of what was
//! submitted when and of the seed of the [`Faults`]; CI builds this crate for `wasm32-unknown-unknown` to keep it so.
//!
//! # Source
//! ISO 11898-1:2015, clauses 10 (frames, arbitration, error signalling) and 12 (fault confinement), as read in their
//! public predecessor, the Bosch CAN Specification 2.0. No controller of silicon was compared.
//!
//! # What is simpler than copper
//! * All nodes see the same bit at the same time: no propagation delay, no oscillator tolerance, no resynchronisation.
//! * Bits of an error flag last a nominal bit, also where the flag cuts into the fast part of an FD frame.
//! * No overload frames but those of nodes that are late with an intermission: no node is too slow for the next frame.
//! * A node that comes while others end an error frame waits for them.
//! * A disturbed bit is one of a frame or of the error frame after it. In an intermission or in silence it hits nothing.
//! * A wrong bit in the control field does not make a frame of another length or format for its receivers, but for the
//!   silence of a sender that has stopped, which may be read as an FD frame with a wrong reserved bit.
#![forbid(unsafe_code)]

mod arbitration;
mod bus;
mod confinement;
mod controller;
mod episode;
mod event;
mod fault;
mod node;
mod time;

pub use bus::{Bus, NotOnBus, SubmitError};
pub use confinement::{
    CAN_BUS_OFF_THRESHOLD, CAN_ERROR_PASSIVE_THRESHOLD, CAN_ERROR_WARNING_THRESHOLD, Counters, ErrorState,
};
pub use controller::{Order, Tag};
pub use event::{ErrorKind, Event};
pub use fault::{Disturbance, Faults, Target};
pub use node::{NodeConfig, NodeId, NodeSet, Timing};
pub use time::BusNs;
