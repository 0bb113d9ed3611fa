//! What happened on the wires, a line each. docs/wire.md describes the form.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use candor_bus::{ErrorKind, ErrorState, Event, NodeId, NodeSet};
use candor_wire::fault::{Effect, Happening};
use candor_wire::host::Told;

use super::faults::Places;
use super::spec::BusSpec;

/// Says which form follows.
const HEADLINE: &str = "# candor-lab wire log, form 1\n";
/// A node that is no interface and only babbles.
pub(super) const STRANGER: &str = "-";

/// A log that is being written.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    places: Places,
    text: String,
}

impl Log {
    pub(super) fn create(path: &Path, places: &Places) -> io::Result<Self> {
        let file = File::create(path).map_err(|error| failed(path, &error))?;
        let text = HEADLINE.to_owned();
        Ok(Self { path: path.to_owned(), file, places: places.clone(), text })
    }

    pub(crate) fn write(&mut self, story: &[Told]) -> io::Result<()> {
        for told in story {
            match &told.what {
                Happening::Event(event) => {
                    if let Some(bus) = self.places.bus(told.bus) {
                        line(&mut self.text, bus, event);
                    }
                }
                Happening::Fault(effect) => fault(&mut self.text, &self.places, told.bus, effect),
            }
        }
        self.file.write_all(self.text.as_bytes()).map_err(|error| failed(&self.path, &error))?;
        self.text.clear();
        Ok(())
    }
}

pub(super) fn failed(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("Cannot write {}: {error}", path.display()))
}

fn line(text: &mut String, bus: &BusSpec, event: &Event) {
    let name = |NodeId(node): NodeId| bus.interfaces.get(usize::from(node)).map_or(STRANGER, String::as_str);
    let on = &bus.name;
    let written = match *event {
        Event::Delivered { end, start, sender, frame, retries, lost, .. } => {
            writeln!(text, "frame {on} {start} {end} {} {frame} {retries} {lost}", name(sender))
        }
        Event::Error { at, start, end, sender, frame, bit, kind, detected, .. } => {
            let (kind, sender) = (kind_name(kind), name(sender));
            let detected = names(detected, name);
            writeln!(text, "error {on} {start} {end} {sender} {frame} {kind} {bit} {at} {detected}")
        }
        Event::LostArbitration { at, node, bit, .. } => writeln!(text, "lost {on} {at} {} {bit}", name(node)),
        Event::State { at, node, state, counters } => {
            let (state, transmit, receive) = (state_name(state), counters.transmit, counters.receive);
            writeln!(text, "state {on} {at} {} {state} {transmit} {receive}", name(node))
        }
    };
    written.expect("text takes everything");
}

/// One that happened, and did not stay an order.
fn fault(text: &mut String, places: &Places, bus: usize, effect: &Effect) {
    if effect.refused.is_none() {
        let (name, what) = (places.bus_name(bus), places.describe(bus, &effect.fault));
        writeln!(text, "fault {name} {} {what}", effect.at).expect("text takes everything");
    }
}

pub(super) fn names<'a>(nodes: NodeSet, name: impl Fn(NodeId) -> &'a str) -> String {
    nodes.iter().map(name).collect::<Vec<_>>().join(",")
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
mod tests {
    use candor_bus::{BusNs, Counters, Tag};

    use super::*;

    #[test]
    fn each_event_is_a_line() {
        let bus: BusSpec = "b0:500k:can0,can1,can2".parse().unwrap();
        let (start, end) = (BusNs(1_000_000_000), BusNs(1_000_222_000));
        let frame = "123#1122".parse().unwrap();
        let others: NodeSet = [NodeId(1), NodeId(2)].into_iter().collect();
        let (sender, tag, node) = (NodeId(0), Tag(1), NodeId(2));
        let (bit, given_up) = (7, None);
        let mut text = String::new();
        for event in [
            Event::Delivered { end, start, sender, tag, frame, retries: 2, lost: 1, receivers: others },
            Event::Error {
                at: BusNs(1_000_014_000),
                start,
                end,
                sender,
                frame,
                bit,
                kind: ErrorKind::Stuff,
                detected: others,
                given_up,
            },
            Event::LostArbitration { at: start, node, bit, given_up },
            Event::State {
                at: end,
                node,
                state: ErrorState::Passive,
                counters: Counters { transmit: 128, receive: 3 },
            },
        ] {
            line(&mut text, &bus, &event);
        }
        insta::assert_snapshot!(text, @r"
        frame b0 1.000000000 1.000222000 can0 123#1122 2 1
        error b0 1.000000000 1.000222000 can0 123#1122 stuff 7 1.000014000 can1,can2
        lost b0 1.000000000 can2 7
        state b0 1.000222000 can2 error-passive 128 3
        ");
    }
}
