//! One bus with its nodes: who hears what of what happens there, and what becomes of what adapters want.

mod faults;

use candor_bus::{Bus, BusNs, Event, NodeConfig, NodeId, Order, Timing};

use crate::exchange::{Channel, Notice, Part, Request};
use crate::fault::Happening;
use crate::harness::{DeviceId, Devices};
use faults::{BABBLED_FRAMES, Disorder};

/// What all nodes of a bus have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Of the faults of the bus.
    pub seed: u64,
    /// In which order the controllers send what they hold.
    pub order: Order,
    /// Bit rates that count whatever the drivers set; the data bit rate only for channels with CAN FD on. `None`: each
    /// node has its own, and nodes of different rates see errors.
    pub rates: Option<Timing>,
}

/// A bus with its nodes.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Among those of its harness.
    number: usize,
    settings: Settings,
    bus: Bus,
    /// Which channel a node is. One that nobody has taken, or that only babbles, is none.
    nodes: Vec<Option<(DeviceId, Channel)>>,
    /// What happened and nobody was told of yet.
    events: Vec<Event>,
    /// What happened and was not handed out yet.
    story: Vec<Happening>,
    /// Faults on command.
    disorder: Disorder,
}

impl Segment {
    /// A bus with so many nodes that nobody has taken; `None` if it cannot have so many.
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
            story: Vec::new(),
            disorder: Disorder::default(),
        })
    }

    /// Whether this is a node for a channel, and none has it.
    pub(crate) fn is_free(&self, NodeId(node): NodeId) -> bool {
        self.nodes.get(usize::from(node)) == Some(&None) && !self.disorder.is_stranger(NodeId(node))
    }

    /// Makes a node this channel.
    pub(crate) fn take(&mut self, NodeId(node): NodeId, device: DeviceId, channel: u8) {
        if let Some(place) = self.nodes.get_mut(usize::from(node)) {
            *place = Some((device, Channel(channel)));
        }
    }

    /// When the bus wants to be looked at, if nobody writes anything before.
    pub(crate) fn next_event(&self) -> Option<BusNs> {
        [self.bus.next_event(), self.disorder.next()].into_iter().flatten().min()
    }

    /// Lets time pass up to `now`.
    pub(crate) fn advance(&mut self, now: BusNs, devices: &mut Devices) {
        // Step by step: what a device asks for because of an event, it asks for at the time of that event.
        while let Some(at) = self.next_event().filter(|&at| at <= now) {
            self.bus.advance(at, &mut self.events);
            self.settle(at, devices);
            self.carry_out_due(at, devices);
        }
        self.bus.advance(now, &mut self.events);
        self.settle(now, devices);
    }

    /// Hands out what happened, in the order of time.
    pub(crate) fn tell_story(&mut self, story: &mut Vec<Happening>) {
        story.append(&mut self.story);
    }

    /// Which device and channel a node is; `None` for one that nobody has taken, or that only babbles.
    pub(crate) fn channel(&self, NodeId(node): NodeId) -> Option<(DeviceId, Channel)> {
        self.nodes.get(usize::from(node)).copied().flatten()
    }

    /// The bus itself, to look at.
    pub(crate) const fn bus(&self) -> &Bus {
        &self.bus
    }

    /// When something that was there at `now` counts as having come.
    pub(crate) fn in_time(&self, now: BusNs) -> BusNs {
        self.next_event().map_or(now, |next| next.min(now))
    }

    /// Nobody holds the nodes of this device any more: it is another one.
    pub(crate) fn thaw_all_of(&mut self, device: DeviceId) {
        for node in self.node_ids() {
            if self.channel(node).is_some_and(|(of, _)| of == device) {
                self.bus.hold(node, false);
            }
        }
    }

    /// Tells everybody what happened and does what they want, until nobody wants anything more of this bus.
    pub(crate) fn settle(&mut self, at: BusNs, devices: &mut Devices) {
        loop {
            self.tell(devices);
            let Some((node, request)) = devices.next_wanted(self.number) else { return };
            self.fulfil(node, request, at, devices);
        }
    }

    fn fulfil(&mut self, node: NodeId, request: Request, at: BusNs, devices: &mut Devices) {
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
                // A bus is changed after it has come to the moment of the change.
                self.bus.advance(at, &mut self.events);
                let slots = self.channel(node).map_or(1, |(device, _)| devices.slots(device));
                let config = NodeConfig {
                    timing: self.rates(timing),
                    order: self.settings.order,
                    // An adapter takes no more than its slots; what its node babbles comes on top.
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

    /// Tells the devices what happened.
    fn tell(&mut self, devices: &mut Devices) {
        let mut events = std::mem::take(&mut self.events);
        for event in &events {
            self.tell_of(event, devices);
            self.babble_on(event);
        }
        self.story.extend(events.drain(..).map(Happening::Event));
        self.events = events;
    }

    fn tell_of(&mut self, event: &Event, devices: &mut Devices) {
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
