//! Explains one frame: the jobs that match it, in order, the frame after each step, the counters that change, and the
//! reasons why other jobs do not match it.
//!
//! Each step runs the operation that engines run ([`candor_core::rule`]), and a property test compares the result with the
//! oracle. What depends on the machine (link state, MTU, `max_hops`) is an argument.

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
    /// By bus; nothing is known about the interfaces of buses beyond the end.
    pub interfaces: Vec<Interface>,
}

/// Known facts about the interface of a bus. Unknown properties drop no frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// MTU in bytes: 16 for CAN CC, 72 for CAN FD.
    pub mtu_bytes: Option<usize>,
    pub link: Option<LinkState>,
    /// The bus at the other end of a vxcan pair.
    pub peer: Option<BusIndex>,
}

/// `IFF_UP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkState {
    Down,
    Up,
}

#[derive(Clone, Copy, Debug)]
pub struct Gateway<'a> {
    pub jobs: &'a [Job],
    /// Side that runs each job.
    pub sides: &'a [Side],
    /// By job: true if its program takes the frame away from the other sides. May be empty.
    pub exclusive: &'a [bool],
    pub machine: &'a Machine,
}

/// The path of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Jobs that match the frame, in order of delivery: eBPF programs before can-gw, and user space last, because it is woken
    /// afterwards.
    pub visits: Vec<Visit>,
    /// Jobs of this bus that do not match it, the nearest first.
    pub misses: Vec<Miss>,
    /// Jobs of other buses that would match it there.
    pub elsewhere: Vec<usize>,
    /// True if the explanation was cut at [`MAX_DEPTH`] or [`MAX_FOLLOWED`].
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    pub job: usize,
    pub side: Side,
    pub list: ReceiveList,
    /// In order of execution.
    pub steps: Vec<Step>,
    pub outcome: Outcome,
    /// Interfaces that receive the sent frame again.
    pub next: Vec<Next>,
}

/// Result of a job for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Counter `handled`.
    Sent(Frame),
    /// Counter `dropped`.
    Dropped(Dropped),
    /// Counter `deleted`.
    Deleted(Deleted),
    /// It would be sent on the interface that received it. No counter.
    BackToIncoming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    Down,
    /// The frame is larger than the MTU of the outgoing interface.
    Mtu {
        frame_bytes: usize,
        mtu_bytes: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    Hops {
        hops: u8,
        max_hops: u8,
    },
    /// The length after the modifications, and the longest of the format, in bytes.
    Length {
        len: u8,
        max: usize,
    },
    /// It cannot be converted to this format.
    NoForm(SendAs),
    /// A check found it wrong, or it could not be protected.
    Refused(Act),
}

/// Counter of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    Handled,
    Dropped,
    Deleted,
}

/// A sent frame that is received again on this machine, by jobs that match it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    pub by: Way,
    pub on: BusIndex,
    pub visits: Vec<Visit>,
    /// Jobs in user space that match it, but do not receive it, because candor sent it.
    pub own: Vec<usize>,
}

/// Path on which a sent frame is received again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Sent with echo, so it is received on the outgoing bus.
    Echo,
    /// Through a vxcan pair, which clears the hop count.
    Vxcan,
}

/// Buses after the first that a frame is followed to; can-gw allows 6 hops.
pub const MAX_DEPTH: usize = 8;
/// Visits after those of the first bus that are followed.
pub const MAX_FOLLOWED: usize = 4096;

impl Machine {
    pub const fn unknown(max_hops: u8) -> Self {
        Self { max_hops, interfaces: Vec::new() }
    }

    pub fn interface(&self, bus: BusIndex) -> Interface {
        self.interfaces.get(bus.0).copied().unwrap_or_default()
    }
}

impl Outcome {
    /// The counter that the job increments, if any.
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
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handled => "handled",
            Self::Dropped => "dropped",
            Self::Deleted => "deleted",
        }
    }
}

/// Follows a frame that a bus receives, or that a program sends on it.
pub fn explain(gateway: &Gateway<'_>, on: BusIndex, frame: &Frame) -> Explanation {
    let (visits, is_cut) = follow::follow(gateway, on, frame);
    let jobs = || gateway.jobs.iter().enumerate();
    let mut misses: Vec<_> =
        jobs().filter(|(_, job)| job.from == on).filter_map(|(at, job)| Miss::of(at, job, frame)).collect();
    candor_core::order::sort_by_key(&mut misses, Miss::distance);
    let elsewhere = jobs().filter(|(_, job)| job.from != on && follow::takes(job, frame)).map(|(at, _)| at).collect();
    Explanation { visits, misses, elsewhere, is_cut }
}

#[cfg(test)]
mod tests;
