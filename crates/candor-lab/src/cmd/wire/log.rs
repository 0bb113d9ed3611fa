//! The trace of the buses as text, one line for each entry. docs/wire.md describes the format.

use std::io::Write as _;

use candor_bus::{ErrorKind, ErrorState, Event, NodeId, NodeSet};
use candor_wire::fault::TraceEntry;
use candor_wire::host::Traced;

use super::faults::Names;
use crate::cli::BusSpec;

/// Version of the format.
pub(super) const HEADLINE: &str = "# candor-lab wire log, form 1\n";

pub(super) fn line(text: &mut Vec<u8>, names: &Names, traced: &Traced) {
    let Some(bus) = names.bus(traced.bus) else { return };
    let name = |node| node_name(bus, node);
    let on = &bus.name;
    let written = match traced.what {
        TraceEntry::Event(Event::Delivered { end, start, sender, frame, retries, lost, .. }) => {
            writeln!(text, "frame {on} {start} {end} {} {frame} {retries} {lost}", name(sender))
        }
        TraceEntry::Event(Event::Error { at, start, end, sender, frame, bit, kind, detected, .. }) => {
            let (kind, sender) = (kind_name(kind), name(sender));
            let detected = node_names(bus, detected);
            writeln!(text, "error {on} {start} {end} {sender} {frame} {kind} {bit} {at} {detected}")
        }
        TraceEntry::Event(Event::LostArbitration { at, node, bit, .. }) => {
            writeln!(text, "lost {on} {at} {} {bit}", name(node))
        }
        TraceEntry::Event(Event::State { at, node, state, counters }) => {
            let (state, transmit, receive) = (state_name(state), counters.transmit, counters.receive);
            writeln!(text, "state {on} {at} {} {state} {transmit} {receive}", name(node))
        }
        TraceEntry::Fault(effect) if effect.refused.is_none() => {
            writeln!(text, "fault {on} {} {}", effect.at, names.describe(traced.bus, &effect.fault))
        }
        TraceEntry::Fault(_) => Ok(()),
    };
    written.expect("writing to memory cannot fail");
}

/// The interface of a node; `-` for a node that only babbles.
pub(super) fn node_name(bus: &BusSpec, NodeId(node): NodeId) -> &str {
    bus.interfaces.get(usize::from(node)).map_or("-", String::as_str)
}

pub(super) fn node_names(bus: &BusSpec, nodes: NodeSet) -> String {
    nodes.iter().map(|node| node_name(bus, node)).collect::<Vec<_>>().join(",")
}

pub(super) const fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Ack => "ack",
        ErrorKind::Bit => "bit",
        ErrorKind::Crc => "crc",
        ErrorKind::Form => "form",
        ErrorKind::Stuff => "stuff",
    }
}

pub(super) const fn state_name(state: ErrorState) -> &'static str {
    match state {
        ErrorState::Active => "error-active",
        ErrorState::Warning => "error-warning",
        ErrorState::Passive => "error-passive",
        ErrorState::BusOff => "bus-off",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use candor_bus::{BusNs, Counters, Tag};

    use super::super::faults::tests::names;
    use super::*;

    pub(in super::super) fn events(frames: &[&str]) -> Vec<Event> {
        let (start, end) = (BusNs(5_000_000_000), BusNs(5_000_222_000));
        let others: NodeSet = [NodeId(1), NodeId(2)].into_iter().collect();
        let (sender, tag, node, given_up) = (NodeId(0), Tag(1), NodeId(2), None);
        let delivered = |text: &&str| {
            let frame = text.parse().unwrap();
            Event::Delivered { end, start, sender, tag, frame, retries: 2, lost: 1, receivers: others }
        };
        let (at, bit, kind) = (BusNs(5_000_014_000), 7, ErrorKind::Stuff);
        let frame = "123#11".parse().unwrap();
        let counters = Counters { transmit: 128, receive: 3 };
        let mut events: Vec<Event> = frames.iter().map(delivered).collect();
        events.extend([
            Event::Error { at, start, end, sender, frame, bit, kind, detected: others, given_up },
            Event::LostArbitration { at: start, node, bit: 9, given_up },
            Event::State { at: end, node, state: ErrorState::Passive, counters },
        ]);
        events
    }

    #[test]
    fn each_event_is_a_line() {
        let (names, mut text) = (names(), Vec::new());
        for event in events(&["123#1122"]) {
            line(&mut text, &names, &Traced { bus: 0, what: TraceEntry::Event(event) });
        }
        insta::assert_snapshot!(String::from_utf8(text).unwrap(), @r"
        frame b0 5.000000000 5.000222000 can0 123#1122 2 1
        error b0 5.000000000 5.000222000 can0 123#11 stuff 7 5.000014000 can1,can2
        lost b0 5.000000000 can2 9
        state b0 5.000222000 can2 error-passive 128 3
        ");
    }
}
