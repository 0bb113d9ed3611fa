//! Selections of a band.

use std::ops::RangeInclusive;

use crate::config::check::{Checks, value};
use crate::config::code;
use crate::config::spec::{J1939Spec, ListSpec, SelectionSpec};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::{Keyed as _, Table};
use candor_core::document::{Text, quote};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CANFD_MAX_DLEN};
use candor_core::ids::{IdRange, IdSet};
use candor_egress::control_group::{GroupName, NameError};
use candor_egress::policy::{FrameKind, Mark, Selection};

/// Priority bits of a J1939 identifier.
const PRIORITY_BITS: u32 = 0x1C00_0000;
/// Position of the parameter group number in the identifier.
const PGN_SHIFT: u32 = 8;
/// From this PDU format on, the next byte belongs to the number; below, it is an address.
const FIRST_BROADCAST_FORMAT: u32 = 0xF0;

/// All selections: `take`, and the keys set directly in the table of this span and these keys with errors.
pub(super) fn all(
    take: &[Table<SelectionSpec>],
    own: &SelectionSpec,
    (span, broken): (&Span, &[&'static str]),
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Vec<Selection> {
    let is_incomplete = broken.iter().any(|key| SelectionSpec::KEYS.has(key));
    let own = (!own.is_empty() || is_incomplete).then(|| {
        let (value, span, broken) = (own.clone(), span.clone(), broken.to_vec());
        Table { value, span, broken, is_incomplete }
    });
    own.iter().chain(take).filter_map(|written| selection(written, checks, findings)).collect()
}

/// `None` after an error.
fn selection(spec: &Table<SelectionSpec>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Selection> {
    if spec.is_empty() {
        if !spec.is_incomplete {
            let help = "add match = \"123\" or another key; the last band takes the rest anyway";
            findings.error(code::EGRESS, &spec.span, "The selection is empty", help);
        }
        return None;
    }
    let kinds = [("data", FrameKind::Data), ("remote", FrameKind::Remote)];
    let word = (code::EGRESS_WORD, "`kind`", "");
    Some(Selection {
        ids: ids(spec, checks, findings),
        kind: spec.kind.as_ref().and_then(|written| value::word(written, word, &kinds, findings)),
        length: spec.length.as_ref().and_then(|written| length(written, findings)),
        from: every(spec.from.as_ref(), |name| checks.buses.index(name, findings)),
        socket_priorities: spec.socket_priority.clone().unwrap_or_default(),
        marks: every(spec.mark.as_ref(), |written| mark(written, findings)),
        groups: groups(spec, findings),
    })
}

/// The items without errors, so that all errors are reported.
fn every<S, T>(written: Option<&Vec<S>>, one: impl FnMut(&S) -> Option<T>) -> Vec<T> {
    written.into_iter().flatten().filter_map(one).collect()
}

/// `match` and `j1939` together.
fn ids(spec: &Table<SelectionSpec>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<IdSet> {
    let ids = spec.filter.as_ref().and_then(|list| matched(list, checks, findings));
    let j1939 = spec.j1939.as_ref().and_then(|written| j1939(written, checks, findings));
    match (ids, j1939) {
        (Some(ids), Some(j1939)) => {
            checks.ids.within_effort(&spec.span, findings, |effort| ids.intersection(&j1939, effort))
        }
        (ids, j1939) => ids.or(j1939),
    }
}

fn matched(list: &ListSpec, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<IdSet> {
    let set = checks.ids.set(list, findings)?;
    if set.is_empty() {
        let message = "No frame can have this identifier";
        findings.error(code::NOTHING_LEFT, &list.span, message, "write other identifiers");
    }
    Some((*set).clone())
}

fn j1939(spec: &Table<J1939Spec>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<IdSet> {
    if spec.priority.is_none() && spec.pgn.is_none() && !spec.is_incomplete {
        let help = "add priority = [0, 1] or pgn = \"FEF1\"";
        findings.error(code::EGRESS, &spec.span, "`j1939` is empty", help);
    }
    let priorities = every(spec.priority.as_ref(), |&priority| {
        let id = CAN_EFF_FLAG | priority << PRIORITY_BITS.trailing_zeros();
        Some(Filter { id, mask: CAN_EFF_FLAG | PRIORITY_BITS })
    });
    let groups = every(spec.pgn.as_ref(), |written| group(written, findings));
    checks.ids.within_effort(&spec.span, findings, |effort| {
        let of = |filters: Vec<Filter>, effort: &mut _| match filters.is_empty() {
            true => IdSet::of_filters(vec![Filter { id: CAN_EFF_FLAG, mask: CAN_EFF_FLAG }], effort),
            false => IdSet::of_filters(filters, effort),
        };
        let priorities = of(priorities, effort)?;
        of(groups, effort)?.intersection(&priorities, effort)
    })
}

fn group(written: &Text, findings: &mut Findings) -> Option<Filter> {
    const MOST: u32 = 0x3_FFFF;
    let pgn = value::hex(written, findings)?;
    let format = pgn >> 8 & 0xFF;
    let is_addressed = format < FIRST_BROADCAST_FORMAT;
    if pgn > MOST || (is_addressed && pgn & 0xFF != 0) {
        let message = format!("{pgn:X} is not a parameter group number");
        let help = "it has up to 18 bits, and ends in 00 if the two digits before are below F0, such as \"EA00\"";
        findings.error(code::RANGE, &written.span, message, help);
        return None;
    }
    let bits = if is_addressed { MOST & !0xFF } else { MOST };
    Some(Filter { id: CAN_EFF_FLAG | pgn << PGN_SHIFT, mask: CAN_EFF_FLAG | bits << PGN_SHIFT })
}

/// `8`, or `0..4` with both ends.
fn length(written: &Text, findings: &mut Findings) -> Option<RangeInclusive<u8>> {
    let (first, last) = written.value.split_once(IdRange::DOTS).unwrap_or((&written.value, &written.value));
    let bytes = |text: &str| text.parse::<u8>().ok().filter(|bytes| usize::from(*bytes) <= CANFD_MAX_DLEN);
    match (bytes(first), bytes(last)) {
        (Some(first), Some(last)) if first <= last => Some(first..=last),
        _ => {
            let message = "A payload length must be 0 to 64 bytes";
            let help = "write a number such as 8, or an ascending range such as \"0..4\"";
            findings.error(code::RANGE, &written.span, message, help);
            None
        }
    }
}

/// `7`, or `100:F00`.
fn mark(written: &Text, findings: &mut Findings) -> Option<Mark> {
    let (value, mask) =
        written.value.split_once(':').map_or((&*written.value, None), |(value, mask)| (value, Some(mask)));
    let part = |text: &str| Text { value: text.to_owned(), span: written.span.clone() };
    let value = value::hex(&part(value), findings)?;
    let mask = mask.map_or(Some(u32::MAX), |mask| value::hex(&part(mask), findings))?;
    if mask == 0 || value & !mask != 0 {
        let message = "The mask does not cover the mark";
        let help = "write a mark, or a mark and a mask that contains it, such as \"100:F00\"";
        findings.error(code::RANGE, &written.span, message, help);
        return None;
    }
    Some(Mark { value, mask })
}

/// `cgroup` and `unit`.
fn groups(spec: &Table<SelectionSpec>, findings: &mut Findings) -> Vec<GroupName> {
    let paths = every(spec.cgroup.as_ref(), |written| group_name(written, GroupName::path, findings));
    let units = every(spec.unit.as_ref(), |written| group_name(written, GroupName::unit, findings));
    is_only_key(spec, findings);
    [paths, units].concat()
}

/// The filter for cgroups is a BPF program, which cannot be combined with other filters.
fn is_only_key(spec: &Table<SelectionSpec>, findings: &mut Findings) {
    let (key, list) = match (&spec.cgroup, &spec.unit) {
        (Some(list), _) => ("cgroup", list),
        (None, Some(list)) => ("unit", list),
        (None, None) => return,
    };
    let span = list.first().map_or(&spec.span, |item| &item.span);
    let (message, help) = if spec.cgroup.is_some() && spec.unit.is_some() {
        let message = "A selection cannot have both `cgroup` and `unit`";
        (message.to_owned(), "write two selections: take = [{ cgroup = \"/can\" }, { unit = \"can.service\" }]")
    } else if spec.is_by_frame() {
        let message = format!("`{key}` must be the only key of a selection");
        (message, "no filter can match both; put the other criteria into a band above, or remove them")
    } else if list.is_empty() {
        (format!("`{key}` is empty"), "write unit = \"can-logger.service\" or cgroup = \"/can\"")
    } else {
        return;
    };
    findings.error(code::EGRESS, span, message, help);
}

fn group_name(
    written: &Text,
    read: fn(&str) -> Result<GroupName, NameError>,
    findings: &mut Findings,
) -> Option<GroupName> {
    let error = match read(&written.value) {
        Ok(name) => return Some(name),
        Err(error) => error,
    };
    let help = match error {
        NameError::NoDirectory | NameError::NoPath => {
            "write it as shown by systemd-cgls or /proc/PID/cgroup, such as \"/system.slice/can-logger.service\""
        }
        NameError::Root => {
            "the last band takes the rest anyway; write a cgroup below the root, such as \"/user.slice\""
        }
        NameError::NoKind => "write it as shown by systemctl, such as \"can-logger.service\"",
        NameError::NoUnit => "write it as shown by systemctl, such as \"can-logger.service\"; for a path use `cgroup`",
    };
    let message = format!("{error}: {}", quote(&written.value));
    findings.error(code::NAME, &written.span, message, help);
    None
}
