//! A frame on its way through a tree, and where it ends.

use crate::action::{Action, Police, Verdict};
use crate::filter::Filter;
use crate::handle::Handle;
use crate::tree::Tree;

/// A frame on its way out, as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'f> {
    /// `struct can_frame` or `struct canfd_frame`.
    pub bytes: &'f [u8],
    /// `ETH_P_CAN`, `ETH_P_CANFD`.
    pub protocol: u16,
    /// `SO_PRIORITY`, or what a filter on its way in has set; a class if the upper half is not 0.
    pub priority: u32,
    /// `SO_MARK`, or what a filter has set.
    pub mark: u32,
    pub socket: Option<Socket<'f>>,
    /// Index of the interface by which it came in; 0 for none.
    pub incoming_interface: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket<'f> {
    pub user: u32,
    pub group: u32,
    /// The numbers of its control group and of those above it, from the root of all groups on.
    pub control_groups: &'f [u64],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The filters that were asked, in this order.
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
    /// `htb` sends it at once, ahead of all its classes.
    Direct {
        qdisc: Handle,
    },
    Dropped {
        /// The discipline, or [`Handle::EGRESS`].
        at: Handle,
        heard: Heard,
    },
    Queue {
        /// The class in which it waits; [`Handle::NONE`] at the root.
        class: Handle,
        /// The discipline in which it waits; [`Handle::NONE`] if nobody made one there and the kernel has put its own.
        qdisc: Handle,
    },
    /// An action has taken it away; the sender thinks that it left.
    Taken,
    Unknown(Unknown),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The discipline counts it and the sender hears that all is well.
    Nobody,
    /// The sender gets `ENOBUFS`.
    Sender,
}

/// Why it cannot be known what becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// A class by a hash of which only the kernel knows the seed, or by the address of a socket.
    Flow,
    /// Filters that lead in a circle.
    Circle,
    /// A kind that candor does not know, or bytes before the frame, which nobody has written for it.
    Kind,
    /// A table of `u32` that is not there.
    Table,
    /// Whether a limit is reached depends on the frames before.
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
    /// One of so many from the first.
    Flow {
        first: Handle,
        count: Option<u32>,
    },
}

pub(super) type Numbered<'t> = (usize, &'t Filter);

impl Walk<'_, '_> {
    /// Does what a filter asks for; without anything, the frame passes.
    pub(super) fn act(&mut self, actions: &[Action]) -> Result<Verdict, Unknown> {
        let mut last = Verdict::Pass;
        for action in actions {
            last = match action {
                Action::Gact { verdict } | Action::Mirred { verdict, .. } => *verdict,
                Action::Other { .. } => return Err(Unknown::Kind),
                Action::Police(Police { exceed, conform, .. }) if exceed == conform => *conform,
                Action::Police(_) => return Err(Unknown::Traffic),
                Action::Skbedit { priority, mark, verdict } => {
                    self.packet.priority = priority.map_or(self.packet.priority, |priority| priority.0);
                    self.packet.mark = mark.unwrap_or(self.packet.mark);
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
