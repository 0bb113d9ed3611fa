//! `u32`: nodes in the slots of tables, which lead to other tables.
//!
//! # Source
//! [`u32_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_u32.c#L113) in Linux 6.1.

use super::expression::word;
use super::walk::{Choice, Numbered, Tested, Unknown, Walk};
use crate::action::Verdict;
use crate::filter::{Classifier, U32};
use crate::handle::Handle;

/// `TC_U32_MAXDEPTH`.
const MOST_LEVELS: usize = 8;
/// The first node id that the kernel assigns.
const FIRST_NODE: u32 = 0x800;

enum Outcome {
    Found(Verdict, Choice),
    /// A word beyond the end of the frame: the whole classifier gives up.
    GivesUp,
    Nothing,
}

/// Runs the nodes of a preference; the tables are those of the whole discipline.
pub(super) fn ask<'t>(
    walk: &mut Walk<'t, '_>,
    filters: &[Numbered<'t>],
    preference: u16,
) -> Result<Option<(Verdict, Choice)>, Unknown> {
    let own: Vec<_> = filters.iter().filter(|(_, filter)| filter.preference == preference).copied().collect();
    match slot(walk, filters, &in_slot(&own, 0), 0)? {
        Outcome::Found(verdict, choice) => Ok(Some((verdict, choice))),
        Outcome::GivesUp | Outcome::Nothing => Ok(None),
    }
}

/// The nodes of a slot in the kernel's order.
fn in_slot<'t>(filters: &[Numbered<'t>], slot: u32) -> Vec<(Numbered<'t>, &'t U32)> {
    let mut nodes = Vec::new();
    let mut next = FIRST_NODE;
    for (at, filter) in filters {
        let Classifier::U32(node) = &filter.classifier else { continue };
        if node.divisor.is_some() || node.table != slot {
            continue;
        }
        let number = match filter.handle & 0xFFF {
            0 => {
                next += 1;
                next - 1
            }
            number => number,
        };
        nodes.push((number, ((*at, *filter), node)));
    }
    candor_core::order::sort_by_key(&mut nodes, |(number, _)| *number);
    nodes.into_iter().map(|(_, node)| node).collect()
}

fn slot<'t>(
    walk: &mut Walk<'t, '_>,
    all: &[Numbered<'t>],
    nodes: &[(Numbered<'t>, &'t U32)],
    level: usize,
) -> Result<Outcome, Unknown> {
    for ((at, filter), node) in nodes {
        let mut fits = true;
        for key in &node.keys {
            if key.offset < 0 {
                return Err(Unknown::Kind);
            }
            let Some(word) = word(walk.packet.bytes, i64::from(key.offset)) else {
                walk.tested.push(Tested { filter: *at, fits: false });
                return Ok(Outcome::GivesUp);
            };
            fits &= (word ^ key.value) & key.mask == 0;
            if !fits {
                break;
            }
        }
        walk.tested.push(Tested { filter: *at, fits });
        if !fits {
            continue;
        }
        if node.link.is_some() {
            if level >= MOST_LEVELS {
                return Ok(Outcome::GivesUp);
            }
            let Some(below) = linked(walk, all, node)? else { return Ok(Outcome::GivesUp) };
            match slot(walk, all, &below, level + 1)? {
                Outcome::Nothing => {}
                outcome => return Ok(outcome),
            }
        }
        // A node without class and action decides nothing.
        if filter.class.is_none() && filter.actions.is_empty() {
            continue;
        }
        match walk.act(&filter.actions)? {
            Verdict::Continue => {}
            verdict => {
                return Ok(Outcome::Found(verdict, Choice::Class(filter.class.unwrap_or(Handle::NONE))));
            }
        }
    }
    Ok(Outcome::Nothing)
}

/// The nodes in the linked slot that the frame chooses. `None` if the frame is too short.
fn linked<'t>(
    walk: &Walk<'t, '_>,
    all: &[Numbered<'t>],
    node: &U32,
) -> Result<Option<Vec<(Numbered<'t>, &'t U32)>>, Unknown> {
    let Some(link) = node.link else { return Ok(None) };
    let slots = all.iter().find_map(|(_, filter)| match &filter.classifier {
        Classifier::U32(U32 { divisor: Some(slots), .. }) if filter.handle == link.table => Some(*slots),
        _ => None,
    });
    let slots = slots.ok_or(Unknown::Table)?;
    if slots <= 1 {
        return Ok(Some(in_slot(all, link.table)));
    }
    let Some(word) = word(walk.packet.bytes, i64::from(link.offset)) else { return Ok(None) };
    let folded = if link.mask == 0 { 0 } else { (word & link.mask) >> link.mask.trailing_zeros() };
    Ok(Some(in_slot(all, link.table | (folded & (slots - 1)) << 12)))
}
