//! One bus and the adapters that hang on it: which channel is which node, and who hears what of what happens.
//!
//! ```text
//!  bytes ─▶ Device ─▶ Request ─▶ Bus::switch_on, submit, cancel, …
//!  bytes ◀─ Device ◀─ Notice ◀── Event ──▶ the story, for whoever keeps the log
//!                        FaultOrder ─▶ Bus ─▶ Effect ──▶ the same
//! ```
//!
//! # Time
//! The holder wakes up a little after each moment of the bus. Whatever it then finds in the streams was written before
//! it woke up, and cannot have seen what the bus is about to do; so it counts as having come in time for that
//! ([`Segment::receive`]). The bus thus runs on a time line of its own on which lateness does not add up.

mod faults;

use std::collections::VecDeque;

use candor_bus::{Bus, BusNs, Event, NodeConfig, NodeId, Order, Timing};

use crate::device::{Device, DeviceError, Statistics};
use crate::exchange::{Channel, Notice, Part, Request};
use crate::fault::Happening;
use crate::model::{AnyModel, Model};
use faults::{BABBLED_FRAMES, Disorder};

/// How many received frames an adapter keeps for each channel while its driver posts no transfer. A second at 1 Mbit/s
/// is 20000 of the shortest frames; a driver that is behind by so much has lost more than this.
const QUEUE_FRAMES: usize = 4096;

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

/// A device on a [`Segment`], by the order of [`Segment::plug`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub usize);

/// A bus with its adapters.
#[derive(Clone, Debug)]
pub struct Segment {
    settings: Settings,
    bus: Bus,
    devices: Vec<Plugged>,
    /// Which channel a node is. One that only babbles is none.
    nodes: Vec<Option<(DeviceId, Channel)>>,
    /// What devices want and have not got yet.
    wanted: VecDeque<(DeviceId, Request)>,
    /// What happened and nobody was told of yet.
    events: Vec<Event>,
    /// What happened and was not handed out yet.
    story: Vec<Happening>,
    /// Faults on command.
    disorder: Disorder,
    /// For the requests of one call.
    requests: Vec<Request>,
}

#[derive(Clone, Debug)]
struct Plugged {
    device: Device<AnyModel>,
    /// The same, as it is before anybody sets anything.
    blank: AnyModel,
    /// The nodes of its channels follow each other.
    first: u8,
    /// It has no stream, and takes no part.
    is_unplugged: bool,
    /// Of those that were here before it was plugged in again.
    past: Statistics,
}

impl Plugged {
    /// Plugs in a new one of its kind.
    fn renew(&mut self) {
        self.past = self.statistics();
        self.device = Device::new(self.blank.clone(), QUEUE_FRAMES);
        self.is_unplugged = false;
    }

    fn statistics(&self) -> Statistics {
        let (past, now) = (self.past, self.device.statistics());
        Statistics {
            dropped: past.dropped + now.dropped,
            refused: past.refused + now.refused,
            waiting: now.waiting,
            waiting_most: past.waiting_most.max(now.waiting_most),
        }
    }
}

