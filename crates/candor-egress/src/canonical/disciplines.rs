//! What becomes of a discipline or class in the kernel.
//!
//! # Source
//! `net/sched/sch_{drr,ets,fq_codel,htb,netem,sfq,tbf}.c` of Linux 6.1.

use std::time::Duration;

use crate::discipline::{ByteRate, Discipline, Ets, FqCodel, Htb, Netem, Sfq, SizeTable, Tbf};
use crate::ticks;
use crate::tree::{Class, HtbClass, Share};

/// To which kernels since 2025 raise a quantum; before, it is kept.
const LEAST_QUANTUM: u32 = 256;
/// To which kernels since 2025 lower one of `drr` and `ets`.
const MOST_QUANTUM: u32 = 1 << 20;
/// `SFQ_MAX_DEPTH`.
const SFQ_MAX_DEPTH: u32 = 127;
/// `SFQ_MAX_FLOWS`.
const SFQ_MAX_FLOWS: u32 = 0x1_0000 - SFQ_MAX_DEPTH - 1;
/// `TC_HTB_NUMPRIO` - 1.
const HTB_LAST_PRIO: u32 = 7;
/// Bits by which `fq_codel` keeps a time less exactly than in nanoseconds (`CODEL_SHIFT`).
const CODEL_SHIFT: u32 = 10;

pub(super) fn same(wanted: &Discipline, found: &Discipline) -> bool {
    use Discipline as D;
    match (wanted, found) {
        (D::Bfifo { limit_bytes: wanted }, D::Bfifo { limit_bytes: found })
        | (D::Pfifo { limit_frames: wanted }, D::Pfifo { limit_frames: found })
        | (D::PfifoHeadDrop { limit_frames: wanted }, D::PfifoHeadDrop { limit_frames: found })
        | (D::Skbprio { limit_frames: wanted }, D::Skbprio { limit_frames: found }) => is_open_or(*wanted, *found),
        (D::Ets(wanted), D::Ets(found)) => same_ets(wanted, found),
        (D::FqCodel(wanted), D::FqCodel(found)) => same_fq_codel(wanted, found),
        (D::Htb(wanted), D::Htb(found)) => same_htb(wanted, found),
        (D::Netem(wanted), D::Netem(found)) => same_netem(wanted, found),
        (D::Other { kind: wanted, .. }, D::Other { kind: found, .. }) => wanted == found,
        (D::Sfq(wanted), D::Sfq(found)) => same_sfq(wanted, found),
        (D::Tbf(wanted), D::Tbf(found)) => same_tbf(wanted, found),
        (wanted, found) => wanted == found,
    }
}

pub(super) fn same_table(wanted: Option<&SizeTable>, found: Option<&SizeTable>) -> bool {
    let without_sizes = |table: &SizeTable| SizeTable { sizes: Vec::new(), ..table.clone() };
    match (wanted, found) {
        (Some(wanted), Some(found)) => {
            let is_as_long = found.sizes.is_empty() || found.sizes.len() == wanted.sizes.len();
            is_as_long && without_sizes(wanted) == without_sizes(found)
        }
        (wanted, found) => wanted == found,
    }
}

/// An inner class has no queue and so no quantum.
pub(super) fn same_class(wanted: &Class, found: &Class, is_inner: bool) -> bool {
    wanted.parent == found.parent
        && match (&wanted.share, &found.share) {
            (Share::Drr { quantum_bytes: wanted }, Share::Drr { quantum_bytes: found }) => {
                same_quantum(*wanted, *found)
            }
            (Share::Htb(wanted), Share::Htb(found)) => same_htb_class(wanted, found, is_inner),
            (Share::Other { kind: wanted, .. }, Share::Other { kind: found, .. }) => wanted == found,
            _ => false,
        }
}

/// Bursts are times: equal if they are so to a tick up or down.
pub(super) fn same_burst(wanted: u64, found: u64, per_second: u64) -> bool {
    let [wanted, found] = [wanted, found].map(|amount| ticks::ticks(amount, per_second));
    wanted.zip(found).map_or(wanted == found, |(wanted, found)| wanted.abs_diff(found) <= 1)
}

fn is_open_or(wanted: Option<u32>, found: Option<u32>) -> bool {
    wanted.is_none() || wanted == found
}

fn same_quantum(wanted: Option<u32>, found: Option<u32>) -> bool {
    is_open_or(wanted, found) || {
        let kept = |quantum: u32| quantum.clamp(LEAST_QUANTUM, MOST_QUANTUM);
        wanted.map(kept) == found || wanted.map(|quantum| quantum.max(LEAST_QUANTUM)) == found
    }
}

