//! Buses and their adapters: each channel is a node of a bus.
//!
//! ```text
//!  bytes ─▶ Device ─▶ Request ─▶ Segment ─▶ Bus::switch_on, submit, cancel, …
//!  bytes ◀─ Device ◀─ Notice ◀── Segment ◀─ Event ──▶ the trace
//!                     FaultOrder ─▶ Segment ─▶ Effect ──▶ the trace
//! ```
//!
//! # Time
//! The caller wakes up some time after each event of the buses. All bytes that it then finds in the streams were written
//! before, without knowledge of that event, so they count as received before it ([`Harness::receive`]). Lateness of the
//! caller therefore does not accumulate in bus time.
//!
//! # Several buses
//! All buses share one time line, so that an adapter with channels on several of them has one clock for its timestamps.

use candor_bus::{Bus, BusNs, NodeId};

use crate::device::DeviceError;
use crate::devices::{BusNode, Devices};
use crate::fault::{DeviceId, FaultOrder, TraceEntry};
use crate::model::Model;
use crate::segment::{Script, Segment, Settings};

#[derive(Debug, Default)]
pub struct Harness {
    segments: Vec<Segment>,
    pub devices: Devices,
}

impl Harness {
    /// Adds a bus with `nodes` unused nodes and returns its number, counted from 0. `None` if a bus cannot have that many.
    pub fn add_bus(&mut self, settings: Settings, nodes: usize) -> Option<usize> {
        let number = self.segments.len();
        self.segments.push(Segment::new(number, settings, nodes)?);
        self.devices.add_bus();
        Some(number)
    }

    pub const fn buses(&self) -> usize {
        self.segments.len()
    }

    /// Plugs an adapter in, with one node for each channel. `None` if their numbers differ, or if a node does not exist
    /// or is in use.
    pub fn plug(&mut self, model: Box<dyn Model>, nodes: &[BusNode]) -> Option<DeviceId> {
        let is_free = |node: &BusNode| self.segments.get(node.bus).is_some_and(|segment| segment.is_free(node.node));
        let is_once = nodes.iter().enumerate().all(|(at, node)| !nodes[..at].contains(node));
        if nodes.len() != usize::from(model.profile().channels) || !is_once || !nodes.iter().all(is_free) {
            return None;
        }
        let device = self.devices.next_id();
        for (node, channel) in nodes.iter().zip(0..) {
            if let Some(segment) = self.segments.get_mut(node.bus) {
                segment.assign(node.node, device, channel);
            }
        }
        self.devices.plug(model, nodes);
        Some(device)
    }

    /// Handles bytes of a device's stream that were available at `now`. Their requests take effect at `now`, or just
    /// before the next event of the bus if that is earlier.
    ///
    /// # Errors
    /// [`DeviceError`] if the peer is not a kernel. [`unplug`](Self::unplug) the device and close its stream.
    pub fn receive(&mut self, device: DeviceId, bytes: &[u8], now: BusNs) -> Result<(), DeviceError> {
        let buses = self.devices.nodes(device).iter().filter_map(|node| self.segments.get(node.bus));
        let at = buses.map(|segment| segment.in_time(now)).min().unwrap_or(now);
        let outcome = self.devices.receive(device, bytes, at);
        self.settle(now);
        outcome
    }

    /// Takes a device off its buses. The caller closes its stream.
    pub fn unplug(&mut self, device: DeviceId, now: BusNs) {
        let _unplugged_already = self.devices.unplug(device);
        self.settle(now);
    }

    /// The time of the next event of a bus, if nothing is written before.
    pub fn next_event(&self, bus: usize) -> Option<BusNs> {
        self.segments.get(bus)?.next_event()
    }

    /// Advances a bus to `now` and appends its events to the trace, in the order of time.
    pub fn advance(&mut self, bus: usize, now: BusNs, trace: &mut Vec<TraceEntry>) {
        let Some(segment) = self.segments.get_mut(bus) else { return };
        segment.advance(now, &mut self.devices);
        self.settle(now);
        if let Some(segment) = self.segments.get_mut(bus) {
            segment.take_trace(trace);
        }
    }

    /// Injects a fault into a bus, at the time of the order or now. Returns the time if it is in the future; otherwise the
    /// outcome is in the trace.
    pub fn order(&mut self, bus: usize, order: FaultOrder, now: BusNs) -> Option<BusNs> {
        let planned = self.segments.get_mut(bus)?.order(order, now, &mut self.devices);
        self.settle(now);
        planned
    }

    /// Plays scripts on a bus, in place of those before. Returns their nodes, in this order; `None` if there is no such bus, or
    /// if it has no room for them.
    pub fn play(&mut self, bus: usize, scripts: Vec<Script>, now: BusNs) -> Option<Vec<NodeId>> {
        let nodes = self.segments.get_mut(bus)?.play(scripts, now, &mut self.devices);
        self.settle(now);
        nodes
    }

    pub fn bus(&self, bus: usize) -> Option<&Bus> {
        self.segments.get(bus).map(Segment::bus)
    }

    /// Carries out the requests of devices until there are none left.
    fn settle(&mut self, now: BusNs) {
        for (device, by) in self.devices.take_replugged() {
            let others = (0..).zip(&mut self.segments).filter(|&(bus, _)| bus != by);
            others.for_each(|(_, segment)| segment.thaw_all_of(device));
        }
        while let Some(segment) = self.devices.bus_with_requests().and_then(|bus| self.segments.get_mut(bus)) {
            segment.settle(segment.in_time(now), &mut self.devices);
        }
    }
}

#[cfg(test)]
mod tests;
