//! Faults of a bus, injected now or at a bus time.

use candor_bus::{
    BusNs, CAN_BUS_OFF_THRESHOLD, Counters, Disturbance, ErrorState, Event, NodeConfig, NodeId, SubmitError, Tag,
    Target,
};
use candor_core::frame::Frame;

use super::Segment;
use crate::devices::Devices;
use crate::fault::{Effect, Fault, FaultId, FaultOrder, Hold, Refusal, TraceEntry};

/// Frames of a babbling node that its controller holds: while one is on the wire, the next one waits.
pub(super) const BABBLED_FRAMES: u32 = 2;
/// Maximum of scheduled orders, and of disturbances planned on the bus.
const PLANNED_MAX: usize = 1024;

/// Faults that are scheduled or in force.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveFaults {
    /// In the order of time.
    agenda: Vec<Entry>,
    /// At most one in force, and earlier ones whose last frame is still on the wire.
    babbles: Vec<Babble>,
    /// The node that only babbles, once it was added.
    babbler: Option<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: BusNs,
    order: FaultOrder,
    /// The end of a fault with a duration.
    is_end: bool,
}

#[derive(Clone, Copy, Debug)]
struct Babble {
    node: NodeId,
    frame: Frame,
    /// Ended, except for the frame on the wire.
    is_over: bool,
}

impl ActiveFaults {
    pub(super) fn next(&self) -> Option<BusNs> {
        self.agenda.first().map(|entry| entry.at)
    }

    pub(super) fn is_babbler(&self, node: NodeId) -> bool {
        self.babbler == Some(node)
    }

    fn insert(&mut self, entry: Entry) {
        let place = self.agenda.partition_point(|other| other.at <= entry.at);
        self.agenda.insert(place, entry);
    }

    /// Unschedules an end, because the fault has ended or starts again.
    fn unschedule(&mut self, end: &Fault) {
        let both = matches!(end, Fault::Release { what: Hold::All });
        let matches = |fault: &Fault| {
            fault == end || both && matches!(fault, Fault::Release { what: Hold::Babble | Hold::Stuck })
        };
        self.agenda.retain(|entry| !entry.is_end || !matches(&entry.order.fault));
    }

    fn babble_of(&self, sender: NodeId, tag: Tag) -> Option<Babble> {
        let of_node = |babble: &&Babble| babble.node == sender && babbled().any(|other| other == tag);
        self.babbles.iter().find(of_node).copied()
    }
}

/// Tags that no adapter uses, because theirs count from 0.
fn babbled() -> impl Iterator<Item = Tag> {
    (0..BABBLED_FRAMES).map(|number| Tag(u32::MAX - number))
}

impl Segment {
    /// See [`Harness::order`](crate::Harness::order).
    pub(crate) fn order(&mut self, order: FaultOrder, now: BusNs, devices: &mut Devices) -> Option<BusNs> {
        let here = self.in_time(now);
        let Some(at) = order.at else {
            self.carry_out(here, &order, devices);
            return None;
        };
        let refused = if at < now {
            Refusal::Past { now }
        } else if self.faults.agenda.len() >= PLANNED_MAX {
            Refusal::TooMany
        } else {
            self.faults.insert(Entry { at, order, is_end: false });
            return Some(at);
        };
        self.note(here, order.id, order.fault, Some(refused));
        None
    }

    pub(super) fn carry_out_due(&mut self, at: BusNs, devices: &mut Devices) {
        while self.faults.next().is_some_and(|next| next <= at) {
            let entry = self.faults.agenda.remove(0);
            self.carry_out(entry.at, &entry.order, devices);
        }
    }

    fn carry_out(&mut self, at: BusNs, order: &FaultOrder, devices: &mut Devices) {
        self.bus.advance(at, &mut self.events);
        self.settle(at, devices);
        let outcome = self.attempt(at, &order.fault, devices);
        self.note(at, order.id, order.fault, outcome.err());
        self.settle(at, devices);
        if let (Ok(()), Some(end)) = (outcome, order.fault.end()) {
            self.faults.unschedule(&end);
            if let Some(lasts_ns) = order.lasts_ns {
                let order = FaultOrder { id: order.id, at: None, lasts_ns: None, fault: end };
                self.faults.insert(Entry { at: at + lasts_ns, order, is_end: true });
            }
        }
    }

    fn note(&mut self, at: BusNs, order: FaultId, fault: Fault, refused: Option<Refusal>) {
        self.trace.push(TraceEntry::Fault(Effect { at, order, fault, refused }));
    }