impl Segment {
    /// A bus without adapters.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            bus: Bus::new(settings.seed),
            devices: Vec::new(),
            nodes: Vec::new(),
            wanted: VecDeque::new(),
            events: Vec::new(),
            story: Vec::new(),
            disorder: Disorder::default(),
            requests: Vec::new(),
        }
    }

    /// Hangs an adapter on the bus. `None` if the bus has no room for all of its channels.
    pub fn plug(&mut self, model: AnyModel) -> Option<DeviceId> {
        let channels = model.channels();
        let first = u8::try_from(self.nodes.len()).ok()?;
        if usize::from(first) + usize::from(channels) > candor_bus::NodeSet::MAX_NODES {
            return None;
        }
        let id = DeviceId(self.devices.len());
        for channel in 0..channels {
            self.bus.add_node()?;
            self.nodes.push(Some((id, Channel(channel))));
        }
        let (device, past) = (Device::new(model.clone(), QUEUE_FRAMES), Statistics::default());
        self.devices.push(Plugged { device, blank: model, first, is_unplugged: false, past });
        Some(id)
    }

    /// Takes bytes of a device's stream that were there to be read at `now`. What they ask for happens at `now`, or
    /// just before what the bus does next if that is earlier.
    ///
    /// # Errors
    /// [`DeviceError`] if the peer is no kernel. [`unplug`](Self::unplug) the device and close its stream.
    pub fn receive(&mut self, device: DeviceId, bytes: &[u8], now: BusNs) -> Result<(), DeviceError> {
        let at = self.in_time(now);
        let plugged = self.devices.get_mut(device.0).filter(|plugged| !plugged.is_unplugged);
        let Some(plugged) = plugged else { return Ok(()) };
        let outcome = plugged.device.receive(bytes, at, &mut self.requests);
        self.wanted.extend(self.requests.drain(..).map(|request| (device, request)));
        self.settle(at);
        outcome
    }

    /// Takes a device off the bus. Its stream is at its end.
    pub fn unplug(&mut self, device: DeviceId, now: BusNs) {
        let at = self.in_time(now);
        self.take_off(device);
        self.settle(at);
    }

    fn take_off(&mut self, device: DeviceId) {
        let Some(plugged) = self.devices.get_mut(device.0) else { return };
        plugged.device.unplug(&mut self.requests);
        plugged.is_unplugged = true;
        self.wanted.extend(self.requests.drain(..).map(|request| (device, request)));
    }

    /// When the bus wants to be looked at, if nobody writes anything before.
    #[must_use]
    pub fn next_event(&self) -> Option<BusNs> {
        [self.bus.next_event(), self.disorder.next()].into_iter().flatten().min()
    }

    /// Lets time pass up to `now`, and appends what happened to the story, in the order of time.
    pub fn advance(&mut self, now: BusNs, story: &mut Vec<Happening>) {
        // Step by step: what a device asks for because of an event, it asks for at the time of that event.
        while let Some(at) = self.next_event().filter(|&at| at <= now) {
            self.bus.advance(at, &mut self.events);
            self.settle(at);
            self.carry_out_due(at);
        }
        self.bus.advance(now, &mut self.events);
        self.settle(now);
        story.append(&mut self.story);
    }

    /// What a device has to say, to be written to its stream and drained by the caller. `None` if it is unplugged.
    pub fn output(&mut self, device: DeviceId) -> Option<&mut Vec<u8>> {
        let plugged = self.devices.get_mut(device.0).filter(|plugged| !plugged.is_unplugged)?;
        Some(plugged.device.output())
    }

    /// What the messages of a device had to wait and suffer.
    #[must_use]
    pub fn statistics(&self, device: DeviceId) -> Option<Statistics> {
        Some(self.devices.get(device.0)?.statistics())
    }

    /// Which device and channel a node is. One that only babbles is none.
    #[must_use]
    pub fn channel(&self, NodeId(node): NodeId) -> Option<(DeviceId, Channel)> {
        self.nodes.get(usize::from(node)).copied().flatten()
    }

    /// The bus itself, to look at.
    #[must_use]
    pub const fn bus(&self) -> &Bus {
        &self.bus
    }

    fn in_time(&self, now: BusNs) -> BusNs {
        self.next_event().map_or(now, |next| next.min(now))
    }

    /// Tells everybody what happened and does what they want, until nobody wants anything more.
    fn settle(&mut self, at: BusNs) {
        loop {
            self.tell();
            let Some((device, request)) = self.wanted.pop_front() else { return };
            self.fulfil(device, request, at);
        }
    }

    fn node(&self, device: DeviceId, Channel(channel): Channel) -> Option<NodeId> {
        let node = NodeId(self.devices.get(device.0)?.first.checked_add(channel)?);
        (self.channel(node)? == (device, Channel(channel))).then_some(node)
    }

    fn fulfil(&mut self, device: DeviceId, request: Request, at: BusNs) {
        let (Request::Cancel { channel, .. }
        | Request::Restart { channel }
        | Request::Send { channel, .. }
        | Request::Start { channel, .. }
        | Request::Stop { channel }) = request;
        let Some(node) = self.node(device, channel) else { return };
        match request {
            Request::Cancel { tag, .. } => {
                self.bus.cancel(node, tag);
            }
            Request::Restart { .. } => self.bus.restart(at, node),
            Request::Send { tag, frame, .. } => {
                if self.bus.submit(at, node, tag, frame).is_err() {
                    self.notice(node, |channel| Notice::Failed { channel, tag, at });
                }
            }
            Request::Start { timing, listen_only, one_shot, .. } => {
                // A bus is changed after it has come to the moment of the change.
                self.bus.advance(at, &mut self.events);
                let slots = self.devices.get(device.0).map_or(1, |plugged| plugged.device.model().slots());
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
    fn tell(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for event in &events {
            self.tell_of(event);
            self.babble_on(event);
        }
        self.story.extend(events.drain(..).map(Happening::Event));
        self.events = events;
    }

    fn tell_of(&mut self, event: &Event) {
        match *event {
            Event::Delivered { end: at, sender, tag, frame, receivers, .. } => {
                self.notice(sender, |channel| Notice::Sent { channel, tag, frame, at });
                for receiver in receivers.iter() {
                    self.notice(receiver, |channel| Notice::Received { channel, frame, at });
                }
            }
            Event::Error { at, sender, kind, detected, given_up, .. } => {
                for node in detected.iter() {
                    let part = if node == sender { Part::Sender } else { Part::Receiver };
                    let counters = self.bus.counters(node);
                    self.notice(node, |channel| Notice::BusError { channel, kind, part, counters, at });
                }
                if let Some(tag) = given_up {
                    self.notice(sender, |channel| Notice::Failed { channel, tag, at });
                }
            }
            Event::LostArbitration { at, node, bit, given_up } => {
                self.notice(node, |channel| Notice::LostArbitration { channel, bit, at });
                if let Some(tag) = given_up {
                    self.notice(node, |channel| Notice::Failed { channel, tag, at });
                }
            }
            Event::State { at, node, state, counters } => {
                self.notice(node, |channel| Notice::State { channel, state, counters, at });
            }
        }
    }

    fn notice(&mut self, node: NodeId, notice: impl FnOnce(Channel) -> Notice) {
        let Some((device, channel)) = self.channel(node) else { return };
        let Some(plugged) = self.devices.get_mut(device.0) else { return };
        plugged.device.notice(&notice(channel), &mut self.requests);
        self.wanted.extend(self.requests.drain(..).map(|request| (device, request)));
    }
}

#[cfg(test)]
mod tests;
