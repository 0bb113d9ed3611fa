//! The queueing disciplines, one variant for each kind that a CAN interface may sensibly have, with their parameters.
//!
//! A parameter that is `None` is left to the kernel when the discipline is made; one that was read back from the kernel
//! is always set. Lengths in bytes count a frame as the kernel does: 16 bytes for a classic frame of any length,
//! 72 for one of CAN FD (`CAN_MTU`, `CANFD_MTU`), unless a [`SizeTable`] of the root says otherwise.

use std::time::Duration;

use crate::arbitration::Arbitration;

/// Named as in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// `arb…`: the frame that would win arbitration leaves first; programs in BPF that candor makes
    /// ([`candor_bpf::queue`]).
    Arbitration(Arbitration),
    /// `bfifo`: first in, first out, as many bytes as the limit allows (`net/sched/sch_fifo.c`).
    Bfifo {
        /// Room in bytes; the length of the transmit queue of the interface times its MTU.
        limit_bytes: Option<u32>,
    },
    /// `clsact`: no queue, a place for filters with actions at both sides of the interface (`sch_ingress.c`).
    Clsact,
    /// `drr`: deficit round robin between classes; an unmatched frame is dropped (`sch_drr.c`).
    Drr,
    /// `etf`: earliest launch time first (`sch_etf.c`).
    Etf(Etf),
    /// `ets`: bands, the first strict, the others in deficit round robin (`sch_ets.c`).
    Ets(Ets),
    /// `fq_codel`: flows in round robin, each kept short (`sch_fq_codel.c`).
    FqCodel(FqCodel),
    /// `htb`: classes that have a rate and borrow what others leave (`sch_htb.c`).
    Htb(Htb),
    /// `netem`: delay, loss and other faults (`sch_netem.c`).
    Netem(Netem),
    /// `noqueue`: the default of vcan, which cannot be created.
    Noqueue,
    /// An unsupported kind, kept as bytes.
    Other { kind: String, options: Vec<u8> },
    /// `pfifo`: first in, first out (`sch_fifo.c`).
    Pfifo {
        /// Room in frames; the length of the transmit queue of the interface at that moment.
        limit_frames: Option<u32>,
    },
    /// `pfifo_fast`: three bands by the priority of the socket, the default of Linux (`sch_generic.c`).
    PfifoFast,
    /// `pfifo_head_drop`: as `pfifo`, but drops the oldest frame when full (`sch_fifo.c`).
    PfifoHeadDrop {
        /// Room in frames; the length of the transmit queue of the interface at that moment.
        limit_frames: Option<u32>,
    },
    /// `prio`: bands, the first that has a frame sends (`sch_prio.c`).
    Prio(Prio),
    /// `sfq`: flows in round robin (`sch_sfq.c`).
    Sfq(Sfq),
    /// `skbprio`: drops the frame of the lowest priority when full (`sch_skbprio.c`).
    Skbprio {
        /// Room in frames; 64.
        limit_frames: Option<u32>,
    },
    /// `tbf`: a rate with bursts (`sch_tbf.c`).
    Tbf(Tbf),
}

impl Discipline {
    /// The classes of `prio` and `ets`, numbered from 1; 0 for other kinds.
    pub(crate) const fn bands(&self) -> u8 {
        match self {
            Self::Prio(prio) => prio.bands,
            Self::Ets(ets) => ets.bands,
            _ => 0,
        }
    }

    /// `TCA_KIND`.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Arbitration(arbitration) => arbitration.name(),
            Self::Bfifo { .. } => "bfifo",
            Self::Clsact => "clsact",
            Self::Drr => "drr",
            Self::Etf(_) => "etf",
            Self::Ets(_) => "ets",
            Self::FqCodel(_) => "fq_codel",
            Self::Htb(_) => "htb",
            Self::Netem(_) => "netem",
            Self::Noqueue => "noqueue",
            Self::Other { kind, .. } => kind,
            Self::Pfifo { .. } => "pfifo",
            Self::PfifoFast => "pfifo_fast",
            Self::PfifoHeadDrop { .. } => "pfifo_head_drop",
            Self::Prio(_) => "prio",
            Self::Sfq(_) => "sfq",
            Self::Skbprio { .. } => "skbprio",
            Self::Tbf(_) => "tbf",
        }
    }
}

