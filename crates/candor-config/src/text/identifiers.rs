//! `match`, `errors` and `to-id`.

use super::changes;
use super::{Lines, one_or_list, string};
use crate::plan::{Formats, IdChange, Selection};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, FrameFormat, RawId};
use candor_core::ids::IdRange;
use candor_core::rule::Operation;

/// Selects error message frames, which are always classic frames.
pub(super) const ERRORS: &str = "errors";

pub(super) fn lines(selections: &[Selection], formats: Formats) -> Lines {
    let mut lines = match selections {
        [Selection { filter, .. }] => one_filter(*filter, formats),
        several => vec![("match", one_or_list(&list(several)))],
    };
    lines.extend(to_id(selections).map(|target| ("to-id", string(&target))));
    lines
}

fn one_filter(wanted: Filter, formats: Formats) -> Lines {
    let is_classic = formats == Formats::Only(FrameFormat::Classic);
    match wanted {
        Filter::ALL => Lines::new(),
        Filter { id: 0, mask } if is_classic && mask & !CAN_EFF_MASK == CAN_ERR_FLAG && mask != CAN_ERR_FLAG => {
            vec![(ERRORS, string(&format!("{:X}", mask & CAN_EFF_MASK)))]
        }
        _ => vec![("match", range(wanted).map_or_else(|| filter(wanted), written_range))],
    }
}

/// Several selections are parts of a set, so any text for the set is read as the same selections.
fn list(selections: &[Selection]) -> Vec<String> {
    let written = |taken| match taken {
        Taken::Filter(wanted) => filter(wanted),
        Taken::Range(range) => written_range(range),
    };
    taken(selections).into_iter().map(written).collect()
}

/// A part of a selection, in its shortest notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Filter(Filter),
    /// Data frames from the first to the last identifier.
    Range(IdRange),
}

/// The frames that selections match together; adjacent ranges are merged.
pub fn taken(selections: &[Selection]) -> Vec<Taken> {
    let mut entries: Vec<Taken> = Vec::new();
    for selection in selections {
        match (entries.last_mut(), range(selection.filter)) {
            (Some(Taken::Range(before)), Some(next))
                if before.is_extended == next.is_extended && before.last + 1 == next.first =>
            {
                before.last = next.last;
            }
            (_, Some(next)) => entries.push(Taken::Range(next)),
            (_, None) => entries.push(Taken::Filter(selection.filter)),
        }
    }
    entries
}

/// The range of data frames that a filter matches, if the range is read as the same filter.
fn range(filter: Filter) -> Option<IdRange> {
    const FLAGS: u32 = CAN_EFF_FLAG | CAN_RTR_FLAG;
    let is_extended = filter.id & CAN_EFF_FLAG != 0;
    let bits = if is_extended { CAN_EFF_MASK } else { CAN_SFF_MASK };
    let free = bits & !filter.mask;
    let first = filter.id & !CAN_EFF_FLAG;
    let is_range = filter.mask == FLAGS | bits & !free && (free + 1).is_power_of_two() && first & !(bits & !free) == 0;
    is_range.then_some(IdRange { is_extended, first, last: first | free })
}

fn written_range(range: IdRange) -> String {
    let text = range.to_string();
    match text.split_once(IdRange::DOTS) {
        Some((first, _)) if range.first == range.last => string(first),
        _ => string(&text),
    }
}

/// The shortest notation that is read as the same bits.
fn filter(wanted: Filter) -> String {
    let written = wanted.to_string();
    // A 29-bit identifier is written without its flag.
    let extended = match written.split_at_checked(8) {
        Some((_, mask)) if wanted.id & CAN_EFF_FLAG != 0 => format!("{:08X}{mask}", wanted.id & CAN_EFF_MASK),
        _ => written.clone(),
    };
    match [extended, written].into_iter().find(|text| Filter::parse(text) == Ok(wanted)) {
        Some(text) => string(&text),
        None => format!("{{ id = \"{:08X}\", mask = \"{:08X}\" }}", wanted.id, wanted.mask),
    }
}

/// One identifier for all, or the first one of the new range.
fn to_id(selections: &[Selection]) -> Option<String> {
    let target = |change: IdChange| match change {
        IdChange::Set(id) | IdChange::Move { or: id, .. } => id,
    };
    let written = |id| changes::identifier(Operation::Set, id);
    let lowest = selections.iter().min_by_key(|selection| RawId(selection.filter.id).bits())?;
    let first = target(lowest.id?);
    let is_one = selections.iter().all(|selection| selection.id == Some(IdChange::Set(first)));
    if is_one { written(first) } else { written(first).map(|first| format!("{first}{}", IdRange::DOTS)) }
}
