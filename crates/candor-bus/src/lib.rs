//! A bit-exact model of a CAN bus: arbitration, acknowledgement, error confinement and faults, with their times.
//!
//! ```text
//!  submit(node, frame) ─▶ Controller ─▶ arbitration ─▶ transmission ─┬─▶ Event::Delivered
//!                         (FIFO or       (lowest       (bit-exact    └─▶ error episode ─▶ Event::Error
//!                          mailboxes)     wins)         times)           (flags, counters, states)
//! ```
//!
//! It has no clock and no threads: the owner of the [`Bus`] queries the time of the next event ([`Bus::next_event`]) and
//! advances the time up to it or less ([`Bus::advance`]). The result depends only on the submitted frames, their times
//! and the seed of the [`Faults`]. CI builds this crate for `wasm32-unknown-unknown` to keep it so.
//!
//! # Source
//! ISO 11898-1:2015, clauses 10 (frames, arbitration, error signalling) and 12 (fault confinement), as read in their
//! public predecessor, the Bosch CAN Specification 2.0. The model was not compared with hardware.
//!
//! # Simplifications
//! * All nodes see the same bit at the same time: no propagation delay, no oscillator tolerance, no resynchronisation.
//! * Bits of an error flag last a nominal bit, also where the flag cuts into the fast part of an FD frame.
//! * No overload frames but those of nodes that are late with an intermission: no node delays the next frame.
//! * A node that joins during an error frame waits for its end.
//! * A disturbed bit is one of a frame or of the error frame after it. In an intermission or on an idle bus it has no effect.
//! * A wrong bit in the control field does not make a frame of another length or format for its receivers, except for the
//!   silence of a sender that has stopped, which may be read as an FD frame with a wrong reserved bit.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

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