    fn attempt(&mut self, at: BusNs, fault: &Fault, devices: &mut Devices) -> Result<(), Refusal> {
        match *fault {
            Fault::Babble { frame, node } => return self.babble(at, frame, node),
            Fault::BitError { target, bit, times } => {
                let disturbance = bit.map_or(Disturbance::FlipSomewhere, |bit| Disturbance::Flip { bit });
                return self.plan(target, disturbance, times);
            }
            Fault::BitErrorRate { rate } => self.bus.faults().set_bit_error_rate(rate),
            Fault::BusOff { node } => {
                let counters = Counters { transmit: CAN_BUS_OFF_THRESHOLD, ..self.bus.counters(node) };
                self.bus.set_counters(at, node, counters, &mut self.events)?;
            }
            Fault::Clear => self.clear(at),
            Fault::Counters { node, counters } => self.bus.set_counters(at, node, counters, &mut self.events)?,
            Fault::ErrorFrame { node, id, bit, times } => {
                self.channel(node).ok_or(Refusal::NoNode)?;
                let somewhere = Disturbance::ErrorFlagSomewhere { node };
                let disturbance = bit.map_or(somewhere, |bit| Disturbance::ErrorFlag { node, bit });
                return self.plan(Target { sender: None, id, witness: Some(node) }, disturbance, times);
            }
            Fault::Freeze { node } => self.hold(node, true)?,
            Fault::LostAck { target, times } => return self.plan(target, Disturbance::NoAcknowledge, times),
            Fault::Release { what } => {
                self.faults.unschedule(fault);
                if what != Hold::Stuck {
                    self.stop_babbling(at);
                }
                if what != Hold::Babble {
                    self.bus.stick(at, false);
                }
            }
            Fault::Replug { device } => {
                devices.replug(device, self.number)?;
                self.thaw_all_of(device);
            }
            Fault::Stuck => self.bus.stick(at, true),
            Fault::Thaw { node } => {
                self.faults.unschedule(fault);
                self.hold(node, false)?;
            }
            Fault::Unplug { device } => return devices.unplug(device),
        }
        Ok(())
    }

    fn plan(&mut self, target: Target, disturbance: Disturbance, times: u32) -> Result<(), Refusal> {
        if self.bus.faults().planned() >= PLANNED_MAX {
            return Err(Refusal::TooMany);
        }
        self.bus.faults().plan(target, disturbance, times);
        Ok(())
    }

    fn hold(&mut self, node: NodeId, held: bool) -> Result<(), Refusal> {
        self.channel(node).ok_or(Refusal::NoNode)?;
        self.bus.hold(node, held);
        Ok(())
    }

    fn clear(&mut self, at: BusNs) {
        self.faults.agenda.clear();
        self.bus.faults().clear();
        self.bus.stick(at, false);
        self.stop_babbling(at);
        for node in self.node_ids() {
            self.bus.hold(node, false);
        }
    }

    fn babble(&mut self, at: BusNs, frame: Frame, node: Option<NodeId>) -> Result<(), Refusal> {
        self.stop_babbling(at);
        let sender = match node {
            Some(node) => self.bus.timing(node).map(|_on_the_bus| node).ok_or(Refusal::NotOnBus)?,
            None => self.babbler(at)?,
        };
        self.end_babble_of(sender);
        self.faults.babbles.push(Babble { node: sender, frame, is_over: false });
        for tag in babbled() {
            match self.bus.submit(at, sender, tag, frame) {
                // An earlier one is still on the wire.
                Ok(()) | Err(SubmitError::TagInUse) => {}
                Err(error) => {
                    self.stop_babbling(at);
                    return Err(Refusal::Frame(error));
                }
            }
        }
        Ok(())
    }

    /// The node that only babbles; adds it and switches it on if necessary.
    fn babbler(&mut self, at: BusNs) -> Result<NodeId, Refusal> {
        let timing = self.node_ids().find_map(|node| self.bus.timing(node)).ok_or(Refusal::Silent)?;
        let node = match self.faults.babbler {
            Some(node) => node,
            None => {
                let node = self.bus.add_node().ok_or(Refusal::NoRoom)?;
                self.nodes.push(None);
                *self.faults.babbler.insert(node)
            }
        };
        if self.bus.timing(node).is_none() {
            let (order, depth) = (self.settings.order, BABBLED_FRAMES as usize);
            let config = NodeConfig { timing, order, depth, listen_only: false, one_shot: false };
            self.bus.switch_on(at, node, config);
        }
        Ok(node)
    }

    /// Ends babbling, except for a frame on the wire.
    fn stop_babbling(&mut self, at: BusNs) {
        for mut babble in std::mem::take(&mut self.faults.babbles) {
            let mut is_on_the_wire = false;
            for tag in babbled() {
                is_on_the_wire |= self.bus.holds(babble.node, tag) && !self.bus.cancel(babble.node, tag);
            }
            if is_on_the_wire {
                babble.is_over = true;
                self.faults.babbles.push(babble);
            } else {
                self.detach_babbler(at, babble.node);
            }
        }
    }

    /// A node that only babbles must not acknowledge the frames of others afterwards.
    fn detach_babbler(&mut self, at: BusNs, node: NodeId) {
        if self.faults.babbler == Some(node) {
            self.bus.switch_off(at, node);
        }
    }

    /// Submits the next frame of a babbling node.
    pub(super) fn babble_on(&mut self, event: &Event) {
        match *event {
            Event::Delivered { end, sender, tag, .. } => match self.faults.babble_of(sender, tag) {
                Some(Babble { frame, is_over: false, .. }) => {
                    let _queue_has_room = self.bus.submit(end, sender, tag, frame);
                }
                Some(Babble { node, is_over: true, .. }) => {
                    self.end_babble_of(node);
                    self.detach_babbler(end, node);
                }
                None => {}
            },
            // It has no driver to restart it.
            Event::State { at, node, state: ErrorState::BusOff, .. } if self.faults.babbler == Some(node) => {
                self.bus.restart(at, node);
            }
            Event::Error { .. } | Event::LostArbitration { .. } | Event::State { .. } => {}
        }
    }

    /// A controller that is started or stopped has an empty queue.
    pub(super) fn end_babble_of(&mut self, node: NodeId) {
        self.faults.babbles.retain(|babble| babble.node != node);
    }

    pub(super) fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u8::try_from(self.nodes.len()).unwrap_or(u8::MAX)).map(NodeId)
    }
}
