//! Selections of a band.

use std::ops::RangeInclusive;

use super::{group, one_of};
use crate::config::check::{Checks, number, route};
use crate::config::code;
use crate::config::spec::{J1939Spec, ListSpec, SelectionSpec};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CANFD_MAX_DLEN};
use candor_core::ids::{IdRange, IdSet};
use candor_egress::policy::{FrameKind, Mark, Selection};

/// Bits of the identifier where J1939 has its priority.
const PRIORITY_BITS: u32 = 0x1C00_0000;
/// Where a parameter group number stands in it.
const PGN_SHIFT: u32 = 8;
/// From this PDU format on, the byte behind it belongs to the number; below it is an address.
const FIRST_BROADCAST_FORMAT: u32 = 0xF0;

/// All selections, and the one whose keys stand beside them; none if nothing is said.
pub(super) fn all(
    take: &[SelectionSpec],
    own: &SelectionSpec,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Option<Vec<Selection>> {
    let own = Some(own).filter(|own| !own.is_empty() || own.is_torn);
    let all: Vec<_> = own.into_iter().chain(take).map(|written| selection(written, checks, findings)).collect();
    all.into_iter().collect()
}

fn selection(spec: &SelectionSpec, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Selection> {
    if spec.is_empty() && !spec.is_torn {
        let diagnostic = Diagnostic::error(code::EGRESS, spec.span.clone(), "The selection is empty");
        findings.report(diagnostic.help("add match = \"123\" or another key; the last band takes the rest anyway"));
        return None;
    }
    let ids = ids(spec, checks, findings);
    let kinds = [("data", FrameKind::Data), ("remote", FrameKind::Remote)];
    let kind = spec.kind.as_ref().map(|written| one_of(written, "`kind`", &kinds, findings));
    let length = spec.length.as_ref().map(|written| length(written, findings));
    let from = every(spec.from.as_deref(), |name| route::bus(name, &checks.buses, findings));
    let socket_priorities = every(spec.socket_priority.as_deref(), |written| socket_priority(written, findings));
    let marks = every(spec.mark.as_deref(), |written| mark(written, findings));
    let groups = group::all(spec, findings);
    let selection = Selection {
        ids: ids?,
        kind: kind.map_or(Some(None), |kind| kind.map(Some))?,
        length: length.map_or(Some(None), |length| length.map(Some))?,
        from: from?,
        socket_priorities: socket_priorities?,
        marks: marks?,
        groups: groups?,
    };
    (!spec.is_torn).then_some(selection)
}

/// Converts all items, so that each error is reported; `None` if one failed.
pub(super) fn every<S, T>(written: Option<&[S]>, one: impl FnMut(&S) -> Option<T>) -> Option<Vec<T>> {
    let all: Vec<_> = written.unwrap_or_default().iter().map(one).collect();
    all.into_iter().collect()
}

/// `match` and `j1939` together.
#[expect(clippy::option_option, reason = "the outer one: whether it may be used")]
fn ids(spec: &SelectionSpec, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Option<IdSet>> {
    let written = spec.filter.as_ref().map(|list| matched(list, checks, findings));
    let j1939 = spec.j1939.as_ref().map(|written| j1939(written, checks, findings));
    match (written, j1939) {
        (None, None) => Some(None),
        (Some(ids), None) | (None, Some(ids)) => ids.map(Some),
        (Some(ids), Some(of_j1939)) => {
            let (ids, of_j1939) = (ids?, of_j1939?);
            let both = checks.ids.within_effort(&spec.span, findings, |effort| ids.intersection(&of_j1939, effort));
            both.map(Some)
        }
    }
}

fn matched(list: &ListSpec, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<IdSet> {
    let set = checks.ids.set(list, findings)?;
    if set.is_empty() {
        let diagnostic = Diagnostic::error(code::NOTHING_LEFT, list.span.clone(), "No frame can have this identifier");
        findings.report(diagnostic.help("write other identifiers"));
        return None;
    }
    Some((*set).clone())
}

fn j1939(spec: &J1939Spec, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<IdSet> {
    if spec.priority.is_none() && spec.pgn.is_none() {
        let diagnostic = Diagnostic::error(code::EGRESS, spec.span.clone(), "`j1939` is empty");
        findings.report(diagnostic.help("add priority = [0, 1] or pgn = \"FEF1\""));
        return None;
    }
    let priorities = every(spec.priority.as_deref(), |written| priority(written, findings));
    let groups = every(spec.pgn.as_deref(), |written| group(written, findings));
    let (priorities, groups) = (priorities?, groups?);
    checks.ids.within_effort(&spec.span, findings, |effort| {
        let of = |filters: Vec<Filter>, effort: &mut _| match filters.is_empty() {
            true => IdSet::of_filters(vec![Filter { id: CAN_EFF_FLAG, mask: CAN_EFF_FLAG }], effort),
            false => IdSet::of_filters(filters, effort),
        };
        let priorities = of(priorities, effort)?;
        of(groups, effort)?.intersection(&priorities, effort)
    })
}

fn priority(written: &Spanned<i64>, findings: &mut Findings) -> Option<Filter> {
    match u32::try_from(written.value) {
        Ok(priority @ 0..=7) => {
            let id = CAN_EFF_FLAG | priority << PRIORITY_BITS.trailing_zeros();
            Some(Filter { id, mask: CAN_EFF_FLAG | PRIORITY_BITS })
        }
        _ => {
            let message = format!("A J1939 priority must be 0 to 7, not {}", written.value);
            let diagnostic = Diagnostic::error(code::RANGE, written.span.clone(), message);
            findings.report(diagnostic.help("0 is the highest priority, and 6 the default of most messages"));
            None
        }
    }
}

fn group(written: &Spanned<String>, findings: &mut Findings) -> Option<Filter> {
    const MOST: u32 = 0x3_FFFF;
    let pgn = number::hex(written, findings)?;
    let format = pgn >> 8 & 0xFF;
    let is_addressed = format < FIRST_BROADCAST_FORMAT;
    if pgn > MOST || (is_addressed && pgn & 0xFF != 0) {
        let message = format!("{pgn:X} is not a parameter group number");
        let help = "it has up to 18 bits, and ends in 00 if the two digits before are below F0, such as \"EA00\"";
        findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
        return None;
    }
    let bits = if is_addressed { MOST & !0xFF } else { MOST };
    Some(Filter { id: CAN_EFF_FLAG | pgn << PGN_SHIFT, mask: CAN_EFF_FLAG | bits << PGN_SHIFT })
}

/// `8`, or `0..4`, both ends included as in ranges of identifiers.
fn length(written: &Spanned<String>, findings: &mut Findings) -> Option<RangeInclusive<u8>> {
    let (first, last) = written.value.split_once(IdRange::DOTS).unwrap_or((&written.value, &written.value));
    let bytes = |text: &str| text.parse::<u8>().ok().filter(|bytes| usize::from(*bytes) <= CANFD_MAX_DLEN);
    match (bytes(first), bytes(last)) {
        (Some(first), Some(last)) if first <= last => Some(first..=last),
        _ => {
            let message = "A payload length must be 0 to 64 bytes";
            let help = "write a number such as 8, or an ascending range such as \"0..4\"";
            findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
            None
        }
    }
}

fn socket_priority(written: &Spanned<i64>, findings: &mut Findings) -> Option<u32> {
    let priority = u32::try_from(written.value).ok().filter(|priority| *priority <= 0xFFFF);
    if priority.is_none() {
        let message = format!("{} is not a valid socket priority", written.value);
        let help = "SO_PRIORITY is 0 to 6, or up to 65535 with CAP_NET_ADMIN; higher values select a class directly and bypass the bands";
        findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
    }
    priority
}

/// `7`, or `100:F00`.
fn mark(written: &Spanned<String>, findings: &mut Findings) -> Option<Mark> {
    let (value, mask) =
        written.value.split_once(':').map_or((&*written.value, None), |(value, mask)| (value, Some(mask)));
    let part = |text: &str| Spanned { value: text.to_owned(), span: written.span.clone() };
    let value = number::hex(&part(value), findings)?;
    let mask = mask.map_or(Some(u32::MAX), |mask| number::hex(&part(mask), findings))?;
    if mask == 0 || value & !mask != 0 {
        let message = "The mask does not cover the mark";
        let help = "write a mark, or a mark and a mask that contains it, such as \"100:F00\"";
        findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
        return None;
    }
    Some(Mark { value, mask })
}