fn same_ets(wanted: &Ets, found: &Ets) -> bool {
    let rest = wanted.bands.saturating_sub(1);
    let band = |priomap: &[u8], priority: usize| priomap.get(priority).copied().unwrap_or(rest);
    let quantum = |(at, found): (usize, &u32)| same_quantum(wanted.quanta_bytes.get(at).copied(), Some(*found));
    (wanted.bands, wanted.strict) == (found.bands, found.strict)
        && wanted.quanta_bytes.len() <= found.quanta_bytes.len()
        && found.quanta_bytes.iter().enumerate().all(quantum)
        && (0..16).all(|priority| band(&wanted.priomap, priority) == band(&found.priomap, priority))
}

fn same_fq_codel(wanted: &FqCodel, found: &FqCodel) -> bool {
    let same_time = |wanted: Option<u32>, found| is_open_or(wanted, found) || wanted.map(codel_time) == found;
    is_open_or(wanted.limit_frames, found.limit_frames)
        && is_open_or(wanted.flows, found.flows)
        && same_quantum(wanted.quantum_bytes, found.quantum_bytes)
        && same_time(wanted.target_us, found.target_us)
        && same_time(wanted.interval_us, found.interval_us)
        && is_open_or(wanted.memory_limit_bytes.map(|limit| limit.min(1 << 31)), found.memory_limit_bytes)
}

/// What is left of microseconds that were kept in units of 1024 ns.
fn codel_time(us: u32) -> u32 {
    let ns = ((u64::from(us) * 1000) >> CODEL_SHIFT) << CODEL_SHIFT;
    u32::try_from(ns / 1000).unwrap_or(u32::MAX)
}

fn same_htb(wanted: &Htb, found: &Htb) -> bool {
    // The kernel takes it for a signed number, and makes 1 of those below.
    let kept = |number: u32| if number > i32::MAX.unsigned_abs() { 1 } else { number.max(1) };
    wanted.default == found.default
        && kept(wanted.rate_to_quantum) == kept(found.rate_to_quantum)
        && is_open_or(wanted.direct_frames, found.direct_frames)
}

fn same_htb_class(wanted: &HtbClass, found: &HtbClass, is_inner: bool) -> bool {
    (wanted.rate, wanted.ceil) == (found.rate, found.ceil)
        && same_burst(wanted.burst_bytes.into(), found.burst_bytes.into(), found.rate.0)
        && same_burst(wanted.ceil_burst_bytes.into(), found.ceil_burst_bytes.into(), found.ceil.0)
        && (is_inner || is_open_or(wanted.quantum_bytes, found.quantum_bytes))
        && wanted.prio.min(HTB_LAST_PRIO) == found.prio
}

fn same_netem(wanted: &Netem, found: &Netem) -> bool {
    // The kernel draws it from 32 bits.
    let most = Duration::from_nanos(u64::from(i32::MAX.unsigned_abs()));
    is_open_or(wanted.limit_frames, found.limit_frames)
        && (wanted.delay, wanted.jitter.min(most)) == (found.delay, found.jitter)
        && (wanted.loss, wanted.duplicate) == (found.loss, found.duplicate)
}

/// As `sfq_change()` does it: each number is bounded by others.
fn same_sfq(wanted: &Sfq, found: &Sfq) -> bool {
    let given = |value: Option<u32>| value.filter(|&value| value > 0);
    let depth = given(wanted.depth_frames).map(|depth| depth.min(SFQ_MAX_DEPTH));
    let divisor = given(wanted.divisor);
    let flows = given(wanted.flows).map(|flows| flows.min(SFQ_MAX_FLOWS).min(divisor.unwrap_or(u32::MAX)));
    let room = flows.or(found.flows).unwrap_or(u32::MAX).saturating_mul(depth.or(found.depth_frames).unwrap_or(1));
    let limit = given(wanted.limit_frames).map(|limit| limit.min(room));
    let flows = flows.map(|flows| flows.min(limit.unwrap_or(u32::MAX)));
    is_open_or(limit, found.limit_frames)
        && same_quantum(given(wanted.quantum_bytes), found.quantum_bytes)
        && is_open_or(wanted.perturb_s, found.perturb_s)
        && is_open_or(divisor, found.divisor)
        && is_open_or(flows, found.flows)
        && is_open_or(depth, found.depth_frames)
        && wanted.head_drop == found.head_drop
}

fn same_tbf(wanted: &Tbf, found: &Tbf) -> bool {
    let same = |wanted: u32, found: u32, rate: ByteRate| same_burst(wanted.into(), found.into(), rate.0);
    let same_peak = match (wanted.peak, found.peak) {
        (Some(wanted), Some(found)) => {
            wanted.rate == found.rate && same(wanted.burst_bytes, found.burst_bytes, found.rate)
        }
        (wanted, found) => wanted == found,
    };
    (wanted.rate, wanted.limit_bytes) == (found.rate, found.limit_bytes)
        && same(wanted.burst_bytes, found.burst_bytes, found.rate)
        && same_peak
}
