//! What becomes of a classifier in the kernel.
//!
//! # Source
//! `net/sched/cls_{basic,flow,fw,u32}.c` of Linux 6.1.

use super::matches::canonical;
use crate::control_group::ControlGroup;
use crate::filter::{Classifier, Filter, Flow, U32, U32Key};
use crate::handle::Handle;

pub(super) fn same(wanted: &Filter, found: &Classifier) -> bool {
    match (&wanted.classifier, found) {
        (Classifier::Basic(wanted), Classifier::Basic(found)) => {
            wanted.as_ref().map(canonical) == found.as_ref().map(canonical)
        }
        (Classifier::ControlGroups(wanted), Classifier::ControlGroups(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(wanted, found)| same_group(wanted, found))
        }
        (Classifier::Flow(flow), Classifier::Flow(found)) => same_flow(flow, found, wanted.parent),
        (Classifier::Fw { mask }, Classifier::Fw { mask: found }) => {
            // `fw_dump()` tells the mask only of a filter that names a class or does something.
            let is_told = wanted.class.is_some_and(|class| class != Handle::NONE) || !wanted.actions.is_empty();
            !is_told || mask.unwrap_or(u32::MAX) == found.unwrap_or(u32::MAX)
        }
        (Classifier::Other { kind: wanted, .. }, Classifier::Other { kind: found, .. }) => wanted == found,
        (Classifier::U32(wanted), Classifier::U32(found)) => same_u32(wanted, found),
        (wanted, found) => wanted == found,
    }
}

/// Where there is no such group, one of its name that was there does no harm: nobody is in it, and its number never comes again.
fn same_group(wanted: &ControlGroup, found: &ControlGroup) -> bool {
    match wanted.place {
        Some(_) => wanted.place == found.place,
        None => found.place.is_none() || (wanted.name.is_some() && wanted.name == found.name),
    }
}

/// The first class is the kernel's to choose, and of its own discipline where that is not said.
fn same_flow(wanted: &Flow, found: &Flow, parent: Handle) -> bool {
    let sorted = |flow: &Flow| {
        let mut keys = flow.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    let base = |base: Handle| if base.major() == 0 { Handle::new(parent.major(), base.minor()) } else { base };
    sorted(wanted) == sorted(found)
        && (wanted.hashed, wanted.perturb_s) == (found.hashed, found.perturb_s)
        && wanted.base.is_none_or(|wanted| found.base == Some(base(wanted)))
        && wanted.divisor.unwrap_or(0) == found.divisor.unwrap_or(0)
}

/// Bits of a key that are not looked at may be anything.
fn same_u32(wanted: &U32, found: &U32) -> bool {
    let looked_at = |key: &U32Key| U32Key { value: key.value & key.mask, ..*key };
    (wanted.table, wanted.divisor, wanted.link) == (found.table, found.divisor, found.link)
        && wanted.keys.iter().map(looked_at).eq(found.keys.iter().map(looked_at))
}
