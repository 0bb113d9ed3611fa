//! Extended matches: expressions about a frame in a `basic` or `flow` filter.
//!
//! The kernel keeps them as a flat list in which each one is joined to the next with *and* or *or*, and stops as soon as
//! the outcome is certain: `a and b or c` is `a and (b or c)`. An [`Ematch`] says the same with explicit groups.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ematch {
    /// All of them, two or more.
    And(Vec<Self>),
    /// `canid`: the identifier fits one of these.
    Canid(Vec<CanRule>),
    /// `cmp`: a number in the frame compared.
    Cmp(Cmp),
    /// `meta`: something about the frame that is not in it.
    Meta(Meta),
    /// `nbyte`: these bytes in the frame.
    Nbyte {
        /// Where, from the start of the frame.
        offset: u16,
        bytes: Vec<u8>,
    },
    Not(Box<Self>),
    /// One of them, two or more.
    Or(Vec<Self>),
    /// A kind that candor does not know, as it was read.
    Other {
        kind: u16,
        data: Vec<u8>,
    },
    /// `u32`: bits of a word of the frame.
    U32 {
        /// Which bits, in the order of the bytes.
        mask: u32,
        value: u32,
        /// Where, from the start of the frame.
        offset: i32,
    },
}

/// An identifier and which of its bits count: `struct can_filter` as em_canid understands it.
///
/// It is for frames of 29 bits if `id` has `CAN_EFF_FLAG`, otherwise for those of 11 bits. For the latter only the 11
/// bits of the identifier are looked at, so that remote frames fit too; for the former `mask` may have `CAN_RTR_FLAG`.
///
/// # Source
/// `em_canid_match()`, `net/sched/em_canid.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CanRule {
    /// `can_id`.
    pub id: u32,
    /// `can_mask`.
    pub mask: u32,
}

/// A number in the frame against a constant (`em_cmp.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cmp {
    pub width: CmpWidth,
    /// Where, from the start of the frame.
    pub offset: u16,
    /// Which of its bits count; 0 for all.
    pub mask: u32,
    /// Whether it is in the byte order of the machine rather than big-endian.
    pub host_order: bool,
    pub relation: Relation,
    pub value: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpWidth {
    U8,
    U16,
    U32,
}

/// How numbers are compared (`TCF_EM_OPND_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Greater,
    Less,
}

/// Something about a frame against a constant (`em_meta.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    pub what: MetaId,
    /// Which of its bits count; 0 for all.
    pub mask: u32,
    pub relation: Relation,
    pub value: u32,
}

/// What `meta` can look at, as far as CAN has use for it (`TCF_META_ID_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaId {
    /// `fwmark`: the mark of the frame (`SO_MARK`, `skbedit mark`).
    Mark,
    /// `pkt_len`: length in bytes.
    PacketLength,
    /// `priority`: the priority of the frame (`SO_PRIORITY`, `skbedit priority`).
    Priority,
    /// `protocol`: 0x000C for CAN, 0x000D for CAN FD.
    Protocol,
}
