//! Counters of the kernel.
//!
//! # Source
//! [`struct gnet_stats_basic`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/gen_stats.h#L26),
//! [`struct gnet_stats_queue`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/gen_stats.h#L59),
//! [`struct tc_htb_xstats`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_sched.h#L443) in Linux 6.1.

use super::codec::{self, Fields};
use candor_netlink::codec::{Attribute, DecodeError};

/// Counters since the discipline was created. They wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QdiscStats {
    /// Sent, or accepted, in accounted lengths.
    pub bytes: u64,
    pub frames: u64,
    pub drops: u32,
    pub requeues: u32,
    /// Times that a rate limit delayed frames.
    pub overlimits: u32,
    /// Bytes that wait, also in disciplines below it.
    pub backlog_bytes: u32,
    /// Frames that wait, also in disciplines below it.
    pub backlog_frames: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStats {
    pub queue: QdiscStats,
    pub htb: Option<HtbStats>,
}

/// `struct tc_htb_xstats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HtbStats {
    /// Frames sent at its own rate, or lent to classes below it.
    pub lends: u32,
    /// Frames sent with tokens borrowed from its parent class.
    pub borrows: u32,
    /// Remaining burst in ticks of 64 ns; may be negative.
    pub tokens_ticks: i32,
    /// Remaining burst at `ceil`.
    pub ceil_tokens_ticks: i32,
}

pub(super) fn queue(bytes: &[u8]) -> Result<QdiscStats, DecodeError> {
    let [_, basic, _, queue, _, _, _, _, frames] = codec::by_number(bytes)?;
    let mut stats = QdiscStats::default();
    if let Some(basic) = basic {
        let mut fields = Fields::of(basic);
        stats.bytes = fields.u64()?;
        stats.frames = fields.u32()?.into();
    }
    // Since Linux 5.5, where 32 bits do not suffice.
    stats.frames = codec::u64_of(frames)?.unwrap_or(stats.frames);
    if let Some(queue) = queue {
        let mut fields = Fields::of(queue);
        stats.backlog_frames = fields.u32()?;
        stats.backlog_bytes = fields.u32()?;
        stats.drops = fields.u32()?;
        stats.requeues = fields.u32()?;
        stats.overlimits = fields.u32()?;
    }
    Ok(stats)
}

/// `TCA_STATS2` of a class of this kind.
pub(super) fn class(kind: &str, bytes: &[u8]) -> Result<ClassStats, DecodeError> {
    let [_, _, _, _, own] = codec::by_number(bytes)?;
    let htb = own.filter(|_| kind == "htb").map(|own| {
        let mut fields = Fields::of(own);
        let (lends, borrows, _giants) = (fields.u32()?, fields.u32()?, fields.u32()?);
        Ok(HtbStats { lends, borrows, tokens_ticks: fields.i32()?, ceil_tokens_ticks: fields.i32()? })
    });
    Ok(ClassStats { queue: queue(bytes)?, htb: htb.transpose()? })
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterStats {
    /// `fw` and `flow` do not count.
    pub hits: Option<Hits>,
    /// In the order of the actions.
    pub actions: Vec<QdiscStats>,
}

/// Frames that a filter tested, and frames that matched.
///
/// # Kernel
/// `u32` counts only with `CONFIG_CLS_U32_PERF`. All are sums over the processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Tested frames; `matchall` does not count them, because all match.
    pub tested: Option<u64>,
    pub hit: u64,
    /// Of `u32`: matches of each key. The next key is compared only then.
    pub keys: Vec<u64>,
}

impl Hits {
    /// `struct tc_basic_pcnt`, `tc_matchall_pcnt` or `tc_u32_pcnt` of this many keys.
    pub(super) fn read(counted: Attribute<'_>, kind: &str, keys: usize) -> Result<Self, DecodeError> {
        let mut fields = Fields::of(counted);
        let tested = if kind == "matchall" { None } else { Some(fields.u64()?) };
        let hit = fields.u64()?;
        let keys = (0..keys).map(|_| fields.u64()).collect::<Result<_, _>>()?;
        Ok(Self { tested, hit, keys })
    }
}
