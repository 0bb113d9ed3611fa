//! Faults of the command line as orders to a bus, and their description in the log.

use std::fmt::Write as _;

use candor_bus::{CAN_BUS_OFF_THRESHOLD, Counters, NodeId, Target};
use candor_wire::fault::{Fault, Hold};
use candor_wire::{BusNode, DeviceId};

use super::adapters::Adapters;
use crate::cli::BusSpec;
use crate::cli::{FaultWords, Identifier};

/// Buses and adapters by the names of the command line.
#[derive(Clone, Debug)]
pub(super) struct Names {
    buses: Vec<BusSpec>,
    adapters: Adapters,
}

/// A fault and the index of its bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BusFault {
    pub(super) bus: usize,
    pub(super) fault: Fault,
}

impl Names {
    pub(super) fn new(buses: &[BusSpec], adapters: &Adapters) -> Self {
        Self { buses: buses.to_vec(), adapters: adapters.clone() }
    }

    pub(super) fn bus(&self, bus: usize) -> Option<&BusSpec> {
        self.buses.get(bus)
    }

    pub(super) fn bus_name(&self, bus: usize) -> &str {
        self.bus(bus).map_or("?", |bus| &bus.name)
    }

    pub(super) fn buses(&self) -> impl Iterator<Item = &BusSpec> {
        self.buses.iter()
    }

    /// Resolves the names of a fault.
    pub(super) fn resolve(&self, words: &FaultWords) -> Result<BusFault, String> {
        match words {
            FaultWords::Babble { bus, frame, node, .. } => {
                let bus = self.bus_called(bus)?;
                let node = node.as_deref().map(|node| self.node(bus, node)).transpose()?;
                Ok(BusFault { bus, fault: Fault::Babble { frame: *frame, node } })
            }
            FaultWords::BitError { bus, node, id, bit, times } => {
                let (bus, target) = self.target(bus, node.as_deref(), *id)?;
                Ok(BusFault { bus, fault: Fault::BitError { target, bit: *bit, times: positive(*times)? } })
            }
            FaultWords::BitErrorRate { bus, rate } => {
                if !(0.0..=1.0).contains(rate) {
                    return Err(format!("{rate} is not a probability: use 0 to 1, such as 1e-5"));
                }
                Ok(BusFault { bus: self.bus_called(bus)?, fault: Fault::BitErrorRate { rate: *rate } })
            }
            FaultWords::BusOff { node } => self.at_node(node, |node| Fault::BusOff { node }),
            FaultWords::Clear { bus } => Ok(BusFault { bus: self.bus_called(bus)?, fault: Fault::Clear }),
            FaultWords::Counters { node, tx, rx } => {
                if *tx > TRANSMIT_MAX || *rx > RECEIVE_MAX {
                    return Err(format!("The maximum of TX is {TRANSMIT_MAX}, that of RX {RECEIVE_MAX}"));
                }
                let counters = Counters { transmit: *tx, receive: *rx };
                self.at_node(node, |node| Fault::Counters { node, counters })
            }
            FaultWords::ErrorFrame { node, id, bit, times } => {
                let (id, bit, times) = (id.map(|id| id.0), *bit, positive(*times)?);
                self.at_node(node, |node| Fault::ErrorFrame { node, id, bit, times })
            }
            FaultWords::Freeze { node, .. } => self.at_node(node, |node| Fault::Freeze { node }),
            FaultWords::LostAck { bus, node, id, times } => {
                let (bus, target) = self.target(bus, node.as_deref(), *id)?;
                Ok(BusFault { bus, fault: Fault::LostAck { target, times: positive(*times)? } })
            }
            FaultWords::Release { bus } => {
                Ok(BusFault { bus: self.bus_called(bus)?, fault: Fault::Release { what: Hold::All } })
            }
            FaultWords::Replug { node } => self.at_device(node, |device| Fault::Replug { device }),
            FaultWords::Stuck { bus, .. } => Ok(BusFault { bus: self.bus_called(bus)?, fault: Fault::Stuck }),
            FaultWords::Thaw { node } => self.at_node(node, |node| Fault::Thaw { node }),
            FaultWords::Unplug { node } => self.at_device(node, |device| Fault::Unplug { device }),
        }
    }

