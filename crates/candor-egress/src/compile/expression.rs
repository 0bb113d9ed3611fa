//! A selection as expressions that the kernel understands.

use super::{SOURCE_MASK, source_mark};
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use crate::policy::{FrameKind, Mark, Selection};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_MAX_DLEN};
use candor_core::ids::{Effort, IdSet};

/// Rules of one `canid`: the kernel takes 500, but `tc` only 400.
const RULES_OF_A_MATCH: usize = 400;
/// `canid` matches of one filter: 32 000 bytes, where a netlink attribute has less than 65 536.
const MATCHES_OF_A_FILTER: usize = 10;
/// Offset of the length in both frame structs.
const LENGTH_AT: u16 = 4;

/// One for each filter; `None` matches every frame, and an empty list none.
pub(super) fn of(selection: &Selection) -> Vec<Option<Ematch>> {
    let mut others = Vec::new();
    let mark = |value, mask| meta(MetaId::Mark, value, mask);
    others.extend(any(selection.from.iter().map(|bus| mark(source_mark(*bus), SOURCE_MASK)).collect()));
    let priority = |value: &u32| meta(MetaId::Priority, *value, 0);
    others.extend(any(selection.socket_priorities.iter().map(priority).collect()));
    // A mask without bits is every mark; for the kernel it would be all bits.
    if !selection.marks.iter().any(|mark| mark.mask == 0) {
        others.extend(any(selection
            .marks
            .iter()
            .map(|&Mark { value, mask: bits }| mark(value & bits, bits))
            .collect()));
    }
    if let Some(length) = &selection.length {
        if length.is_empty() {
            return Vec::new();
        }
        others.extend(self::length(*length.start(), *length.end()));
    }
    let identifiers = match (&selection.ids, selection.kind) {
        (None, None) => return vec![all(others)],
        (None, Some(kind)) => vec![is(kind)],
        (Some(ids), kind) => identifiers(ids, kind),
    };
    // The identifiers last: where there are many, only frames that fit all else are compared with them.
    let filter = |some: &[Ematch]| all(others.iter().cloned().chain(any(some.to_vec())).collect());
    identifiers.chunks(MATCHES_OF_A_FILTER).map(filter).collect()
}

/// One expression for all of these, whose frames share a limit. `None` matches no frame, `Some(None)`
/// every frame.
pub(super) fn of_any(take: &[Selection]) -> Option<Option<Ematch>> {
    let each: Vec<_> = take.iter().flat_map(of).collect();
    if each.is_empty() {
        return None;
    }
    let terms: Option<Vec<_>> = each.into_iter().collect();
    let flat = terms.into_iter().flatten().flat_map(|term| match term {
        Ematch::Or(inner) => inner,
        other => vec![other],
    });
    Some(any(flat.collect()))
}

/// Alternatives. `canid` does not distinguish 11-bit data and remote frames, so another match does if they
/// differ.
fn identifiers(ids: &IdSet, kind: Option<FrameKind>) -> Vec<Ematch> {
    let (data, remote) = (rules(ids, FrameKind::Data), rules(ids, FrameKind::Remote));
    let canid = |rules: &[CanRule]| rules.chunks(RULES_OF_A_MATCH).map(|some| Ematch::Canid(some.to_vec())).collect();
    let only = |kind, rules: &[CanRule]| {
        let matches: Vec<_> = canid(rules);
        matches.into_iter().map(|canid| Ematch::And(vec![canid, is(kind)])).collect::<Vec<_>>()
    };
    match kind {
        Some(FrameKind::Data) => only(FrameKind::Data, &data),
        Some(FrameKind::Remote) => only(FrameKind::Remote, &remote),
        None if data == remote => canid(&data),
        None => [only(FrameKind::Data, &data), only(FrameKind::Remote, &remote)].concat(),
    }
}

/// The identifiers of data or of remote frames. Rules for 11 bits never match frames of 29 bits, nor vice versa, so
/// a set of both needs both.
fn rules(ids: &IdSet, kind: FrameKind) -> Vec<CanRule> {
    let remote = if kind == FrameKind::Remote { CAN_RTR_FLAG } else { 0 };
    let of = |format| {
        let ids = within(ids, Filter { id: format | remote, mask: CAN_EFF_FLAG | CAN_RTR_FLAG });
        let bits = if format == 0 { CAN_SFF_MASK } else { CAN_EFF_MASK };
        ids.cubes().map(|cube| CanRule { id: cube.id & bits | format, mask: cube.mask & bits }).collect::<Vec<_>>()
    };
    [of(0), of(CAN_EFF_FLAG)].concat()
}

pub(super) fn within(ids: &IdSet, filter: Filter) -> IdSet {
    let plane = IdSet::of_filter(filter).unwrap_or_else(IdSet::none);
    let mut effort = Effort::new(u32::MAX);
    ids.intersection(&plane, &mut effort).expect("each node is looked at once; there are fewer than 2^32")
}

/// Compares the flag in the identifier, which is in native byte order.
fn is(kind: FrameKind) -> Ematch {
    let flag = u32::from_be_bytes(CAN_RTR_FLAG.to_ne_bytes());
    Ematch::U32 { mask: flag, value: if kind == FrameKind::Remote { flag } else { 0 }, offset: 0 }
}

fn length(first: u8, last: u8) -> Vec<Ematch> {
    let cmp = |relation, value: u8| {
        let value = value.into();
        Ematch::Cmp(Cmp { width: CmpWidth::U8, offset: LENGTH_AT, mask: 0, host_order: false, relation, value })
    };
    if first == last {
        return vec![cmp(Relation::Equal, first)];
    }
    let above = first.checked_sub(1).map(|below| cmp(Relation::Greater, below));
    let below = last.checked_add(1).filter(|end| usize::from(*end) <= CANFD_MAX_DLEN);
    above.into_iter().chain(below.map(|end| cmp(Relation::Less, end))).collect()
}

fn meta(what: MetaId, value: u32, mask: u32) -> Ematch {
    Ematch::Meta(Meta { what, mask, relation: Relation::Equal, value })
}

fn any(mut terms: Vec<Ematch>) -> Option<Ematch> {
    if terms.len() > 1 { Some(Ematch::Or(terms)) } else { terms.pop() }
}

/// Flattens nested groups, because the kernel limits the depth.
fn all(terms: Vec<Ematch>) -> Option<Ematch> {
    let flat = terms.into_iter().flat_map(|term| match term {
        Ematch::And(inner) => inner,
        other => vec![other],
    });
    let mut terms: Vec<_> = flat.collect();
    if terms.len() > 1 { Some(Ematch::And(terms)) } else { terms.pop() }
}
