//! Extended matches: expressions about a frame in a `basic` or `flow` filter.
//!
//! The kernel keeps them as a flat list in which each one is joined to the next with *and* or *or*, and stops as soon as
//! the outcome is certain: `a and b or c` is `a and (b or c)`. An [`Ematch`] says the same with explicit groups.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ematch {
    /// All of them, two or more.
    And(Vec<Self>),
    /// `canid`: the identifier matches one of these.
    Canid(Vec<CanRule>),
    /// `cmp`: compares a number in the frame.
    Cmp(Cmp),
    /// `meta`: compares metadata of the frame.
    Meta(Meta),
    Nbyte {
        /// Bytes from the start of the frame.
        offset: u16,
        bytes: Vec<u8>,
    },
    Not(Box<Self>),
    /// One of them, two or more.
    Or(Vec<Self>),
    /// An unsupported kind, kept as bytes.
    Other {
        kind: u16,
        data: Vec<u8>,
    },
    U32 {
        /// Big-endian, as the value.
        mask: u32,
        value: u32,
        /// Bytes from the start of the frame.
        offset: i32,
    },
}

/// `struct can_filter` as em_canid reads it.
///
/// Matches 29-bit frames if `id` has `CAN_EFF_FLAG`, otherwise 11-bit frames. For the latter only the 11
/// bits of the identifier are compared, so remote frames match too; for the former `mask` may have `CAN_RTR_FLAG`.
///
/// # Source
/// [`em_canid_match()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_canid.c#L93) in Linux 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CanRule {
    pub id: u32,
    pub mask: u32,
}

/// `em_cmp.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cmp {
    pub width: CmpWidth,
    /// Bytes from the start of the frame.
    pub offset: u16,
    /// 0 is all bits.
    pub mask: u32,
    /// Native byte order, rather than big-endian.
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

/// `TCF_EM_OPND_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Greater,
    Less,
}

/// `em_meta.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    pub what: MetaId,
    /// 0 is all bits.
    pub mask: u32,
    pub relation: Relation,
    pub value: u32,
}

/// The `TCF_META_ID_…` that are useful on CAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaId {
    /// `fwmark` (`SO_MARK`, `skbedit mark`).
    Mark,
    PacketLength,
    /// `priority` (`SO_PRIORITY`, `skbedit priority`).
    Priority,
    /// `protocol`: 0x000C for CAN, 0x000D for CAN FD.
    Protocol,
}

impl Ematch {
    /// Groups terms as the kernel does: a joint (true for *and*) applies to everything after its term, and neighbours with
    /// the same joint are one group. That of the last term is ignored.
    pub(crate) fn joined(mut terms: Vec<(Self, bool)>) -> Self {
        let (mut tail, _) = terms.pop().expect("a sequence has a term");
        while let Some(&(_, is_and)) = terms.last() {
            let before = terms.iter().rposition(|(_, other)| *other != is_and).map_or(0, |at| at + 1);
            let mut group: Vec<_> = terms.drain(before..).map(|(term, _)| term).collect();
            group.push(tail);
            tail = if is_and { Self::And(group) } else { Self::Or(group) };
        }
        tail
    }
}
