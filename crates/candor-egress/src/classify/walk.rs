//! A frame on its way through a tree, and where it ends.

use crate::action::{Action, Police, Verdict};
use crate::filter::Filter;
use crate::handle::Handle;
use crate::tree::Tree;

/// An outgoing frame with its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'f> {
    /// `struct can_frame` or `struct canfd_frame`.
    pub bytes: &'f [u8],
    /// `ETH_P_CAN`, `ETH_P_CANFD`.
    pub protocol: u16,
    /// `SO_PRIORITY`, or set by a filter; a class if the upper half is not 0.
    pub priority: u32,
    /// `SO_MARK`, or set by a filter.
    pub mark: u32,
    pub socket: Option<Socket<'f>>,
    /// Interface index; 0 for frames of local sockets.
    pub incoming_interface: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket<'f> {
    pub user: u32,
    pub group: u32,
    /// The ids of its control group and of the groups above it, starting with the root.
    pub control_groups: &'f [u64],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The filters that ran, in order.
    pub tested: Vec<Tested>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tested {
    pub filter: usize,
    pub fits: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Sent by `htb` at once, ahead of all its classes.
    Direct {
        qdisc: Handle,
    },
    Dropped {
        /// A discipline, or [`Handle::EGRESS`].
        at: Handle,
        result: SenderResult,
    },
    Queue {
        /// [`Handle::NONE`] at the root.
        class: Handle,
        /// [`Handle::NONE`] for the kernel's default.
        qdisc: Handle,
    },
    /// Consumed by an action; the sender gets no error.
    Taken,
    Unknown(Unknown),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderResult {
    /// Counted as a drop, while the sender gets no error.
    Success,
    /// The sender gets `ENOBUFS`.
    Enobufs,
}

/// The reason why the path of a frame is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// A class computed from a secret seed, or from the address of a socket.
    Flow,
    /// A loop of filters.
    Circle,
    /// An unsupported kind, or bytes before the frame.
    Kind,
    /// A missing `u32` table.
    Table,
    /// A limit, which depends on earlier frames.
    Traffic,
}

pub(super) struct Walk<'t, 'f> {
    pub(super) tree: &'t Tree,
    pub(super) packet: Packet<'f>,
    pub(super) tested: Vec<Tested>,
}

#[derive(Clone, Copy)]
pub(super) enum Choice {
    Class(Handle),
    /// One of this many classes, counted from the first.
    Flow {
        first: Handle,
        count: Option<u32>,
    },
}

pub(super) type Numbered<'t> = (usize, &'t Filter);

impl Walk<'_, '_> {
    /// Runs the actions of a filter; without any, the frame passes.
    pub(super) fn act(&mut self, actions: &[Action]) -> Result<Verdict, Unknown> {
        let mut last = Verdict::Pass;
        for action in actions {
            last = match action {
                Action::Gact { verdict } | Action::Mirred { verdict, .. } => *verdict,
                Action::Other { .. } => return Err(Unknown::Kind),
                Action::Police(Police { exceed, conform, .. }) if exceed == conform => *conform,
                Action::Police(_) => return Err(Unknown::Traffic),
                Action::Skbedit { priority, mark, mask, verdict } => {
                    self.packet.priority = priority.map_or(self.packet.priority, |priority| priority.0);
                    let bits = mask.unwrap_or(u32::MAX);
                    let new = mark.map_or(self.packet.mark, |mark| self.packet.mark & !bits | mark & bits);
                    self.packet.mark = new;
                    *verdict
                }
            };
            if last != Verdict::Pipe {
                break;
            }
        }
        Ok(last)
    }
}
