//! What becomes of a discipline or class in the kernel.
//!
//! # Source
//! `net/sched/sch_{drr,ets,fq_codel,htb,netem,sfq,tbf}.c` of Linux 6.1.

use std::mem::discriminant;

use crate::discipline::{ByteRate, Discipline, SizeTable, Tbf};
use crate::kinds::{self, QUANTUM};
use crate::ticks;
use crate::tree::{Class, HtbClass, Share};

/// `TC_HTB_NUMPRIO` - 1.
const HTB_LAST_PRIO: u32 = 7;

pub(super) fn same(wanted: &Discipline, found: &Discipline) -> bool {
    use Discipline as D;
    match (wanted, found) {
        (D::Other { kind: wanted, .. }, D::Other { kind: found, .. }) => wanted == found,
        (D::Tbf(wanted), D::Tbf(found)) => same_tbf(wanted, found),
        // `noqueue` and `clsact` have no options, and so are not in the table.
        (wanted, found) if discriminant(wanted) == discriminant(found) => {
            kinds::kind(wanted.kind()).is_none_or(|kind| {
                let wanted = (kind.kept)(wanted, found);
                kind.options.iter().all(|option| {
                    let [wanted, found] = [&wanted, found].map(|discipline| (option.field.get)(discipline));
                    let same = |(wanted, found): (&i128, &i128)| is_kept(*wanted, *found, option.kept);
                    wanted.is_empty() || (wanted.len() == found.len() && wanted.iter().zip(&found).all(same))
                })
            })
        }
        _ => false,
    }
}

fn is_kept(wanted: i128, found: i128, kept: &[fn(i128) -> i128]) -> bool {
    wanted == found || kept.iter().any(|kept| kept(wanted) == found)
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
    let kept = |wanted: u32| found.is_some_and(|found| is_kept(wanted.into(), found.into(), QUANTUM));
    wanted.is_none_or(kept)
}

fn same_htb_class(wanted: &HtbClass, found: &HtbClass, is_inner: bool) -> bool {
    (wanted.rate, wanted.ceil) == (found.rate, found.ceil)
        && same_burst(wanted.burst_bytes.into(), found.burst_bytes.into(), found.rate.0)
        && same_burst(wanted.ceil_burst_bytes.into(), found.ceil_burst_bytes.into(), found.ceil.0)
        && (is_inner || is_open_or(wanted.quantum_bytes, found.quantum_bytes))
        && wanted.prio.min(HTB_LAST_PRIO) == found.prio
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
