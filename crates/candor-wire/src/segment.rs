//! One bus with its nodes: distributes events to devices and carries out their requests.

mod faults;
mod script;

use candor_bus::{Bus, BusNs, Event, NodeConfig, NodeId, Order, Timing};

use crate::devices::Devices;
use crate::exchange::{Channel, Notice, Part, Request};
use crate::fault::{DeviceId, TraceEntry};
use faults::{ActiveFaults, BABBLED_FRAMES};
use script::Playing;
pub use script::Script;

/// Settings of all nodes of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub seed: u64,
    /// Order in which controllers send their frames.
    pub order: Order,
    /// Bit rates that override those of the drivers; the data bit rate only for channels with CAN FD enabled. `None`: each
    /// node has the rates of its driver, and nodes with different rates see errors.
    pub rates: Option<Timing>,
}

#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Index in the harness.
    number: usize,
    settings: Settings,
    bus: Bus,
    /// The channel of each node; `None` for unused nodes, for the one that only babbles, and for those of scripts.
    nodes: Vec<Option<(DeviceId, Channel)>>,
    /// Events that the devices have not been notified of.
    events: Vec<Event>,
    /// Entries that have not been taken yet.
    trace: Vec<TraceEntry>,
    faults: ActiveFaults,
    scripted: Vec<Playing>,
}

impl Segment {
    /// A bus with unused nodes; `None` if it cannot have that many.
    pub(crate) fn new(number: usize, settings: Settings, nodes: usize) -> Option<Self> {
        let mut bus = Bus::new(settings.seed);
        for _ in 0..nodes {
            bus.add_node()?;
        }
        Some(Self {
            number,
            settings,
            bus,
            nodes: vec![None; nodes],
            events: Vec::new(),
            trace: Vec::new(),
            faults: ActiveFaults::default(),
            scripted: Vec::new(),
        })
    }

    /// Returns true if the node exists and has no channel.
    pub(crate) fn is_free(&self, NodeId(node): NodeId) -> bool {
        self.nodes.get(usize::from(node)) == Some(&None)
            && !self.faults.is_babbler(NodeId(node))
            && !self.is_scripted(NodeId(node))
    }

    pub(crate) fn assign(&mut self, NodeId(node): NodeId, device: DeviceId, channel: u8) {
        if let Some(place) = self.nodes.get_mut(usize::from(node)) {
            *place = Some((device, Channel(channel)));
        }
    }

    pub(crate) fn next_event(&self) -> Option<BusNs> {
        [self.bus.next_event(), self.faults.next(), self.next_scripted()].into_iter().flatten().min()
    }

    pub(crate) fn advance(&mut self, now: BusNs, devices: &mut Devices) {
        // Event by event: a request that a device makes because of an event takes effect at the time of that event.
        while let Some(at) = self.next_event().filter(|&at| at <= now) {
            self.bus.advance(at, &mut self.events);
            self.settle(at, devices);
            self.play_due(at);
            self.carry_out_due(at, devices);
        }
        self.bus.advance(now, &mut self.events);
        self.settle(now, devices);
    }

    pub(crate) fn take_trace(&mut self, trace: &mut Vec<TraceEntry>) {
        trace.append(&mut self.trace);
    }

    pub(crate) fn channel(&self, NodeId(node): NodeId) -> Option<(DeviceId, Channel)> {
        self.nodes.get(usize::from(node)).copied().flatten()
    }

    pub(crate) const fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The time at which bytes that were available at `now` count as received.
    pub(crate) fn in_time(&self, now: BusNs) -> BusNs {
        self.next_event().map_or(now, |next| next.min(now))
    }

    /// Releases the frozen nodes of a device that was replaced.
    pub(crate) fn thaw_all_of(&mut self, device: DeviceId) {
        for node in self.node_ids() {
            if self.channel(node).is_some_and(|(of, _)| of == device) {
                self.bus.hold(node, false);
            }
        }
    }

    /// Notifies the devices and carries out their requests, until there are none left.
    pub(crate) fn settle(&mut self, at: BusNs, devices: &mut Devices) {
        loop {
            self.notify(devices);
            let Some((node, request)) = devices.next_request(self.number) else { return };
            self.execute(node, request, at, devices);
        }
    }

    fn execute(&mut self, node: NodeId, request: Request, at: BusNs, devices: &mut Devices) {
        match request {
            Request::Cancel { tag, .. } => {
                self.bus.cancel(node, tag);
            }
            Request::Restart { .. } => self.bus.restart(at, node),
            Request::Send { tag, frame, .. } => {
                if self.bus.submit(at, node, tag, frame).is_err() {
                    self.notice(devices, node, |channel| Notice::Failed { channel, tag, at });
                }
            }
            Request::Start { timing, listen_only, one_shot, .. } => {
                // The bus must have advanced to the time of the change.
                self.bus.advance(at, &mut self.events);
                let slots = self.channel(node).map_or(1, |(device, _)| devices.slots(device));
                let config = NodeConfig {
                    timing: self.rates(timing),
                    order: self.settings.order,
                    // The slots of the adapter, and frames that its node babbles.
                    depth: slots + BABBLED_FRAMES as usize,
                    listen_only,
                    one_shot,
                };
                self.end_babble_of(node);
                self.bus.switch_on(at, node, config);
            }
            Request::Stop { .. } => {
                self.bus.advance(at, &mut self.events);
                self.end_babble_of(node);
                self.bus.switch_off(at, node);
            }
        }
    }

    fn rates(&self, driver: Timing) -> Timing {
        let Some(forced) = self.settings.rates else { return driver };
        Timing { nominal: forced.nominal, data: driver.data.map(|data| forced.data.unwrap_or(data)) }
    }

    fn notify(&mut self, devices: &mut Devices) {
        let mut events = std::mem::take(&mut self.events);
        for event in &events {
            self.notify_of(event, devices);
            self.babble_on(event);
        }
        self.trace.extend(events.drain(..).map(TraceEntry::Event));
        self.events = events;
    }

    fn notify_of(&mut self, event: &Event, devices: &mut Devices) {
        match *event {
            Event::Delivered { end: at, sender, tag, frame, receivers, .. } => {
                self.notice(devices, sender, |channel| Notice::Sent { channel, tag, frame, at });
                for receiver in receivers.iter() {
                    self.notice(devices, receiver, |channel| Notice::Received { channel, frame, at });
                }
            }
            Event::Error { at, sender, kind, detected, given_up, .. } => {
                for node in detected.iter() {
                    let part = if node == sender { Part::Sender } else { Part::Receiver };
                    let counters = self.bus.counters(node);
                    self.notice(devices, node, |channel| Notice::BusError { channel, kind, part, counters, at });
                }
                if let Some(tag) = given_up {
                    self.notice(devices, sender, |channel| Notice::Failed { channel, tag, at });
                }
            }
            Event::LostArbitration { at, node, bit, given_up } => {
                self.notice(devices, node, |channel| Notice::LostArbitration { channel, bit, at });
                if let Some(tag) = given_up {
                    self.notice(devices, node, |channel| Notice::Failed { channel, tag, at });
                }
            }
            Event::State { at, node, state, counters } => {
                self.notice(devices, node, |channel| Notice::State { channel, state, counters, at });
            }
        }
    }

    fn notice(&self, devices: &mut Devices, node: NodeId, notice: impl FnOnce(Channel) -> Notice) {
        if let Some((device, channel)) = self.channel(node) {
            devices.notice(device, &notice(channel));
        }
    }
}
