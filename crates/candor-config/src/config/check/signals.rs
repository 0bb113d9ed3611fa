//! Conditions on signals in `match`, and `change`.

use crate::config::check::{conflict, payload};
use crate::config::code;
use crate::config::names::{OfMatch, OfSignal};
use crate::config::spec::RouteSpec;
use crate::plan::{Computed, Formats, Selection};
use candor_core::diagnostic::Findings;
use candor_core::document::keys::Table;
use candor_core::filter::ReceiveList;
use candor_core::frame::{CAN_EFF_FLAG, CANFD_MAX_DLEN, RawId};
use candor_core::payload::PayloadPattern;
use candor_core::rule::Modifications;
use candor_signals::{Changes, MOST_PATTERNS};

/// The patterns of a condition in `match`, which takes the place of `payload` and `mux`.
pub(super) fn condition(
    spec: &Table<RouteSpec>,
    OfMatch { patterns, place, .. }: &OfMatch,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Vec<PayloadPattern> {
    let payload = spec.payload.as_ref().and_then(|texts| texts.first()).map(|text| &text.span);
    if let Some(other) = payload.or_else(|| spec.mux.as_ref().map(|mux| &mux.span)) {
        let why = "`match` compares signals, and another key the payload";
        conflict(other, why, (place, "compares signals"), "write one of the two", findings);
    }
    if formats == Some(Formats::Xl) {
        let help = "match CAN XL frames by priority and virtual network";
        findings.error(code::CONFLICT, place, "CAN XL frames have no signals of a database", help);
    }
    if patterns.len() > MOST_PATTERNS {
        let message = format!("The conditions need more than {MOST_PATTERNS} patterns of bits");
        findings.error(code::CONDITION, place, message, "write fewer conditions, or several routes");
    }
    if let Some(formats) = formats {
        let (room, help) = payload::room(formats);
        if patterns.iter().any(|pattern| pattern.bytes() > room) {
            let message = format!("The signals are not within the first {room} bytes");
            findings.error(code::NOT_IN_FORMAT, place, message, help);
        }
    }
    patterns.clone()
}

/// The changes of a route: as modifications if they are constants for every frame of the route, otherwise computed.
pub(super) fn changes(
    spec: &Table<RouteSpec>,
    changes: &[OfSignal],
    (selections, formats): (&[Selection], Formats),
    modifications: Modifications,
    findings: &mut Findings,
) -> (Option<Computed>, Modifications) {
    for OfSignal { place, id, .. } in changes {
        if selections.iter().all(|selection| !selection.filter.normalise().matches(*id)) {
            let message = "The route does not match this message";
            let help = "write the message into `match`, or remove the change";
            findings.error(code::EXPRESSION, place, message, help);
        }
    }
    let operands = [("and", &spec.and), ("or", &spec.or), ("xor", &spec.xor), ("set", &spec.set)];
    let of_data = operands.into_iter().find(|(_, operand)| operand.as_ref().is_some_and(|one| one.data.is_some()));
    if let (Some((key, Some(operand))), Some(first)) = (of_data, changes.first()) {
        let why = "Signals and data bytes are changed by one route";
        conflict(
            &operand.span,
            why,
            (&first.place, "changes a signal"),
            &format!("remove `{key}`, or its data"),
            findings,
        );
    }
    if changes.is_empty() {
        return (None, modifications);
    }
    if let Some(constant) = constants(changes, selections, formats).filter(|_| spec.send_as.is_none()) {
        let mut modifications = modifications;
        modifications.and.data = Some(constant.mask.map(|mask| !mask));
        modifications.or.data = Some(constant.value);
        return (None, modifications);
    }
    let mut messages: Vec<(RawId, Vec<_>)> = Vec::new();
    for OfSignal { id, change, .. } in changes {
        match messages.iter_mut().find(|(known, _)| known == id) {
            Some((_, changes)) => changes.push(change.clone()),
            None => messages.push((*id, vec![change.clone()])),
        }
    }
    (Some(Changes::computed(messages)), modifications)
}

/// The bits of all changes, if they are the same in every frame that the route takes.
fn constants(changes: &[OfSignal], selections: &[Selection], formats: Formats) -> Option<PayloadPattern> {
    let room = formats.list().iter().map(|format| format.max_len()).max().unwrap_or(CANFD_MAX_DLEN);
    let mut all = PayloadPattern::ANY;
    for OfSignal { id, change, .. } in changes {
        let is_of = |selection: &Selection| {
            let filter = selection.filter.normalise();
            let id_of_filter = RawId(filter.id);
            filter.list == ReceiveList::Exact
                && (id_of_filter.bits(), id_of_filter.0 & CAN_EFF_FLAG) == (id.bits(), id.0 & CAN_EFF_FLAG)
        };
        if !selections.iter().all(is_of) {
            return None;
        }
        all = all.and(change.constant()?)?;
    }
    (all.bytes() <= room).then_some(all)
}
