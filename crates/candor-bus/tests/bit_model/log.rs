//! Log of a bus.

use std::collections::BTreeSet;

use candor_core::frame::Frame;

use super::counters::{Counters, NodeState};

/// Role of a node in a frame and until the bus is idle again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends, and has not lost arbitration.
    Sender,
    /// It does not.
    Receiver,
}

/// Errors that a node can detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// Sender: no acknowledgement.
    Ack,
    /// Not what was sent.
    Bit,
    /// Receiver: check sequence or stuff count.
    Crc,
    /// A bit of fixed form.
    Form,
    /// The node was made to misread.
    Local,
    /// Six equal bits, or a recessive stuff bit of the arbitration field seen dominant by its sender.
    Stuff,
}

/// Why a node sends a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagReason {
    /// It found an error.
    Error,
    /// It saw a dominant bit where that is no error but cannot stay unanswered.
    Overload,
}

/// An event of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Bit time: the first bit for [`What::Started`], [`What::SwitchedOff`], [`What::SwitchedOn`] and [`What::Refused`];
    /// for the rest the end of the bit in which it happened, which is its number plus 1.
    pub at: u64,
    /// Node.
    pub node: usize,
    /// Event.
    pub what: What,
}

/// Events. `frame` counts started frames (attempts) of the bus from 0; senders that start together share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It received a frame. Comes one bit before the end of the frame.
    Accepted {
        /// Tag; `None` if no node sent this frame.
        frame: Option<usize>,
        /// As it was read from the wire.
        content: Box<Frame>,
    },
    /// It lost arbitration.
    ArbitrationLost {
        /// In which frame.
        frame: Option<usize>,
        /// At which bit: start of frame is 0, stuff bits count.
        bit: u64,
    },
    /// Its transmit error counter has reached 256.
    BusOff,
    /// One of its counters has a new value.
    Counters {
        /// The values.
        counters: Counters,
        /// New state.
        state: NodeState,
    },
    /// It sent a frame well.
    Delivered {
        /// Position of the job.
        frame: Option<usize>,
        /// Tag of the frame.
        tag: u64,
        /// Bit time of the start of frame; the end is the time of this event.
        start: u64,
        /// Nodes that accepted it, in ascending order.
        receivers: Vec<usize>,
    },
    /// It gave up a frame: one-shot, or bus-off.
    Dropped {
        /// Tag of the frame.
        tag: u64,
    },
    /// It found an error.
    ErrorDetected {
        /// In which frame, or behind which.
        frame: Option<usize>,
        /// At which bit since the start of that frame.
        bit: u64,
        /// Kind of error.
        kind: ErrorKind,
        /// Its part in the frame.
        role: Role,
        /// True if its flag is dominant.
        state: NodeState,
    },
    /// The last bit of its error or overload delimiter has passed.
    FlagOver {
        /// Error that caused the flag.
        reason: FlagReason,
    },
    /// It takes part now: 11 recessive bits after it was switched on.
    Joined,
    /// It starts an overload flag.
    Overload,
    /// It is back from bus-off.
    Recovered,
    /// A submitted frame found no room.
    Refused {
        /// Tag of the frame.
        tag: u64,
    },
    /// It started to send a frame.
    Started {
        /// Position of the job.
        frame: usize,
        /// Tag of the frame.
        tag: u64,
    },
    /// Its power went.
    SwitchedOff,
    /// Its power came.
    SwitchedOn,
}

/// An error as the bus sees it: from the first node that finds one until the last has seen the end of its delimiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// In or behind which frame.
    pub frame: Option<usize>,
    /// At which bit since its start.
    pub bit: u64,
    /// Nodes that detected an error at this bit, and its kind.
    pub first: Vec<(usize, ErrorKind)>,
    /// End of the bit in which it was found.
    pub start: u64,
    /// End of the last bit of the last delimiter; `None` if it never came (or the log ends before).
    pub end: Option<u64>,
}

/// Puts the errors of single nodes together. Overload flags within an episode belong to it.
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
