//! Worst-case response times of CAN and CAN FD messages, across buses and gateways.
//!
//! ```text
//!  Network ──analyse──▶ Analysis ─┬─ bound, stages, timeline     the worst case of each message
//!   buses, nodes,                 ├─ load, judgements            sums that show what cannot hold
//!   messages                      └─ propose_identifiers, propose_bands
//!      └── highest_load, lowest_bit_rate, longest_latency, miss_probabilities
//! ```
//!
//! A bound holds for all offsets, for all payloads, and for all times at which programs queue frames within their periods and
//! jitter. It does not hold if there is other traffic on the bus, if a node is late by more than its jitter, or if a frame is
//! destroyed more often than [`Assumptions`] say.
//!
//! ```
//! use candor_bounds::{Assumptions, Bus, BusId, Controller, Message, MessageId, Network, Node, NodeId, Ns, Origin, Queue};
//! use candor_core::frame::{FrameFormat, RawId};
//!
//! // A node with one FIFO queue, and another one with one message.
//! let fifo = Node { bus: BusId(0), queue: Queue::fifo(), controller: Controller::Fifo(3.try_into().unwrap()) };
//! let ideal = Node { bus: BusId(0), queue: Queue::Arbitration, controller: Controller::Abortable };
//! let message = |node, id, period| Message {
//!     node: NodeId(node),
//!     id: RawId(id),
//!     format: FrameFormat::Classic,
//!     bit_rate_switch: false,
//!     len: 8,
//!     origin: Origin::Queued { period: Ns::from_ms(period), jitter: Ns(0) },
//!     deadline: Ns::from_ms(period),
//!     band: 0,
//!     socket: 0,
//! };
//! let network = Network {
//!     buses: vec![Bus { nominal: "500kbit/s".parse().unwrap(), data: None }],
//!     nodes: vec![fifo, ideal],
//!     messages: vec![message(0, 0x100, 10), message(0, 0x300, 10), message(1, 0x200, 5)],
//! };
//! let analysis = network.analyse(Assumptions::default()).unwrap();
//! let response = |at| analysis.bound(MessageId(at)).response.unwrap().0 / 1000;
//! // 0x100 waits for 0x300 of its own node and, at the priority of 0x300, for 0x200. 0x200 waits for 0x300 and 0x100.
//! assert_eq!([0, 1, 2].map(response), [784, 784, 784]);
//! ```
//!
//! # The analysis
//! * **Priority queues** ([`Rule::Priority`]): the exact test of Davis, Burns, Bril and Lukkien 2007, with all frames of the
//!   busy period and deadlines beyond the period, <https://doi.org/10.1007/s11241-007-9012-7>.
//! * **FIFO queues** ([`Rule::Fifo`]): after Davis, Kollmann, Pollex and Slomka 2013,
//!   <https://doi.org/10.1007/s11241-012-9167-8>. All frames of the queue that are queued first go first, and others interfere
//!   that are more urgent than the least urgent frame of the queue. For other nodes, frames of the queue are late by the time
//!   until they take part in an arbitration. All frames of the busy period are looked at, so more than one frame of a message
//!   may wait.
//! * **Queues before controllers that hold frames** ([`Rule::Controller`]): a window begins when the queue has a frame as urgent
//!   as the message (an arbitration queue) or for its band or a more urgent one, and ends when the frame leaves the queue. In
//!   it the node sends the frames that its controller holds at the beginning, at most as many as it has room for, and frames
//!   that arrive in the window and go first. While the frames from the beginning are in the controller, frames of other nodes
//!   interfere that are more urgent than the least urgent frame of the node; later, those more urgent than the least urgent frame
//!   that can be in the controller. Frames of other nodes may wait when the window begins, so they are late by their longest wait.
//! * **Bands**: strict order; shares (a band with a share gets its turns, others with a share theirs in between); sockets that
//!   take turns; a rate, with which each frame waits for the limit and then for the controller.
//! * **Nodes and buses in any order** ([`Rule::Node`], [`Rule::Bus`]): a bus is not idle while a frame waits. After Davis and Navet
//!   2012, <https://doi.org/10.1109/WFCS.2012.6242538>. This keeps bounds finite for any load below 100 %.
//! * **Gateways**: a forwarded message has the period of its first sender. Its jitter is the difference of the longest and the
//!   shortest time from the release at the first sender to the queue of the gateway (Tindell, Clark: Holistic schedulability
//!   analysis for distributed hard real-time systems, 1994, <https://doi.org/10.1016/0165-6074(94)90080-9>). All buses are
//!   analysed until nothing changes. If bounds still grow after 50 passes, there is no bound.
//! * **Faults**: each fault destroys the longest frame that may be sent, at its last bit. Random faults give the probability of a
//!   missed deadline ([`Network::miss_probabilities`]).
//!
//! Bounds of the first rule are exact: there are times at which programs queue frames with this response. Those of the
//! others may be too high. A bound is the least of all rules that apply.
//!
//! # Assumptions
//! * Queues are never full, and a node has a frame for its controller as soon as the controller has room: the time of software is
//!   part of jitter or of the latency of a gateway.
//! * Frames of one message stay in order.
//! * A frame takes part in an arbitration if it is in the controller before the end of the start-of-frame bit.
//! * Bit rates are those of the configuration: no tolerance of oscillators.
//! * Times are whole nanoseconds. The time of a frame, and of a bit, is rounded up.
//!
//! The crate needs an allocator, and no operating system, clock or file. Its results have been compared with task sets of
//! publications, with pyRTA (analyses verified in Rocq), and with random networks on the bit-exact bus of `candor-bus`.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod analysis;
mod assign;
mod faults;
mod length;
mod model;
mod problem;
mod rules;
mod scenario;
mod sensitivity;
#[cfg(feature = "simulation")]
pub mod simulation;
mod time;
mod timeline;

pub use analysis::{Analysis, Assumptions, Bound, Stage};
pub use assign::{Bands, Identifiers};
pub use faults::miss_probability;
pub use length::{FrameTime, Lengths, published};
pub use model::{
    Band, Basis, Bus, BusId, Controller, Latency, Message, MessageId, Network, Node, NodeId, Origin, Queue,
};
pub use problem::{Judgement, Load, Problem, Term};
pub use rules::Rule;
pub use sensitivity::Growth;
pub use time::Ns;
pub use timeline::{Slot, Timeline, Use};
