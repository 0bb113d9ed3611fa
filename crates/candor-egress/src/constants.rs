//! Enumerations of the kernel, with their numbers and the words of `tc`.
//!
//! # Source
//! Linux 6.1: [`TC_ACT_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_cls.h#L63),
//! [`TCF_EM_OPND_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_cls.h#L799) and
//! [`FLOW_KEY_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_cls.h#L363);
//! [`TCA_EGRESS_REDIR`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_act/tc_mirred.h#L8) and following;
//! [`TCF_META_ID_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_ematch/tc_em_meta.h#L36);
//! [`TCF_EM_ALIGN_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_ematch/tc_em_cmp.h#L19).

use crate::action::{Mirred, Verdict};
use crate::ematch::{CmpWidth, MetaId, Relation};
use crate::filter::FlowKey;

/// An enumeration of the kernel.
pub(crate) trait Constant: Copy + PartialEq + 'static {
    /// Each value with its number and its words, the printed one first. Without words `tc` cannot express it.
    const ALL: &'static [(Self, i32, &'static [&'static str])];

    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, _, words)| words.contains(&word)).map(|(value, ..)| *value)
    }

    fn of_number(number: i32) -> Option<Self> {
        Self::ALL.iter().find(|(_, own, _)| *own == number).map(|(value, ..)| *value)
    }

    fn word(self) -> Option<&'static str> {
        Self::ALL.iter().find(|(value, ..)| *value == self)?.2.first().copied()
    }

    fn number(self) -> i32 {
        Self::ALL.iter().find(|(value, ..)| *value == self).map_or(0, |(_, number, _)| *number)
    }

    #[cfg(any(test, feature = "arbitrary"))]
    fn values() -> Vec<Self> {
        Self::ALL.iter().map(|(value, ..)| *value).collect()
    }

    fn words() -> Vec<&'static str> {
        Self::ALL.iter().flat_map(|(_, _, words)| *words).copied().collect()
    }
}

impl Constant for Verdict {
    const ALL: &'static [(Self, i32, &'static [&'static str])] = &[
        (Self::Continue, -1, &["continue"]),
        (Self::Drop, 2, &["drop", "shot"]),
        (Self::Pass, 0, &["pass", "ok"]),
        (Self::Pipe, 3, &["pipe"]),
        (Self::Reclassify, 1, &["reclassify"]),
        (Self::Stolen, 4, &[]),
    ];
}

impl Constant for Mirred {
    const ALL: &'static [(Self, i32, &'static [&'static str])] = &[
        (Self::EgressRedirect, 1, &["egress redirect"]),
        (Self::EgressMirror, 2, &["egress mirror"]),
        (Self::IngressRedirect, 3, &["ingress redirect"]),
        (Self::IngressMirror, 4, &["ingress mirror"]),
    ];
}

impl Constant for Relation {
    const ALL: &'static [(Self, i32, &'static [&'static str])] =
        &[(Self::Equal, 0, &["eq"]), (Self::Greater, 1, &["gt"]), (Self::Less, 2, &["lt"])];
}

impl Constant for CmpWidth {
    const ALL: &'static [(Self, i32, &'static [&'static str])] =
        &[(Self::U8, 1, &["u8"]), (Self::U16, 2, &["u16"]), (Self::U32, 4, &["u32"])];
}

/// The kernel keeps the protocol big-endian: a number for `tc` would depend on the machine.
impl Constant for MetaId {
    const ALL: &'static [(Self, i32, &'static [&'static str])] = &[
        (Self::Mark, 12, &["fwmark", "nf_mark"]),
        (Self::PacketLength, 9, &["pkt_len"]),
        (Self::Priority, 6, &["priority"]),
        (Self::Protocol, 7, &[]),
    ];
}

impl Constant for FlowKey {
    const ALL: &'static [(Self, i32, &'static [&'static str])] = &[
        (Self::Source, 0, &["src"]),
        (Self::Destination, 1, &["dst"]),
        (Self::IncomingInterface, 5, &["iif"]),
        (Self::Priority, 6, &["priority"]),
        (Self::Mark, 7, &["mark"]),
        (Self::SocketUser, 14, &["sk-uid"]),
        (Self::SocketGroup, 15, &["sk-gid"]),
    ];
}
