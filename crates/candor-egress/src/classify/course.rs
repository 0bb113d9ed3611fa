//! A frame, and what becomes of it.

use crate::handle::Handle;
#[cfg(doc)]
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
    /// Who sent it; nobody if a gateway did.
    pub socket: Option<Socket<'f>>,
    /// Index of the interface by which it came in; 0 for none.
    pub incoming_interface: u32,
}

/// The socket of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket<'f> {
    /// Its user.
    pub user: u32,
    /// Its group.
    pub group: u32,
    /// The numbers of its control group and of those above it, from the root of all groups on.
    pub control_groups: &'f [u64],
}

/// What became of a frame, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The filters that were asked, in this order.
    pub tested: Vec<Tested>,
    /// Where it ended.
    pub end: End,
}

/// A filter that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tested {
    /// Its position in [`Tree::filters`].
    pub filter: usize,
    /// Whether the frame fits.
    pub fits: bool,
}

/// Where the way of a frame ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// `htb` sends it at once, ahead of all its classes.
    Direct {
        /// The discipline.
        qdisc: Handle,
    },
    /// It is gone.
    Dropped {
        /// The discipline, or [`Handle::EGRESS`].
        at: Handle,
        /// Who hears of it.
        heard: Heard,
    },
    /// It waits.
    Queue {
        /// The class in which it waits; [`Handle::NONE`] at the root.
        class: Handle,
        /// The discipline in which it waits; [`Handle::NONE`] if nobody made one there and the kernel has put its own.
        qdisc: Handle,
    },
    /// An action has taken it away; the sender thinks that it left.
    Taken,
    /// It cannot be known.
    Unknown(Unknown),
}

/// Who hears that a frame is dropped.
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
