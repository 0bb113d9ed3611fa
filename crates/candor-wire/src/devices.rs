//! The adapters on all buses, and their pending requests.

use std::collections::VecDeque;

use candor_bus::{BusNs, NodeId};

use crate::device::{Device, DeviceError, Statistics};
use crate::exchange::{Channel, Notice, Request};
use crate::fault::{DeviceId, Refusal};
use crate::model::Model;

/// Received frames that an adapter keeps for each channel while its driver posts no transfer. A second at 1 Mbit/s has up
/// to 20,000 frames; a driver that is late by that much has lost more than this.
const QUEUE_FRAMES: usize = 4096;

/// A node of a bus, by the order of [`Harness::add_bus`](crate::Harness::add_bus).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BusNode {
    pub bus: usize,
    pub node: NodeId,
}

#[derive(Debug, Default)]
pub struct Devices {
    plugged: Vec<Plugged>,
    pending: Vec<VecDeque<(NodeId, Request)>>,
    /// Replugged devices and the bus that the order was for, which has thawed their nodes already.
    replugged: Vec<(DeviceId, usize)>,
    /// Requests of one call.
    requests: Vec<Request>,
}

#[derive(Debug)]
struct Plugged {
    device: Device,
    initial: Box<dyn Model>,
    /// The node of each channel.
    nodes: Vec<BusNode>,
    /// It takes no part on any bus, but answers while its stream is open: the kernel queries the state of a device
    /// whenever its interfaces are listed, and waits without a timeout.
    is_unplugged: bool,
    /// Counters of the devices that were here before it was replugged.
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
    pub(crate) fn add_bus(&mut self) {
        self.pending.push(VecDeque::new());
    }

    /// The identifier of the next device.
    pub(crate) const fn next_id(&self) -> DeviceId {
        DeviceId(self.plugged.len())
    }

    /// Adds an adapter with a node for each of its channels.
    pub(crate) fn plug(&mut self, model: Box<dyn Model>, nodes: &[BusNode]) {
        let (device, past) = (Device::new(model.boxed(), QUEUE_FRAMES), Statistics::default());
        self.plugged.push(Plugged { device, initial: model, nodes: nodes.to_vec(), is_unplugged: false, past });
    }

    pub(crate) fn receive(&mut self, device: DeviceId, bytes: &[u8], at: BusNs) -> Result<(), DeviceError> {
        let Some(plugged) = self.plugged.get_mut(device.0) else { return Ok(()) };
        let outcome = plugged.device.receive(bytes, at, &mut self.requests);
        if plugged.is_unplugged {
            self.requests.clear();
        }
        self.dispatch(device);
        outcome
    }

    pub(crate) fn notice(&mut self, device: DeviceId, notice: &Notice) {
        let Some(plugged) = self.plugged.get_mut(device.0) else { return };
        plugged.device.notice(notice, &mut self.requests);
        self.dispatch(device);
    }

    /// Returns true if a device was taken off its buses.
    pub fn is_unplugged(&self, device: DeviceId) -> bool {
        self.plugged.get(device.0).is_none_or(|plugged| plugged.is_unplugged)
    }

    /// Takes a device off its buses. The caller closes its stream.
    pub(crate) fn unplug(&mut self, device: DeviceId) -> Result<(), Refusal> {
        let plugged = self.plugged.get_mut(device.0).ok_or(Refusal::NoNode)?;
        if std::mem::replace(&mut plugged.is_unplugged, true) {
            return Err(Refusal::Unplugged);
        }
        plugged.device.unplug(&mut self.requests);
        self.dispatch(device);
        Ok(())
    }

    /// Replaces an unplugged device by a new one, on an order to this bus.
    pub(crate) fn replug(&mut self, device: DeviceId, bus: usize) -> Result<(), Refusal> {
        let plugged = self.plugged.get_mut(device.0).ok_or(Refusal::NoNode)?;
        if !plugged.is_unplugged {
            return Err(Refusal::NotUnplugged);
        }
        plugged.past = plugged.statistics();
        plugged.device = Device::new(plugged.initial.boxed(), QUEUE_FRAMES);
        plugged.is_unplugged = false;
        self.replugged.push((device, bus));
        Ok(())
    }

    pub(crate) fn take_replugged(&mut self) -> Vec<(DeviceId, usize)> {
        std::mem::take(&mut self.replugged)
    }

    /// The next request to a bus, and its node.
    pub(crate) fn next_request(&mut self, bus: usize) -> Option<(NodeId, Request)> {
        self.pending.get_mut(bus)?.pop_front()
    }

    pub(crate) fn bus_with_requests(&self) -> Option<usize> {
        self.pending.iter().position(|pending| !pending.is_empty())
    }

    /// Frames of one channel that the driver of a device may have in flight.
    pub(crate) fn slots(&self, device: DeviceId) -> usize {
        self.plugged.get(device.0).map_or(1, |plugged| plugged.device.model().profile().slots)
    }

    /// The nodes of the channels of a device.
    pub fn nodes(&self, device: DeviceId) -> &[BusNode] {
        self.plugged.get(device.0).map_or(&[], |plugged| &plugged.nodes)
    }

    /// Bytes to be written to the stream of a device, drained by the caller. `None` if there is no such device.
    pub fn output(&mut self, device: DeviceId) -> Option<&mut Vec<u8>> {
        Some(self.plugged.get_mut(device.0)?.device.output())
    }

    pub fn statistics(&self, device: DeviceId) -> Option<Statistics> {
        Some(self.plugged.get(device.0)?.statistics())
    }

    /// Moves the requests of a device to its buses.
    fn dispatch(&mut self, device: DeviceId) {
        let Self { plugged, pending, requests, .. } = self;
        for request in requests.drain(..) {
            let Channel(channel) = request.channel();
            let node = plugged.get(device.0).and_then(|plugged| plugged.nodes.get(usize::from(channel)));
            if let Some((queue, node)) = node.and_then(|node| Some((pending.get_mut(node.bus)?, node))) {
                queue.push_back((node.node, request));
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn request(&mut self, device: DeviceId, request: Request) {
        self.requests.push(request);
        self.dispatch(device);
    }
}
