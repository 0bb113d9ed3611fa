//! What crosses a border: runs of a gateway between untrusted and trusted buses, in one guest.
//!
//! ```text
//!  host ─▶ guest: candor-lab evidence-runs FILE --untrusted BUS --here --json ─▶ each path: flood, order, jitter, inversion
//!   └────────────────────────────────── Runs ◀─ JSON ──────────────────────── ├─▶ each identifier of trusted nodes: spoofed
//!                                                                             └─▶ each driver: order
//! ```
//!
//! All but inversions and drivers are measured on virtual interfaces with the names of the file. They carry frames at
//! once, so a gateway has to bear a bus that is always full. Frames are read by taps that see everything that a program
//! or can-gw gives to an interface, whatever the `echo` of a route.
//!
//! Times are those of a guest that counts instructions: they repeat exactly, and are no times of a board.

pub mod count;
pub mod example;
pub mod identifiers;

use serde::{Deserialize, Serialize};

/// What was measured in one guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runs {
    /// `uname -r` of the guest.
    pub kernel_release: String,
    /// One for each route from an untrusted to a trusted bus, in the order of the file.
    pub paths: Vec<PathRun>,
    /// Such routes for which no frame was found that they forward. Nothing is known about them.
    pub not_run: Vec<NotRun>,
    /// One for each identifier of trusted nodes, trusted bus and untrusted bus.
    pub spoofed: Vec<Spoofed>,
    /// One for each driver of the laboratory, without a gateway.
    pub drivers: Vec<DriverOrder>,
}

/// The runs of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathRun {
    /// Name of the route.
    pub route: String,
    /// Untrusted bus.
    pub from: String,
    /// Trusted bus.
    pub to: String,
    /// The example frame, as can-utils write it (`123#0011`).
    pub frame: String,
    /// Identifier with which it leaves.
    pub leaves_as_hex: String,
    /// The route sends its frames at times of its own (`cycle`, `min-delay`): a newer frame takes the place of an older one,
    /// so lost and doubled frames mean nothing.
    pub is_timed: bool,
    pub flood: Flood,
    /// Frames of one identifier.
    pub order: Order,
    /// Frames of several identifiers in turn. `None`: the route has only one.
    pub order_of_several: Option<Order>,
    /// `None`: no frame arrived.
    pub jitter: Option<Jitter>,
    /// `None`: no frame arrived.
    pub inversion: Option<Inversion>,
}

/// A route without a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotRun {
    /// Name of the route.
    pub route: String,
    /// Untrusted bus.
    pub from: String,
    /// Trusted bus.
    pub to: String,
    /// A sentence without a full stop.
    pub because: String,
}

/// The untrusted bus is full of the example frame: the next begins when one ends, at the bit rate of the file (without
/// one, 1 Mbit/s).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flood {
    /// Time of sending.
    pub time_ns: u64,
    /// Between two frames.
    pub period_ns: u64,
    pub sent_frames: u64,
    /// Frames with the identifier of the path on the trusted bus.
    pub arrived_frames: u64,
    /// Of these, those in the second half of the time, when the bursts that a guard permits are over.
    pub arrived_in_second_half_frames: u64,
    /// Frames that rules of the gateway refused, as it counts them.
    pub refused_frames: u64,
    pub window_ns: u64,
    /// Frames that arrived in the fullest window of this length, at any place.
    pub fullest_window_frames: u64,
    pub bystander: Bystander,
}

/// Periodic frames that a trusted node sends meanwhile on the trusted bus, with another identifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bystander {
    pub identifier_hex: String,
    pub period_ns: u64,
    pub sent_frames: u64,
    pub arrived_frames: u64,
    /// The longest time from when a frame was due until the interface had it. A virtual bus has no arbitration:
    /// inversions are measured on one with a bit rate.
    pub max_delay_ns: u64,
}

/// Numbered frames at a high rate that the path permits: 80 % of the bus, or of what passed in the second half of the
/// flood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Order {
    /// Number of identifiers, sent in turn.
    pub identifiers: u32,
    pub period_ns: u64,
    pub sent_frames: u64,
    pub arrived_frames: u64,
    /// Frames that rules of the gateway refused (`deleted`), as it counts them.
    pub refused_frames: u64,
    /// Frames that the gateway could not send (`dropped`), as it counts them. They are lost, too.
    pub dropped_frames: u64,
    /// Frames that were neither refused nor arrived.
    pub lost_frames: u64,
    /// False if no byte of the payload passes unchanged with every value: order and duplicates are not known then.
    pub is_numbered: bool,
    /// Frames that arrived after a later one of their identifier.
    pub out_of_order_frames: u64,
    /// Frames that arrived after a later one of another identifier.
    pub out_of_order_between_identifiers_frames: u64,
    /// Frames that arrived again.
    pub duplicated_frames: u64,
}

/// Latency of a periodic frame, from its reception on the untrusted bus until the trusted interface has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jitter {
    pub period_ns: u64,
    /// Frames that arrived.
    pub frames: u64,
    pub min_ns: i64,
    pub p50_ns: i64,
    pub p99_ns: i64,
    pub max_ns: i64,
    /// The largest difference between the gap of two frames before the gateway and after it.
    pub max_gap_deviation_ns: i64,
}

/// Frames of the path while frames of the lowest priority, from another program, fill the queue of the gateway's
/// interface to the trusted bus. That bus has a bit rate and arbitration (`candor-lab wire`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inversion {
    pub bit_rate_bits_per_s: u64,
    /// Frames that the controller of the interface holds: no queueing discipline lets a frame overtake those.
    pub controller_frames: u32,
    /// Frames that fit into the queue (`txqueuelen`).
    pub queue_frames: u32,
    /// The frame of low priority on the bus.
    pub low_frame_ns: u64,
    pub low_identifier_hex: String,
    pub low_sent_frames: u64,
    pub low_arrived_frames: u64,
    /// From the call that sends it to its last bit.
    pub low_max_ns: u64,
    pub urgent_identifier_hex: String,
    pub urgent_sent_frames: u64,
    pub urgent_arrived_frames: u64,
    /// From the call that sends it on the untrusted bus to its last bit on the trusted one.
    pub urgent_max_ns: u64,
    /// The most frames of low priority that began on the bus between the call and the urgent frame. Without an
    /// inversion at most `controller_frames + 1`.
    pub max_low_frames_before_urgent: u64,
}

/// An identifier of trusted nodes, sent on an untrusted bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spoofed {
    /// Trusted bus.
    pub bus: String,
    /// Untrusted bus on which it was sent.
    pub from: String,
    pub identifier_hex: String,
    pub known_from: KnownFrom,
    pub sent_frames: u64,
    /// Frames with the identifier that arrived on the trusted bus.
    pub arrived_frames: u64,
}

/// Why an identifier is one of trusted nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum KnownFrom {
    /// A message of a database of the trusted bus has senders, and no database of the untrusted bus has it with one.
    Message { name: String, senders: Vec<String> },
    /// A route from the trusted to an untrusted bus matches it exactly.
    Route { name: String },
}

/// Order of frames from one interface to another on a bus, without a gateway. Emulated controllers send in the order in
/// which the driver gives them frames, so what is measured is the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverOrder {
    /// Kernel module.
    pub driver: String,
    /// One socket sends frames of this many identifiers in turn, the least urgent first.
    pub identifiers: u32,
    pub sent_frames: u64,
    pub received_frames: u64,
    pub out_of_order_frames: u64,
    pub out_of_order_between_identifiers_frames: u64,
    pub duplicated_frames: u64,
}
