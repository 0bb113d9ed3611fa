//! Compares wanted disciplines, classes, classifiers and actions with those that the kernel reports.
//!
//! # Source
//! Linux 6.1: [`drr_change_class()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_drr.c#L59),
//! [`ets_qdisc_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_ets.c#L581),
//! [`fq_codel_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_fq_codel.c#L402),
//! [`htb_change_class()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_htb.c#L1753),
//! [`netem_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_netem.c#L1024),
//! [`sfq_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_sfq.c#L627),
//! [`tbf_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_tbf.c#L355),
//! [`basic_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_basic.c#L170),
//! [`flow_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_flow.c#L393),
//! [`fw_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_fw.c#L241),
//! [`u32_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_u32.c#L884),
//! [`em_canid_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_canid.c#L120),
//! [`em_canid_match()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_canid.c#L93),
//! [`tcf_police_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/act_police.c#L38).

use std::mem::discriminant;

use crate::action::{Action, Police};
use crate::control_group::ControlGroup;
use crate::discipline::{ByteRate, Discipline, SizeTable, Tbf};
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch};
use crate::filter::{Classifier, Filter, Flow, U32, U32Key};
use crate::handle::Handle;
use crate::kinds::QUANTUM;
use crate::tree::{Class, HtbClass, Share};
use crate::{kinds, ticks};
use candor_core::frame::{CAN_EFF_FLAG, CAN_SFF_MASK};

/// `TC_HTB_NUMPRIO` - 1.
const HTB_LAST_PRIO: u32 = 7;