    fn bus_called(&self, name: &str) -> Result<usize, String> {
        self.buses().position(|bus| bus.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.buses().map(|bus| bus.name.as_str()).collect();
            format!("Bus {name} not found; buses: {}", names.join(", "))
        })
    }

    fn node(&self, bus: usize, name: &str) -> Result<NodeId, String> {
        let (on, node) = self.interface(name)?;
        if on == bus {
            return Ok(node);
        }
        Err(format!("The interface {name} is on the bus {}, not on {}", self.bus_name(on), self.bus_name(bus)))
    }

    /// The bus and the node of an interface.
    fn interface(&self, name: &str) -> Result<(usize, NodeId), String> {
        let of = |(number, bus): (usize, &BusSpec)| {
            let node = bus.interfaces.iter().position(|interface| interface == name)?;
            Some((number, NodeId(u8::try_from(node).ok()?)))
        };
        self.buses().enumerate().find_map(of).ok_or_else(|| {
            let names: Vec<&str> = self.buses().flat_map(|bus| &bus.interfaces).map(String::as_str).collect();
            format!("Interface {name} is not on these buses; interfaces: {}", names.join(", "))
        })
    }

    fn target(&self, bus: &str, node: Option<&str>, id: Option<Identifier>) -> Result<(usize, Target), String> {
        let bus = self.bus_called(bus)?;
        let sender = node.map(|node| self.node(bus, node)).transpose()?;
        Ok((bus, Target { sender, id: id.map(|id| id.0), witness: None }))
    }

    fn at_node(&self, name: &str, fault: impl FnOnce(NodeId) -> Fault) -> Result<BusFault, String> {
        let (bus, node) = self.interface(name)?;
        Ok(BusFault { bus, fault: fault(node) })
    }

    fn at_device(&self, name: &str, fault: impl FnOnce(DeviceId) -> Fault) -> Result<BusFault, String> {
        let (bus, node) = self.interface(name)?;
        let device = self.adapters.device_at(BusNode { bus, node }).ok_or("The interface has no adapter")?;
        Ok(BusFault { bus, fault: fault(device) })
    }

    /// A fault in the format of the log: its name, then KEY=VALUE.
    pub(super) fn describe(&self, bus: usize, fault: &Fault) -> String {
        let Some(spec) = self.buses.get(bus) else { return String::new() };
        let name = |NodeId(node): NodeId| spec.interfaces.get(usize::from(node)).map_or("?", String::as_str);
        let adapter = |device| self.adapters.interfaces_of(device).join(",");
        let mut text = Description(String::new());
        match *fault {
            Fault::Babble { frame, node } => text.word("babble").key("frame", frame).maybe("node", node.map(name)),
            Fault::BitError { target, bit, times } => {
                text.word("bit-error").target(target, name).maybe("bit", bit).key("times", times)
            }
            Fault::BitErrorRate { rate } => text.word("bit-error-rate").key("rate", rate),
            Fault::BusOff { node } => text.word("bus-off").key("node", name(node)),
            Fault::Clear => text.word("clear"),
            Fault::Counters { node, counters: Counters { transmit, receive } } => {
                text.word("counters").key("node", name(node)).key("tx", transmit).key("rx", receive)
            }
            Fault::ErrorFrame { node, id, bit, times } => {
                let id = id.map(Identifier);
                text.word("error-frame").key("node", name(node)).maybe("id", id).maybe("bit", bit).key("times", times)
            }
            Fault::Freeze { node } => text.word("freeze").key("node", name(node)),
            Fault::LostAck { target, times } => text.word("lost-ack").target(target, name).key("times", times),
            Fault::Release { what } => text.word("release").key("what", hold_name(what)),
            Fault::Replug { device } => text.word("replug").key("adapter", adapter(device)),
            Fault::Stuck => text.word("stuck"),
            Fault::Thaw { node } => text.word("thaw").key("node", name(node)),
            Fault::Unplug { device } => text.word("unplug").key("adapter", adapter(device)),
        };
        text.0
    }
}

/// The transmit error counter at bus-off, and the maximum of receive error counters.
const TRANSMIT_MAX: u16 = CAN_BUS_OFF_THRESHOLD;
const RECEIVE_MAX: u16 = 255;

fn positive(times: u32) -> Result<u32, String> {
    if times == 0 { Err("--times must be at least 1".to_owned()) } else { Ok(times) }
}

const fn hold_name(what: Hold) -> &'static str {
    match what {
        Hold::All => "all",
        Hold::Babble => "babble",
        Hold::Stuck => "stuck",
    }
}

struct Description(String);

impl Description {
    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push_str(word);
        self
    }

    fn key(&mut self, key: &str, value: impl std::fmt::Display) -> &mut Self {
        write!(self.0, " {key}={value}").expect("writing to memory cannot fail");
        self
    }

    fn maybe(&mut self, key: &str, value: Option<impl std::fmt::Display>) -> &mut Self {
        if let Some(value) = value {
            self.key(key, value);
        }
        self
    }

    fn target<'a>(&mut self, target: Target, name: impl Fn(NodeId) -> &'a str) -> &mut Self {
        self.maybe("node", target.sender.map(name)).maybe("id", target.id.map(Identifier))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cli::TimedFault;
    use crate::cmd::wire::adapters::Kind;

    pub(in super::super) fn names() -> Names {
        let buses: Vec<BusSpec> =
            ["b0:500k:can0,can1,can2,can3", "b1:125k:can4"].map(|bus| bus.parse().unwrap()).into();
        let kinds: Vec<Kind> = buses.iter().map(|bus| Kind::choose(None, None, bus).unwrap()).collect();
        Names::new(&buses, &Adapters::of(&buses, &kinds, &["can3,can4".parse().unwrap()]).unwrap())
    }

    fn describe(text: &str) -> String {
        let names = names();
        let fault: TimedFault = text.parse().unwrap();
        match names.resolve(&fault.words) {
            Ok(fault) => {
                format!("{} {}", names.bus_name(fault.bus), names.describe(fault.bus, &fault.fault))
            }
            Err(error) => error,
        }
    }

    #[test]
    fn faults_are_described_with_their_bus() {
        let described = [
            "babble b0",
            "babble b1 --frame 123#11 --node can4 --for 1s",
            "bit-error b0 --node can1 --id 123 --bit 20 --times 3",
            "bit-error b0",
            "bit-error-rate b0 1e-5",
            "bus-off can4 --at 2s",
            "clear b1",
            "counters can2 128 7",
            "error-frame can1 --id 12345678",
            "freeze can1",
            "lost-ack b0 --node can0 --times 100",
            "release b0",
            "replug can1",
            "stuck b0 --for 5ms",
            "thaw can1",
            "unplug can3",
        ]
        .map(describe);
        insta::assert_snapshot!(described.join("\n"));
    }

    #[test]
    fn unknown_names_and_values_are_refused() {
        let described = [
            "stuck b2",
            "bus-off can9",
            "bit-error b0 --node can4",
            "bit-error b0 --times 0",
            "bit-error-rate b0 2",
            "counters can0 257 0",
        ]
        .map(describe);
        insta::assert_snapshot!(described.join("\n"));
    }
}
