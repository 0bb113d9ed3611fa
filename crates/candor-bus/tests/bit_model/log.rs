//! Log of a bus.

use std::collections::BTreeSet;

use candor_core::frame::Frame;

use super::counters::{Counters, NodeState};

/// Role of a node in a frame, until the bus is idle again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends, and has not lost arbitration.
    Sender,
    Receiver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// Sender only.
    Ack,
    Bit,
    /// Receiver: check sequence or stuff count.
    Crc,
    /// A bit of fixed form.
    Form,
    /// A fault made the node misread a bit.
    Local,
    /// Six equal bits, or a recessive stuff bit of the arbitration field seen dominant by its sender.
    Stuff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagReason {
    Error,
    /// A dominant bit that is not an error.
    Overload,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Bit time: the first bit for [`What::Started`], [`What::SwitchedOff`], [`What::SwitchedOn`] and
    /// [`What::Refused`]; otherwise the end of the bit, which is its number plus 1.
    pub at: u64,
    pub node: usize,
    pub what: What,
}

/// Events. `frame` counts started frames (attempts) on the bus from 0. Senders that start together share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Reception of a frame, one bit before its end.
    Accepted {
        /// `None` if no node sent this frame.
        frame: Option<usize>,
        content: Box<Frame>,
    },
    ArbitrationLost {
        frame: Option<usize>,
        /// Start of frame is 0; stuff bits count.
        bit: u64,
    },
    BusOff,
    Counters {
        counters: Counters,
        state: NodeState,
    },
    Delivered {
        frame: Option<usize>,
        tag: u64,
        /// Bit time of the start of frame; the end is the time of this event.
        start: u64,
        /// In ascending order.
        receivers: Vec<usize>,
    },
    /// A frame was given up: one-shot mode or bus-off.
    Dropped {
        tag: u64,
    },
    ErrorDetected {
        /// The frame, or the last one before the error.
        frame: Option<usize>,
        /// Bit since the start of that frame.
        bit: u64,
        kind: ErrorKind,
        role: Role,
        state: NodeState,
    },
    /// End of the error or overload delimiter.
    FlagOver {
        reason: FlagReason,
    },
    /// 11 recessive bits after power on.
    Joined,
    /// Start of an overload flag.
    Overload,
    /// Return from bus-off.
    Recovered,
    /// The node did not accept a submitted frame.
    Refused {
        tag: u64,
    },
    /// Start of a transmission.
    Started {
        frame: usize,
        tag: u64,
    },
    SwitchedOff,
    SwitchedOn,
}

/// An error on the bus: from its first detection to the end of the last delimiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    pub frame: Option<usize>,
    pub bit: u64,
    /// Nodes that detected an error first.
    pub first: Vec<(usize, ErrorKind)>,
    /// End of the first wrong bit.
    pub start: u64,
    /// `None` if the log ends before.
    pub end: Option<u64>,
}

/// Combines the errors of nodes. Overload flags within an episode belong to it.
pub fn episodes(log: &[Log]) -> Vec<Episode> {
    let mut found: Vec<Episode> = Vec::new();
    let mut busy: BTreeSet<usize> = BTreeSet::new();
    for entry in log {
        match &entry.what {
            What::ErrorDetected { frame, bit, kind, .. } => {
                match found.last_mut().filter(|_| !busy.is_empty()) {
                    Some(open) if open.start == entry.at => open.first.push((entry.node, *kind)),
                    Some(_) => {}
                    None => found.push(Episode {
                        frame: *frame,
                        bit: *bit,
                        first: vec![(entry.node, *kind)],
                        start: entry.at,
                        end: None,
                    }),
                }
                busy.insert(entry.node);
            }
            What::Overload if !busy.is_empty() => {
                busy.insert(entry.node);
            }
            What::FlagOver { .. } | What::BusOff | What::SwitchedOff => {
                if busy.remove(&entry.node)
                    && busy.is_empty()
                    && let Some(open) = found.last_mut()
                {
                    open.end = Some(entry.at);
                }
            }
            _ => {}
        }
    }
    found
}
