//! `to-id`: new identifiers, as AND, OR and SET of can-gw.

use crate::config::check::identifiers::Identifiers;
use crate::config::check::selection::{Left, Taken, Wanted, place};
use crate::config::check::{conflict, operand};
use crate::config::code;
use crate::config::spec::RouteSpec;
use crate::plan::{IdChange, Selection};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Text;
use candor_core::document::keys::Table;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, RawId};
use candor_core::ids::{Cube, Effort, IdRange, IdSet, TooComplex};
use candor_core::rule::Operation;

/// `to-id`.
pub(super) struct Target {
    place: Span,
    shift: Shift,
}

enum Shift {
    /// All identifiers become this one.
    ToOne(u32),
    /// Identifier `base`, the lowest of `match`, becomes `first`, and so on.
    From { base: u32, first: RawId },
}

/// Checks `to-id` against the selection and the modifications of the route.
pub(super) fn target(
    spec: &Table<RouteSpec>,
    written: &Text,
    wanted: Option<&Wanted>,
    findings: &mut Findings,
) -> Option<Target> {
    let is_free = changes_no_identifier(spec, written, findings);
    let (text, is_range) = match written.value.strip_suffix(IdRange::DOTS) {
        Some(first) => (first, true),
        None => (written.value.as_str(), false),
    };
    let first = if text.contains(IdRange::DOTS) {
        let first = text.split(IdRange::DOTS).next().unwrap_or_default().escape_debug();
        let message = "`to-id` has no end: the range is as long as that of `match`".to_owned();
        let help = format!("write only the first identifier: \"{first}..\"");
        refuse(&written.span, message, help, findings)
    } else {
        let span = if is_range { written.part(0..text.len()) } else { written.span.clone() };
        operand::identifier(Operation::Set, text, &span, |range| written.part(range), findings)
    };
    let first = RawId(first.filter(|_| is_free)?);
    if first.is_rtr() {
        let help = format!("write \"{}\"", in_digits(first.bits(), first));
        return refuse(&written.span, "`to-id` is for data frames only".to_owned(), help, findings);
    }
    let wanted = wanted?;
    let set = data_frames_only(spec, written, &wanted.taken, findings)?;
    let target = |shift| Some(Target { place: written.span.clone(), shift });
    if !is_range {
        return target(Shift::ToOne(first.0));
    }
    let (base, _) = match (set.bounds(false), set.bounds(true)) {
        (Some(bounds), None) | (None, Some(bounds)) => bounds,
        (None, None) => return target(Shift::ToOne(first.0)),
        (Some(_), Some(_)) => {
            let message = "`match` has 11-bit and 29-bit identifiers, which cannot be shifted together".to_owned();
            return refuse(&place(spec), message, "write one route per format".to_owned(), findings);
        }
    };
    target(Shift::From { base, first })
}