/// Bytes per second. 1600 are 100 classic frames/s of 16 bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteRate(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Etf {
    /// Time before the launch time at which a frame is handed to the driver.
    pub delta_ns: i32,
    /// `CLOCK_…` of the launch times; 11 is `CLOCK_TAI`.
    pub clock_id: i32,
    /// `TC_ETF_DEADLINE_MODE_ON`: launch times are deadlines.
    pub deadline_mode: bool,
    /// `TC_ETF_OFFLOAD_ON`.
    pub offload: bool,
    /// `TC_ETF_SKIP_SOCK_CHECK`: accepts sockets without launch times.
    pub skip_sock_check: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ets {
    /// Number of bands, 1 to 16.
    pub bands: u8,
    /// Strict bands, counted from the first.
    pub strict: u8,
    /// Of the other bands; kernels since 2025 raise those below 256 to 256.
    pub quanta_bytes: Vec<u32>,
    /// Band of each socket priority 0 to 15; fewer leave the rest to the last band.
    pub priomap: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqCodel {
    pub limit_frames: Option<u32>,
    pub flows: Option<u32>,
    pub quantum_bytes: Option<u32>,
    pub target_us: Option<u32>,
    pub interval_us: Option<u32>,
    pub memory_limit_bytes: Option<u32>,
}

/// The rates are those of its [classes](super::tree::HtbClass).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Htb {
    /// Minor number of the class for frames that no filter takes; 0 sends them at once, ahead of all classes.
    pub default: u16,
    /// Divides the rate of a class for its default quantum.
    pub rate_to_quantum: u32,
    /// Room for frames that are sent at once; `txqueuelen` by default.
    pub direct_frames: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Netem {
    /// Room in frames; 1000.
    pub limit_frames: Option<u32>,
    pub delay: Duration,
    pub jitter: Duration,
    /// Lost share of frames, in 2⁻³²: `u32::MAX` is all.
    pub loss: u32,
    /// Duplicated share of frames, in 2⁻³².
    pub duplicate: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prio {
    /// Number of bands, 2 to 16.
    pub bands: u8,
    /// Band of each socket priority 0 to 15, for frames that no filter takes.
    pub priomap: [u8; 16],
}

impl Prio {
    /// The map of `tc` and `pfifo_fast`: priorities 6 and 7 go to the first of three bands.
    pub const PRIOMAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sfq {
    /// Room in frames; 127.
    pub limit_frames: Option<u32>,
    /// Bytes of a flow for each round; kernels since 2025 raise those below 256 to 256.
    pub quantum_bytes: Option<u32>,
    /// Interval at which the hash changes; 0 is never.
    pub perturb_s: Option<u32>,
    /// Slots of the hash table, a power of 2.
    pub divisor: Option<u32>,
    /// Flows with queued frames; 127.
    pub flows: Option<u32>,
    /// Room for frames of a flow; 127.
    pub depth_frames: Option<u32>,
    pub head_drop: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tbf {
    pub rate: ByteRate,
    /// Longer frames are rejected.
    pub burst_bytes: u32,
    pub limit_bytes: u32,
    pub peak: Option<Peak>,
}

/// Second bucket of `tbf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    pub rate: ByteRate,
    /// Its size, at least a frame (`mtu`, `minburst`).
    pub burst_bytes: u32,
}

/// `stab`: the accounted length of a frame in the whole tree. Newer kernels reject it below the root.
///
/// A frame of n bytes counts as entry `(n + overhead + align) >> cell_log` of the table, times 2^`size_log`, or as
/// `n + overhead` where there is no table; never less than `mpu`.
///
/// # Source
/// [`__qdisc_calculate_pkt_len()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L587) in Linux 6.1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeTable {
    /// Added to each length; may be negative.
    pub overhead_bytes: i32,
    pub mpu_bytes: u32,
    /// Bytes of a cell of the table, as a power of 2.
    pub cell_log: u8,
    /// Unit of the entries, as a power of 2.
    pub size_log: u8,
    pub cell_align: i16,
    pub mtu_bytes: u32,
    /// The table; empty for none.
    pub sizes: Vec<u16>,
}

impl SizeTable {
    /// The table that `tc` makes for `stab`: `slots` lengths, none below `mpu_bytes`. Without `mpu_bytes` there is none.
    #[must_use]
    pub fn even(overhead_bytes: i32, mpu_bytes: u32, mtu_bytes: u32, slots: usize) -> Self {
        if mpu_bytes == 0 {
            return Self { overhead_bytes, ..Self::default() };
        }
        let last = slots.saturating_sub(1);
        let covers = |log: &u8| usize::try_from(mtu_bytes >> log).is_ok_and(|slot| slot <= last);
        let cell_log = (0..=31).find(covers).unwrap_or(31);
        let length = |slot: u64| ((slot + 1) << cell_log).max(u64::from(mpu_bytes));
        let longest = (0_u64..).zip(0..slots).map(|(slot, _)| length(slot)).max().unwrap_or(0);
        let size_log = (0..=31).find(|log| longest >> log <= u64::from(u16::MAX)).unwrap_or(31);
        let entry = |slot| u16::try_from(length(slot) >> size_log).unwrap_or(u16::MAX);
        let sizes = (0_u64..).zip(0..slots).map(|(slot, _)| entry(slot)).collect();
        // The entry of a cell is its upper end, so a length of just that belongs to it.
        Self { overhead_bytes, mpu_bytes, cell_log, size_log, cell_align: -1, mtu_bytes, sizes }
    }
}
