//! Filters: what sorts the frames of a discipline into its classes.

use super::action::Action;
use super::control_group::ControlGroup;
use super::ematch::Ematch;
use super::handle::Handle;

/// `ETH_P_ALL`: frames of any kind.
pub const ETH_P_ALL: u16 = 0x0003;
/// `ETH_P_CAN`: classic frames only.
pub const ETH_P_CAN: u16 = 0x000C;
/// `ETH_P_CANFD`: frames of CAN FD only.
pub const ETH_P_CANFD: u16 = 0x000D;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The discipline or class whose frames it sees, [`Handle::INGRESS`] or [`Handle::EGRESS`].
    pub parent: Handle,
    /// The order in which filters are asked, lower first (`pref`, `prio`); 1 to 65535.
    pub preference: u16,
    /// Frames of which kind it sees; [`ETH_P_ALL`] of all.
    pub protocol: u16,
    /// Its own number, with a meaning that depends on the classifier: of `fw` the mark, of `u32` table, slot and node.
    /// 0 lets the kernel choose.
    pub handle: u32,
    pub classifier: Classifier,
    /// Where frames go that fit (`flowid`).
    pub class: Option<Handle>,
    /// What is done with frames that fit, in this order.
    pub actions: Vec<Action>,
}

/// How a filter decides, under the kernel's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// `basic`: an expression; without one every frame fits (`cls_basic.c`).
    Basic(Option<Ematch>),
    /// `bpf` with candor's own program: frames from any of these groups (`cls_bpf.c`).
    ControlGroups(Vec<ControlGroup>),
    /// `flow`: a class reckoned from keys (`cls_flow.c`).
    Flow(Flow),
    /// `fw`: the mark of the frame, which is the handle of the filter (`cls_fw.c`).
    Fw { mask: Option<u32> },
    /// `matchall`: every frame (`cls_matchall.c`).
    Matchall,
    /// A kind that candor does not know, as it was read.
    Other { kind: String, options: Vec<u8> },
    /// `u32`: bits of the frame, in hash tables (`cls_u32.c`).
    U32(U32),
}

impl Classifier {
    /// The kernel's name of the kind (`TCA_KIND`).
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Basic(_) => "basic",
            Self::ControlGroups(_) => "bpf",
            Self::Flow(_) => "flow",
            Self::Fw { .. } => "fw",
            Self::Matchall => "matchall",
            Self::Other { kind, .. } => kind,
            Self::U32(_) => "u32",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    pub keys: Vec<FlowKey>,
    /// Whether the keys are hashed to `divisor` classes (`hash`) rather than a single one taken as it is (`map`).
    pub hashed: bool,
    pub base: Option<Handle>,
    pub divisor: Option<u32>,
    /// After how long the hash is another one; 0 is never.
    pub perturb_s: u32,
}

/// What `flow` can reckon with (`FLOW_KEY_…`), as far as CAN has use for it. Ordered as the kernel numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowKey {
    /// `src`: of a CAN frame, the socket that sent it.
    Source,
    /// `dst`: of a CAN frame, the same for all.
    Destination,
    /// `iif`: the interface by which it came in.
    IncomingInterface,
    /// `priority`: its priority.
    Priority,
    /// `mark`: its mark.
    Mark,
    /// `sk-uid`: the user whose socket sent it.
    SocketUser,
    /// `sk-gid`: the group.
    SocketGroup,
}

/// A node of `u32`, or one of its hash tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct U32 {
    /// In which table it is, as in a handle (`ht 1:3:`): table in bits 20 to 31, slot in bits 12 to 19. 0 is the
    /// table of the filter's preference.
    pub table: u32,
    pub keys: Vec<U32Key>,
    /// The node is a hash table with this many slots, a power of 2 up to 256, and decides nothing itself.
    pub divisor: Option<u32>,
    /// Where to go on if the keys fit, as in a handle.
    pub link: Option<U32Link>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct U32Key {
    /// Which bits, in the order of the bytes (the first byte is the highest).
    pub mask: u32,
    pub value: u32,
    /// Where, from the start of the frame; a multiple of 4.
    pub offset: i32,
}

/// The table to go on with, and how its slot is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct U32Link {
    /// The table, in bits 20 to 31.
    pub table: u32,
    /// Which bits of the word choose the slot, in the order of the bytes; shifted so that the lowest is bit 0.
    pub mask: u32,
    /// Where the word is, from the start of the frame; a multiple of 4.
    pub offset: u16,
}
