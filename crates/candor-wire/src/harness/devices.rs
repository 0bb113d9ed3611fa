//! The adapters, whichever buses their channels are on, and what they want of these.

use std::collections::VecDeque;

use candor_bus::{BusNs, NodeId};

use crate::device::{Device, DeviceError, Statistics};
use crate::exchange::{Channel, Notice, Request};
use crate::fault::Refusal;
use crate::model::{AnyModel, Model};

/// How many received frames an adapter keeps for each channel while its driver posts no transfer. A second at 1 Mbit/s
/// is 20000 of the shortest frames; a driver that is behind by so much has lost more than this.
const QUEUE_FRAMES: usize = 4096;

/// An adapter, by the order of [`Harness::plug`](super::Harness::plug).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub usize);

/// A place for a channel: a bus, by the order of [`Harness::add_bus`](super::Harness::add_bus), and one of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which bus.
    pub bus: usize,
    /// Which of its nodes.
    pub node: NodeId,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Devices {
    plugged: Vec<Plugged>,
    /// What they want of each bus and have not got yet.
    wanted: Vec<VecDeque<(NodeId, Request)>>,
    /// Those that were replaced, and by order to which bus: only that one has thawed their nodes.
    renewed: Vec<(DeviceId, usize)>,
    /// For the requests of one call.
    requests: Vec<Request>,
}

#[derive(Clone, Debug)]
struct Plugged {
    device: Device<AnyModel>,
    /// The same, as it is before anybody sets anything.
    blank: AnyModel,
    /// Of each channel.
    places: Vec<Place>,
    /// It takes no part on any bus. As long as its stream is open it answers all the same: the kernel asks a device for its state
    /// whenever somebody looks at its interfaces, and waits for ever.
    is_unplugged: bool,
    /// Of those that were here before it was plugged in again.
    past: Statistics,
}

impl Plugged {
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

impl Devices {
    /// One more bus.
    pub(super) fn add_bus(&mut self) {
        self.wanted.push(VecDeque::new());
    }

    /// The name of the one that is plugged in next.
    pub(super) const fn next_id(&self) -> DeviceId {
        DeviceId(self.plugged.len())
    }

    /// An adapter with a place for each of its channels.
    pub(super) fn plug(&mut self, model: AnyModel, places: &[Place]) {
        let (device, past) = (Device::new(model.clone(), QUEUE_FRAMES), Statistics::default());
        self.plugged.push(Plugged { device, blank: model, places: places.to_vec(), is_unplugged: false, past });
    }

    /// Takes bytes of a device's stream. See [`Harness::receive`](super::Harness::receive).
    pub(super) fn receive(&mut self, device: DeviceId, bytes: &[u8], at: BusNs) -> Result<(), DeviceError> {
        let Some(plugged) = self.plugged.get_mut(device.0) else { return Ok(()) };
        let outcome = plugged.device.receive(bytes, at, &mut self.requests);
        if plugged.is_unplugged {
            self.requests.clear();
        }
        self.sort(device);
        outcome
    }

    /// Tells a device what happened.
    pub(crate) fn notice(&mut self, device: DeviceId, notice: &Notice) {
        let Some(plugged) = self.plugged.get_mut(device.0) else { return };
        plugged.device.notice(notice, &mut self.requests);
        self.sort(device);
    }

    /// Whether a device was taken off its buses.
    pub(super) fn is_unplugged(&self, device: DeviceId) -> bool {
        self.plugged.get(device.0).is_none_or(|plugged| plugged.is_unplugged)
    }

    /// Takes a device off its buses. Its stream is to be closed.
    pub(super) fn unplug(&mut self, device: DeviceId) {
        let Some(plugged) = self.plugged.get_mut(device.0) else { return };
        plugged.device.unplug(&mut self.requests);
        plugged.is_unplugged = true;
        self.sort(device);
    }

    /// The same on command.
    pub(crate) fn pull(&mut self, device: DeviceId) -> Result<(), Refusal> {
        if self.plugged.get(device.0).ok_or(Refusal::NoNode)?.is_unplugged {
            return Err(Refusal::Unplugged);
        }
        self.unplug(device);
        Ok(())
    }

    /// Plugs in a new one of its kind, by order to this bus.
    pub(crate) fn replug(&mut self, device: DeviceId, bus: usize) -> Result<(), Refusal> {
        let plugged = self.plugged.get_mut(device.0).ok_or(Refusal::NoNode)?;
        if !plugged.is_unplugged {
            return Err(Refusal::NotUnplugged);
        }
        plugged.past = plugged.statistics();
        plugged.device = Device::new(plugged.blank.clone(), QUEUE_FRAMES);
        plugged.is_unplugged = false;
        self.renewed.push((device, bus));
        Ok(())
    }

    /// Those that were plugged in again since the last call, and by order to which bus.
    pub(super) fn take_renewed(&mut self) -> Vec<(DeviceId, usize)> {
        std::mem::take(&mut self.renewed)
    }

    /// What is wanted of a bus next, and for which of its nodes.
    pub(crate) fn next_wanted(&mut self, bus: usize) -> Option<(NodeId, Request)> {
        self.wanted.get_mut(bus)?.pop_front()
    }

    /// A bus of which something is wanted.
    pub(super) fn wanted_of(&self) -> Option<usize> {
        self.wanted.iter().position(|wanted| !wanted.is_empty())
    }

    /// Frames of one channel that the driver of a device may have on the way.
    pub(crate) fn slots(&self, device: DeviceId) -> usize {
        self.plugged.get(device.0).map_or(1, |plugged| plugged.device.model().slots())
    }

    /// Where the channels of a device are.
    pub(super) fn places(&self, device: DeviceId) -> &[Place] {
        self.plugged.get(device.0).map_or(&[], |plugged| &plugged.places)
    }

    pub(super) fn output(&mut self, device: DeviceId) -> Option<&mut Vec<u8>> {
        Some(self.plugged.get_mut(device.0)?.device.output())
    }

    pub(super) fn statistics(&self, device: DeviceId) -> Option<Statistics> {
        Some(self.plugged.get(device.0)?.statistics())
    }

    /// Requests of a device to their buses.
    fn sort(&mut self, device: DeviceId) {
        let Self { plugged, wanted, requests, .. } = self;
        for request in requests.drain(..) {
            let Channel(channel) = request.channel();
            let place = plugged.get(device.0).and_then(|plugged| plugged.places.get(usize::from(channel)));
            if let Some((queue, place)) = place.and_then(|place| Some((wanted.get_mut(place.bus)?, place))) {
                queue.push_back((place.node, request));
            }
        }
    }

    #[cfg(test)]
    pub(super) fn want(&mut self, device: DeviceId, request: Request) {
        self.requests.push(request);
        self.sort(device);
    }
}