/// The filters of a route with the change of their identifiers, or their number if it is above `most`.
pub(super) fn selections(
    Target { place, shift }: &Target,
    left: &Left,
    most: u64,
    ids: &mut Identifiers<'_>,
    findings: &mut Findings,
) -> Option<Result<Vec<Selection>, u64>> {
    let set = left.set()?;
    match *shift {
        Shift::ToOne(id) => {
            collapse(&set, id, place, findings);
            let to_one = |filter| Selection { filter, id: Some(IdChange::Set(id)) };
            Some(left.filters(most).map(|filters| filters.into_iter().map(to_one).collect()))
        }
        Shift::From { base, first } => {
            let (bits, room) = (if first.is_eff() { 29 } else { 11 }, room(first));
            let (_, last) = set.bounds(false).or_else(|| set.bounds(true))?;
            let moved_to = u64::from(last - base) + u64::from(first.bits());
            if moved_to > u64::from(room) {
                let message =
                    format!("Identifier {last:X} would become {moved_to:X}, which does not fit into {bits} bits");
                let help = match room.checked_sub(last - base) {
                    Some(most) => format!("write \"{}..\" or lower", in_digits(most, first)),
                    None => "the range does not fit into 11 bits: write 8 digits, or a shorter range in `match`".into(),
                };
                return refuse(place, message, help, findings);
            }
            let count = set.cube_count();
            if count > most {
                return Some(Err(count));
            }
            let mut moved = Vec::new();
            let fits = ids.within_effort(place, findings, |effort| {
                for cube in set.cubes() {
                    if !push_moved(cube, base, first, most, &mut moved, effort)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            })?;
            if !fits {
                unaligned(&set, base, first, place, findings);
                return None;
            }
            if let ([one], Left::AsWritten(filter)) = (moved.as_mut_slice(), left) {
                one.filter = *filter;
            }
            Some(Ok(moved))
        }
    }
}

/// Splits a cube until shifting it changes no free bit, starting at the lowest bit that would change: in one half, the
/// bits above it then stay the same. `false` if that makes more than `most`.
fn push_moved(
    cube: Cube,
    base: u32,
    first: RawId,
    most: u64,
    moved: &mut Vec<Selection>,
    effort: &mut Effort,
) -> Result<bool, TooComplex> {
    let format = if first.is_eff() { CAN_EFF_FLAG } else { 0 };
    let mut ahead = vec![cube];
    while let Some(cube) = ahead.pop() {
        effort.steps(1)?;
        let free = cube.free();
        // With all free bits 0. If none of them changes here, none changes for any value: there is no carry.
        let id = RawId(cube.id).bits() - base + first.bits();
        let changed = id & free;
        if changed == 0 {
            if moved.len() as u64 >= most {
                return Ok(false);
            }
            let or = id | format;
            let id = if free == 0 { IdChange::Set(or) } else { IdChange::Move { and: free, or } };
            moved.push(Selection { filter: cube.filter(), id: Some(id) });
        } else {
            let [zero, one] = cube.halves(changed & changed.wrapping_neg());
            ahead.extend([one, zero]);
        }
    }
    Ok(true)
}

fn unaligned(set: &IdSet, base: u32, first: RawId, place: &Span, findings: &mut Findings) {
    let free = set.cubes().fold(0, |free, cube| free | cube.free());
    let low = free.checked_ilog2().map_or(0, |bit| (2_u32 << bit) - 1);
    let by = i64::from(first.bits()) - i64::from(base);
    let sign = if by < 0 { "-" } else { "" };
    let message = format!("Shifting these identifiers by {sign}{:X} needs too many can-gw jobs", by.abs());
    let below = first.bits() & !low | base & low;
    // The same identifiers would be no change.
    let above = below.checked_add(low + 1).filter(|above| below == base && above | low <= room(first));
    let aligned = in_digits(above.unwrap_or(below), first);
    let help = format!("can-gw cannot add; if the low digits stay the same, one job is enough: \"{aligned}..\"");
    refuse::<()>(place, message, help, findings);
}

/// The highest identifier of the format of `first`.
const fn room(first: RawId) -> u32 {
    if first.is_eff() { CAN_EFF_MASK } else { CAN_SFF_MASK }
}

fn in_digits(id: u32, first: RawId) -> String {
    if first.is_eff() { format!("{id:08X}") } else { format!("{id:03X}") }
}

/// The identifiers, if they are those of data frames.
fn data_frames_only(
    spec: &Table<RouteSpec>,
    written: &Text,
    taken: &Taken,
    findings: &mut Findings,
) -> Option<std::rc::Rc<IdSet>> {
    let Some(set) = taken.set() else {
        let why = "Error message frames have no identifier that could be changed";
        let other = (&place(spec), "matches error message frames");
        conflict(&written.span, why, other, "remove `to-id`", findings);
        return None;
    };
    if !set.has_any(false, true) && !set.has_any(true, true) {
        return Some(set);
    }
    let help = match (&spec.filter, taken) {
        (None, _) => "select identifiers with `match`, such as match = \"100..1FF\"".to_owned(),
        (_, Taken::Filter(filter)) if filter.is_loose() => {
            format!("for data frames of one format, write match = \"{}\"", filter.tightened())
        }
        _ => "add bit 40000000 to the masks, or write ranges; remote frames need a route of their own".to_owned(),
    };
    let message = "`to-id` is for data frames, and the route also matches remote frames";
    let diagnostic = Diagnostic::error(code::NOT_MOVABLE, written.span.clone(), message).help(help);
    findings.report(match &spec.filter {
        Some(list) => diagnostic.also(list.span.clone(), "matches remote frames"),
        None => diagnostic,
    });
    None
}

fn changes_no_identifier(spec: &Table<RouteSpec>, written: &Text, findings: &mut Findings) -> bool {
    let operands = [&spec.and, &spec.or, &spec.xor, &spec.set];
    let other = operands.into_iter().flatten().find_map(|operand| operand.id.as_ref().or(operand.raw_id.as_ref()));
    if let Some(other) = other {
        let why = "The identifier is changed twice";
        conflict(&written.span, why, (&other.span, "and here"), "keep `to-id` or the modification", findings);
    }
    other.is_none()
}

fn collapse(set: &IdSet, id: u32, place: &Span, findings: &mut Findings) {
    let is_one = |bounds: Option<(u32, u32)>| bounds.is_none_or(|(first, last)| first == last);
    let (standard, extended) = (set.bounds(false), set.bounds(true));
    if is_one(standard) && is_one(extended) && !(standard.is_some() && extended.is_some()) {
        return;
    }
    let id = in_digits(RawId(id).bits(), RawId(id));
    findings.report(
        Diagnostic::warning(code::IDS_COLLAPSE, place.clone(), format!("Several identifiers become {id}"))
            .label("receivers cannot tell them apart")
            .help(format!("to keep them distinct, write \"{id}..\"")),
    );
}

fn refuse<T>(place: &Span, message: String, help: String, findings: &mut Findings) -> Option<T> {
    findings.error(code::NOT_MOVABLE, place, message, help);
    None
}
