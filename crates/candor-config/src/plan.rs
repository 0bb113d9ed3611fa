//! A gateway whose every value has been proven: what `candor check` accepts and engines run.
//!
//! A [`Plan`] is built by [`crate::config::load`] only. Its indices are in range, its names are unique, no route
//! leads back to its own bus unless it says that it does, no frame matches two selections of a route, every operand
//! fits the format in which the frames of its route leave, and every route can be run by the engine on some kernel.

use std::num::NonZeroU32;
use std::time::Duration;

pub use crate::engine::{Engine, UserEngine};
use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
pub use candor_core::job::{BusIndex, Echo, Incoming, RouteIndex, SendAs, Timestamp};
use candor_core::payload::PayloadPattern;
use candor_core::realtime::Realtime;
use candor_core::rule::{Checksums, Modifications};
use candor_core::units::BitRate;
pub use candor_egress::policy::{Egress, Wish};

/// A CAN network and the interface through which this machine reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// The user's name for the network.
    pub name: String,
    /// The network interface, 1 to 15 bytes (`IFNAMSIZ`).
    pub interface: String,
    /// Nominal bit rate the bus is expected to have. candor compares, it does not set.
    pub bitrate: Option<BitRate>,
    /// Data-phase bit rate of CAN FD frames with bit-rate switch.
    pub data_bitrate: Option<BitRate>,
    /// The bus at the other end of the vxcan pair whose one end is this interface. The other bus names this one.
    pub vxcan_peer: Option<BusIndex>,
    /// Delay between bus-off and restart of the controller by candor; `None`: candor does not restart it.
    pub restart_after: Option<Duration>,
}

impl Bus {
    /// A bus that is called like its interface, and of which nothing else is known.
    #[must_use]
    pub fn on(interface: &str) -> Self {
        let (name, interface) = (interface.to_owned(), interface.to_owned());
        Self { name, interface, bitrate: None, data_bitrate: None, vxcan_peer: None, restart_after: None }
    }
}

/// Policy for frames when the queue of the outgoing interface is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// It is dropped, as can-gw does.
    #[default]
    DropNewest,
    /// It waits in candor behind those that wait there already; if there are 64, the oldest is dropped.
    DropOldest,
    /// It is tried again, and everything from its bus waits meanwhile, at most this long; then it is dropped.
    Block {
        /// Longest wait; `None`: unlimited.
        limit: Duration,
    },
}

/// Frame formats of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Formats {
    /// Classic and FD frames alike; two can-gw jobs.
    Any,
    /// Frames of one format only.
    Only(FrameFormat),
}

impl Formats {
    /// These formats, classic first.
    #[must_use]
    pub const fn list(&self) -> &[FrameFormat] {
        match self {
            Self::Any => &[FrameFormat::Classic, FrameFormat::Fd],
            Self::Only(format) => std::slice::from_ref(format),
        }
    }
}

/// Identifiers that a route takes, and what becomes of them.
///
/// A route has one for each can-gw filter that it needs. No frame matches two of one route, because can-gw would
/// forward it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selection {
    /// Identifiers.
    pub filter: Filter,
    /// New identifiers of `to-id`; `None` without `to-id`.
    pub id: Option<IdChange>,
}

impl Selection {
    /// Every data and remote frame, as it is.
    pub const ALL: Self = Self { filter: Filter::ALL, id: None };
}

/// Another identifier, in the operations that can-gw has. Both forms work on the whole `can_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdChange {
    /// SET: this one.
    Set(u32),
    /// AND, then OR: the low bits stay.
    Move {
        /// Bits that stay.
        and: u32,
        /// Bits that come instead of the others.
        or: u32,
    },
}

/// One way from bus to bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The user's name for it.
    pub name: String,
    /// Where frames come from.
    pub from: BusIndex,
    /// Where they go; the same bus only with [`Incoming::Allowed`].
    pub to: BusIndex,
    /// Identifiers; disjoint, never empty.
    pub selections: Vec<Selection>,
    /// Frame formats.
    pub formats: Formats,
    /// Payload patterns, of which one must match; empty: any payload. User space only.
    pub payload: Vec<PayloadPattern>,
    /// Format conversion. User space only.
    pub send_as: Option<SendAs>,
    /// Modifications.
    pub modifications: Modifications,
    /// Checksums, computed after the modifications. Empty unless a modification is active, as in the kernel.
    pub checksums: Checksums,
    /// Visible to local sockets?
    pub echo: Echo,
    /// Limit of gateway hops, this one included, 1 to 6 (`cangw -l`).
    pub hop_limit: Option<u8>,
    /// Time stamp kept?
    pub timestamp: Timestamp,
    /// Back to where it came from?
    pub incoming: Incoming,
    /// Maximum age of a frame since its reception when it is passed to the outgoing interface. User space only.
    pub max_age: Option<Duration>,
    /// Policy when the queue is full. Anything but dropping the newest frame: user space only.
    pub when_full: WhenFull,
    /// `CGW_MOD_UID` (`cangw -u`): the number by which can-gw finds a job whose modifications are to be exchanged.
    pub uid: Option<NonZeroU32>,
    /// Text for readers of the file: one line of up to 200 characters.
    pub comment: Option<String>,
}

impl Route {
    /// A route that forwards every frame unchanged, as can-gw does by default.
    #[must_use]
    pub fn new(name: String, from: BusIndex, to: BusIndex) -> Self {
        Self {
            name,
            from,
            to,
            selections: vec![Selection::ALL],
            formats: Formats::Any,
            payload: Vec::new(),
            send_as: None,
            modifications: Modifications::NONE,
            checksums: Checksums::NONE,
            echo: Echo::Off,
            hop_limit: None,
            timestamp: Timestamp::Fresh,
            incoming: Incoming::Skipped,
            max_age: None,
            when_full: WhenFull::DropNewest,
            uid: None,
            comment: None,
        }
    }
}

/// A whole gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(crate) engine: Engine,
    pub(crate) realtime: Realtime,
    pub(crate) buses: Vec<Bus>,
    pub(crate) routes: Vec<Route>,
    pub(crate) egress: Vec<Egress>,
}

impl Plan {
    /// Engine that runs the routes.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// Real-time configuration.
    #[must_use]
    pub const fn realtime(&self) -> &Realtime {
        &self.realtime
    }

    /// The buses in the order of the file.
    #[must_use]
    pub fn buses(&self) -> &[Bus] {
        &self.buses
    }

    /// The routes in the order of the file, which is also the order of delivery within a receive list.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Egress configuration in the order of the file; each bus at most once.
    #[must_use]
    pub fn egress(&self) -> &[Egress] {
        &self.egress
    }

    /// The bus at an index of this plan.
    #[must_use]
    pub fn bus(&self, index: BusIndex) -> &Bus {
        &self.buses[index.0]
    }

    /// The route at an index of this plan.
    #[must_use]
    pub fn route(&self, index: RouteIndex) -> &Route {
        &self.routes[index.0]
    }

    /// The same gateway run by another engine.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }
}