pub(super) fn same_discipline(wanted: &Discipline, found: &Discipline) -> bool {
    use Discipline as D;
    match (wanted, found) {
        (D::Arbitration(wanted), D::Arbitration(found)) => wanted == found,
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

/// Bursts are stored as times: equal within a tick.
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

pub(super) fn same_classifier(wanted: &Filter, found: &Classifier) -> bool {
    match (&wanted.classifier, found) {
        (Classifier::Basic(wanted), Classifier::Basic(found)) => {
            wanted.as_ref().map(canonical) == found.as_ref().map(canonical)
        }
        (Classifier::ControlGroups(wanted), Classifier::ControlGroups(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(wanted, found)| same_group(wanted, found))
        }
        (Classifier::Flow(flow), Classifier::Flow(found)) => same_flow(flow, found, wanted.parent),
        (Classifier::Fw { mask }, Classifier::Fw { mask: found }) => {
            // `fw_dump()` reports the mask only for a filter that names a class or does something.
            let is_told = wanted.class.is_some_and(|class| class != Handle::NONE) || !wanted.actions.is_empty();
            !is_told || mask.unwrap_or(u32::MAX) == found.unwrap_or(u32::MAX)
        }
        (Classifier::Other { kind: wanted, .. }, Classifier::Other { kind: found, .. }) => wanted == found,
        (Classifier::U32(wanted), Classifier::U32(found)) => same_u32(wanted, found),
        (wanted, found) => wanted == found,
    }
}

/// A former group of the same name is equal to a missing one: it is empty, and its id is never reused.
fn same_group(wanted: &ControlGroup, found: &ControlGroup) -> bool {
    match wanted.id {
        Some(_) => wanted.id == found.id,
        None => found.id.is_none() || (wanted.name.is_some() && wanted.name == found.name),
    }
}

/// The kernel chooses an open base class, and completes one without a major number.
fn same_flow(wanted: &Flow, found: &Flow, parent: Handle) -> bool {
    let sorted = |flow: &Flow| {
        let mut keys = flow.keys.clone();
        candor_core::order::sort(&mut keys);
        keys.dedup();
        keys
    };
    let base = |base: Handle| if base.major() == 0 { Handle::new(parent.major(), base.minor()) } else { base };
    sorted(wanted) == sorted(found)
        && (wanted.hashed, wanted.perturb_s) == (found.hashed, found.perturb_s)
        && wanted.base.is_none_or(|wanted| found.base == Some(base(wanted)))
        && wanted.divisor.unwrap_or(0) == found.divisor.unwrap_or(0)
}

/// Ignores masked bits of the values.
fn same_u32(wanted: &U32, found: &U32) -> bool {
    let looked_at = |key: &U32Key| U32Key { value: key.value & key.mask, ..*key };
    (wanted.table, wanted.divisor, wanted.link) == (found.table, found.divisor, found.link)
        && wanted.keys.iter().map(looked_at).eq(found.keys.iter().map(looked_at))
}

/// The canonical form of an expression: nested groups of the same kind are flattened, double negations removed,
/// identifiers sorted, and masked bits cleared.
pub(super) fn canonical(expression: &Ematch) -> Ematch {
    match expression {
        Ematch::And(members) => joined(members, |member| match member {
            Ematch::And(inner) => Ok(inner),
            other => Err(other),
        })
        .map_or_else(|one| one, Ematch::And),
        Ematch::Or(members) => joined(members, |member| match member {
            Ematch::Or(inner) => Ok(inner),
            other => Err(other),
        })
        .map_or_else(|one| one, Ematch::Or),
        Ematch::Not(inner) => match canonical(inner) {
            Ematch::Not(twice) => *twice,
            other => Ematch::Not(Box::new(other)),
        },
        Ematch::Canid(rules) => {
            let mut rules: Vec<_> = rules.iter().copied().map(looked_at).collect();
            candor_core::order::sort(&mut rules);
            rules.dedup();
            Ematch::Canid(rules)
        }
        Ematch::Cmp(cmp) => Ematch::Cmp(Cmp { mask: open_mask(cmp), ..*cmp }),
        Ematch::U32 { mask, value, offset } => Ematch::U32 { mask: *mask, value: value & mask, offset: *offset },
        other => other.clone(),
    }
}

/// Flattens members; `Err` with the only one, if there are no others.
fn joined(members: &[Ematch], inner: fn(Ematch) -> Result<Vec<Ematch>, Ematch>) -> Result<Vec<Ematch>, Ematch> {
    let parts = members.iter().map(canonical).map(inner);
    let mut all: Vec<_> = parts.flat_map(|part| part.unwrap_or_else(|one| vec![one])).collect();
    match all.pop() {
        Some(only) if all.is_empty() => Err(only),
        last => {
            all.extend(last);
            Ok(all)
        }
    }
}

/// Clears the bits that the kernel does not compare.
const fn looked_at(rule: CanRule) -> CanRule {
    if rule.id & CAN_EFF_FLAG == 0 {
        let mask = rule.mask & CAN_SFF_MASK;
        return CanRule { id: rule.id & mask, mask };
    }
    let mask = rule.mask & !CAN_EFF_FLAG;
    CanRule { id: rule.id & mask | CAN_EFF_FLAG, mask }
}

/// 0 if the mask covers all bits of the number.
const fn open_mask(cmp: &Cmp) -> u32 {
    let all = match cmp.width {
        CmpWidth::U8 => 0xFF,
        CmpWidth::U16 => 0xFFFF,
        CmpWidth::U32 => u32::MAX,
    };
    if cmp.mask & all == all { 0 } else { cmp.mask }
}

pub(super) fn same_actions(wanted: &[Action], found: &[Action]) -> bool {
    wanted.len() == found.len() && wanted.iter().zip(found).all(|(wanted, found)| same_action(wanted, found))
}

fn same_action(wanted: &Action, found: &Action) -> bool {
    match (wanted, found) {
        (Action::Other { kind: wanted, .. }, Action::Other { kind: found, .. }) => wanted == found,
        (Action::Police(wanted), Action::Police(found)) => same_police(wanted, found),
        (wanted, found) => wanted == found,
    }
}

/// An MTU of 0 lets the kernel choose.
fn same_police(wanted: &Police, found: &Police) -> bool {
    let same_bytes = match (wanted.bytes, found.bytes) {
        (Some(wanted), Some(found)) => {
            wanted.rate == found.rate
                && same_burst(wanted.burst_bytes.into(), found.burst_bytes.into(), found.rate.0)
                && (wanted.mtu_bytes == 0 || wanted.mtu_bytes == found.mtu_bytes)
        }
        (wanted, found) => wanted == found,
    };
    let same_frames = match (wanted.frames, found.frames) {
        (Some(wanted), Some(found)) => {
            wanted.per_second == found.per_second
                && same_burst(wanted.burst_frames, found.burst_frames, found.per_second)
        }
        (wanted, found) => wanted == found,
    };
    same_bytes && same_frames && (wanted.exceed, wanted.conform) == (found.exceed, found.conform)
}
