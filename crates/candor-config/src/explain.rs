//! Explains one frame: the jobs that match it, in order, the frame after each step, the counters that change, and
//! why other jobs leave it alone.
//!
//! This is the oracle with its working shown. Each step runs the operation that engines run ([`candor_core::rule`]), and a
//! property test holds the last frame of every trace to what the oracle delivers. What depends on the machine (is the
//! interface up, how large are its frames, how many hops does can-gw allow) is an argument.

mod follow;
mod miss;
mod trace;

pub use miss::{Miss, Reason};
pub use trace::{Act, Changes, ChecksumKind, End, Step, Trace, trace};

use crate::placement::Side;
use crate::plan::{BusIndex, SendAs};
use candor_core::filter::ReceiveList;
use candor_core::frame::Frame;
use candor_core::job::Job;

/// Known facts about the machine that the gateway runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Hops that can-gw allows, 1 to 6 (its module parameter `max_hops`).
    pub max_hops: u8,
    /// The interfaces, by bus. A bus beyond the end has an interface of which nothing is known.
    pub interfaces: Vec<Interface>,
}

/// Known facts about the interface of a bus. Unknown properties stop no frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Size of the largest frame that it takes, in bytes: 16 for CAN CC, 72 for CAN FD.
    pub mtu_bytes: Option<usize>,
    /// Link state, if known.
    pub link: Option<LinkState>,
    /// The bus whose interface is the other end, if this is one end of a vxcan pair.
    pub peer: Option<BusIndex>,
}

/// `IFF_UP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkState {
    /// It is down, and sends nothing.
    Down,
    /// It is up.
    Up,
}

/// A gateway on a machine.
#[derive(Clone, Copy, Debug)]
pub struct Gateway<'a> {
    /// Its jobs.
    pub jobs: &'a [Job],
    /// Side that runs each job.
    pub sides: &'a [Side],
    /// Where.
    pub machine: &'a Machine,
}

/// All that one frame does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The jobs that take the frame, in the order of delivery: can-gw's first, because user space is woken afterwards.
    pub visits: Vec<Visit>,
    /// The jobs of this bus that do not take it, the nearest first.
    pub misses: Vec<Miss>,
    /// The jobs of other buses that would take it there.
    pub elsewhere: Vec<usize>,
    /// True if the explanation was cut at [`MAX_DEPTH`] or [`MAX_FOLLOWED`].
    pub is_cut: bool,
}

/// One job that matches a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Position of the job.
    pub job: usize,
    /// Side that runs the job.
    pub side: Side,
    /// The receive list by which the frame came to it.
    pub list: ReceiveList,
    /// Steps that were executed, in order.
    pub steps: Vec<Step>,
    /// Result.
    pub outcome: Outcome,
    /// Where else the sent frame comes in.
    pub next: Vec<Next>,
}

/// Result of a job for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is given to the outgoing interface. Counter `handled`.
    Sent(Frame),
    /// Counter `dropped`.
    Dropped(Dropped),
    /// Counter `deleted`.
    Deleted(Deleted),
    /// It would leave through the interface by which it came into this machine. No counter.
    BackToIncoming,
}

/// Why a frame is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The outgoing interface is down.
    Down,
    /// The outgoing interface takes no frames of this size.
    Mtu {
        /// Size of the frame's struct.
        frame_bytes: usize,
        /// The largest that the interface takes.
        mtu_bytes: usize,
    },
}

/// Why a frame is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It has so many hops behind it, which is as many as can-gw allows.
    Hops {
        /// Behind it.
        hops: u8,
        /// Allowed.
        max_hops: u8,
    },
    /// Its length became impossible.
    Length {
        /// Length after the modifications, in bytes.
        len: u8,
        /// The longest of its format, in bytes.
        max: usize,
    },
    /// The other format has no form of it.
    NoForm(SendAs),
}

/// The counter of a job that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Accepted by the outgoing interface.
    Handled,
    /// Could not be sent.
    Dropped,
    /// Given up for its length, its format or its hops.
    Deleted,
}

/// A sent frame that comes in again on this machine, where jobs take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// Path.
    pub by: Way,
    /// The bus.
    pub on: BusIndex,
    /// Jobs that see it there.
    pub visits: Vec<Visit>,
    /// Jobs of user space that would take it, but do not get it: candor does not receive what candor has sent.
    pub own: Vec<usize>,
}

/// Path on which a sent frame is received again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// It was sent with echo, so the machine sees it on the bus where it leaves.
    Echo,
    /// Through a vxcan pair, which makes can-gw forget the hops.
    Vxcan,
}

/// Buses after the first that a frame is followed to; can-gw allows 6 hops.
pub const MAX_DEPTH: usize = 8;
/// Visits after those of the first bus that are followed.
pub const MAX_FOLLOWED: usize = 4096;

impl Machine {
    /// One of which nothing is known but the hops that can-gw allows.
    #[must_use]
    pub const fn unknown(max_hops: u8) -> Self {
        Self { max_hops, interfaces: Vec::new() }
    }

    /// Returns the known facts about the interface of a bus.
    #[must_use]
    pub fn interface(&self, bus: BusIndex) -> Interface {
        self.interfaces.get(bus.0).copied().unwrap_or_default()
    }
}

impl Outcome {
    /// The counter of the job that moves, if one does.
    #[must_use]
    pub const fn counter(&self) -> Option<Counter> {
        match self {
            Self::Sent(_) => Some(Counter::Handled),
            Self::Dropped(_) => Some(Counter::Dropped),
            Self::Deleted(_) => Some(Counter::Deleted),
            Self::BackToIncoming => None,
        }
    }
}

impl Counter {
    /// can-gw's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handled => "handled",
            Self::Dropped => "dropped",
            Self::Deleted => "deleted",
        }
    }
}

/// Follows a frame that comes in on a bus: from the wire, or from a program that sends it there.
///
#[must_use]
pub fn explain(gateway: &Gateway<'_>, on: BusIndex, frame: &Frame) -> Explanation {
    let (visits, is_cut) = follow::follow(gateway, on, frame);
    let jobs = || gateway.jobs.iter().enumerate();
    let mut misses: Vec<_> =
        jobs().filter(|(_, job)| job.from == on).filter_map(|(at, job)| Miss::of(at, job, frame)).collect();
    misses.sort_by_key(Miss::distance);
    let elsewhere = jobs().filter(|(_, job)| job.from != on && follow::takes(job, frame)).map(|(at, _)| at).collect();
    Explanation { visits, misses, elsewhere, is_cut }
}

#[cfg(test)]
mod tests;
