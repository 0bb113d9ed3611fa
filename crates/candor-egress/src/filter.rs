//! Filters, which assign the frames of a qdisc to its classes.

use super::action::Action;
use super::control_group::ControlGroup;
use super::ematch::Ematch;
use super::handle::Handle;

pub const ETH_P_ALL: u16 = 0x0003;
/// Classic frames only.
pub const ETH_P_CAN: u16 = 0x000C;
/// CAN FD frames only.
pub const ETH_P_CANFD: u16 = 0x000D;
/// CAN XL frames.
pub const ETH_P_CANXL: u16 = 0x000E;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The qdisc or class whose frames it tests, [`Handle::INGRESS`] or [`Handle::EGRESS`].
    pub parent: Handle,
    /// `pref` or `prio`: filters run in ascending order; 1 to 65535.
    pub preference: u16,
    /// EtherType of the frames that it tests, or [`ETH_P_ALL`].
    pub protocol: u16,
    /// Depends on the classifier: the mark for `fw`; table, slot and node for `u32`. 0 lets the kernel choose.
    pub handle: u32,
    pub classifier: Classifier,
    /// `flowid`: the class of matching frames.
    pub class: Option<Handle>,
    /// Run in this order on matching frames.
    pub actions: Vec<Action>,
}

/// Named as in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// `basic`: an expression; without one every frame matches (`cls_basic.c`).
    Basic(Option<Ematch>),
    /// `bpf` with candor's own program: frames from any of these groups (`cls_bpf.c`).
    ControlGroups(Vec<ControlGroup>),
    /// `flow`: a class computed from keys (`cls_flow.c`).
    Flow(Flow),
    /// `fw`: the mark of the frame, which is the handle of the filter (`cls_fw.c`).
    Fw { mask: Option<u32> },
    /// `matchall`: every frame (`cls_matchall.c`).
    Matchall,
    /// An unsupported kind, kept as bytes.
    Other { kind: String, options: Vec<u8> },
    /// `u32`: bits of the frame, in hash tables (`cls_u32.c`).
    U32(U32),
}

impl Classifier {
    /// True for a hash table of `u32`.
    pub(crate) const fn is_table(&self) -> bool {
        matches!(self, Self::U32(U32 { divisor: Some(_), .. }))
    }

    /// `TCA_KIND`.
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
    /// Hashes the keys to `divisor` classes (`hash`), rather than using a single one as it is (`map`).
    pub hashed: bool,
    pub base: Option<Handle>,
    pub divisor: Option<u32>,
    /// Interval at which the hash changes; 0 is never.
    pub perturb_s: u32,
}

/// The `FLOW_KEY_…` that are useful on CAN, in the kernel's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowKey {
    /// `src`: for a CAN frame, the socket that sent it.
    Source,
    /// `dst`: for CAN frames, all the same.
    Destination,
    /// `iif`: the interface on which the frame arrived.
    IncomingInterface,
    Priority,
    Mark,
    /// `sk-uid`: the user of the sending socket.
    SocketUser,
    /// `sk-gid`: its group.
    SocketGroup,
}

/// A node of `u32`, or one of its hash tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct U32 {
    /// As in a handle (`ht 1:3:`): table in bits 20 to 31, slot in bits 12 to 19. 0 is the
    /// table of the filter's preference.
    pub table: u32,
    pub keys: Vec<U32Key>,
    /// The node is a hash table with this many slots, a power of 2 up to 256, and matches nothing itself.
    pub divisor: Option<u32>,
    /// Continues there if all keys match.
    pub link: Option<U32Link>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct U32Key {
    /// Big-endian, as the value.
    pub mask: u32,
    pub value: u32,
    /// From the start of the frame; a multiple of 4.
    pub offset: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct U32Link {
    /// In bits 20 to 31.
    pub table: u32,
    /// Big-endian bits that choose the slot, shifted so that the lowest is bit 0.
    pub mask: u32,
    /// Of the word, from the start of the frame; a multiple of 4.
    pub offset: u16,
}
