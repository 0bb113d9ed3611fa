//! Expressions that mean the same.
//!
//! # Source
//! `em_canid_change()`, `em_canid_match()`, `net/sched/em_canid.c`.

use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch};
use candor_core::frame::{CAN_EFF_FLAG, CAN_SFF_MASK};

/// The expression in the one form that all of its kind have: groups in groups of the same kind are one, nothing is denied
/// twice, identifiers are sorted, and bits that are not looked at are 0.
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
            rules.sort_unstable();
            rules.dedup();
            Ematch::Canid(rules)
        }
        Ematch::Cmp(cmp) => Ematch::Cmp(Cmp { mask: open_mask(cmp), ..*cmp }),
        Ematch::U32 { mask, value, offset } => Ematch::U32 { mask: *mask, value: value & mask, offset: *offset },
        other => other.clone(),
    }
}

/// The members with those of inner groups among them; the only one, if there are no others.
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

/// Of 11 bits only those count, and none of the flags; of 29 bits the flag that says so is in the rule, not in its mask.
const fn looked_at(rule: CanRule) -> CanRule {
    if rule.id & CAN_EFF_FLAG == 0 {
        let mask = rule.mask & CAN_SFF_MASK;
        return CanRule { id: rule.id & mask, mask };
    }
    let mask = rule.mask & !CAN_EFF_FLAG;
    CanRule { id: rule.id & mask | CAN_EFF_FLAG, mask }
}

/// 0 where all bits of the number count.
const fn open_mask(cmp: &Cmp) -> u32 {
    let all = match cmp.width {
        CmpWidth::U8 => 0xFF,
        CmpWidth::U16 => 0xFFFF,
        CmpWidth::U32 => u32::MAX,
    };
    if cmp.mask & all == all { 0 } else { cmp.mask }
}
