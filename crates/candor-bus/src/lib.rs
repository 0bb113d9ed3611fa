//! A bit-exact model of a CAN bus: arbitration, acknowledgement, error confinement and faults, with their times.
//!
//! ```text
//!  submit(node, frame) ─▶ Controller ─▶ arbitration ─▶ transmission ─┬─▶ Event::Delivered
//!                         (FIFO or       (lowest       (bit-exact    └─▶ error episode ─▶ Event::Error
//!                          mailboxes)     wins)         times)           (flags, counters, states)
//! ```
//!
//! The crate uses no clock and no threads: the owner of the [`Bus`] queries the time of the next event
//! ([`Bus::next_event`]) and advances the time at most up to it ([`Bus::advance`]). Results depend only on the
//! submitted frames, their times and the seed of the [`Faults`]. CI builds this crate for `wasm32-unknown-unknown`.
//!
//! ```
//! use candor_bus::{Bus, BusNs, Event, NodeConfig, Order, Tag, Timing};
//!
//! let timing = Timing { nominal: "500kbit/s".parse().unwrap(), data: None };
//! let config = NodeConfig { timing, order: Order::Fifo, depth: 1, listen_only: false, one_shot: false };
//! let mut bus = Bus::new(0);
//! let nodes = [bus.add_node().unwrap(), bus.add_node().unwrap()];
//! nodes.map(|node| bus.switch_on(BusNs(0), node, config));
//!
//! bus.submit(BusNs(0), nodes[0], Tag(1), "123#1122".parse().unwrap()).unwrap();
//! let mut events = Vec::new();
//! bus.advance(BusNs(1_000_000), &mut events);
//! let [Event::Delivered { sender, receivers, .. }] = events[..] else { panic!("{events:?}") };
//! assert!(sender == nodes[0] && receivers.contains(nodes[1]));
//! ```
//!
//! # Source
//! ISO 11898-1:2015, clauses 10 (frames, arbitration, error signalling) and 12 (fault confinement), according to their
//! public predecessor, the Bosch CAN Specification 2.0. The model has not been compared with hardware.
//!
//! # Simplifications
//! * All nodes see the same bit at the same time: no propagation delay, no oscillator tolerance, no resynchronisation.
//! * Bits of an error flag have the nominal bit rate, even in the data phase of an FD frame.
//! * Overload frames only from nodes that are late with an intermission: no node delays the next frame.
//! * A node that joins during an error frame waits for its end.
//! * Disturbed bits have an effect in a frame and in the error frame after it, but not in an intermission or on an idle
//!   bus.
//! * A wrong bit in the control field does not change length or format of the frame for its receivers. Exception: the
//!   silence after a sender stops can look like an FD frame with a wrong reserved bit.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bus;
mod confinement;
mod controller;
mod episode;
mod event;
mod fault;
mod node;

pub use bus::{Bus, NotOnBus, SubmitError};
pub use confinement::{
    CAN_BUS_OFF_THRESHOLD, CAN_ERROR_PASSIVE_THRESHOLD, CAN_ERROR_WARNING_THRESHOLD, Counters, ErrorState,
};
pub use controller::Tag;
pub use event::{ErrorKind, Event};
pub use fault::{Disturbance, Faults, Target};
pub use node::{BusNs, NodeConfig, NodeId, NodeSet, Order, Timing};
