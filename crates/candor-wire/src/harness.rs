//! Buses and the adapters that hang on them: which channel is which node of which bus.
//!
//! ```text
//!  bytes ─▶ Device ─▶ Request ─▶ Segment ─▶ Bus::switch_on, submit, cancel, …
//!  bytes ◀─ Device ◀─ Notice ◀── Segment ◀─ Event ──▶ the story, for whoever keeps the log
//!                     FaultOrder ─▶ Segment ─▶ Effect ──▶ the same
//! ```
//!
//! # Time
//! The holder wakes up a little after each moment of the buses. Whatever it then finds in the streams was written before
//! it woke up, and cannot have seen what a bus is about to do; so it counts as having come in time for that
//! ([`Harness::receive`]). Each bus thus runs on a time line of its own on which lateness does not add up.
//!
//! # Several buses
//! The time lines of all buses have the same beginning and the same pace, so that an adapter with channels on several of them
//! has one clock for its stamps, as one with several controllers on a board has.

mod devices;

use candor_bus::{Bus, BusNs};

use crate::device::{DeviceError, Statistics};
use crate::fault::{FaultOrder, Happening};
use crate::model::{AnyModel, Model};
use crate::segment::{Segment, Settings};
pub(crate) use devices::Devices;
pub use devices::{DeviceId, Place};

/// Buses with their adapters.
#[derive(Clone, Debug, Default)]
pub struct Harness {
    segments: Vec<Segment>,
    devices: Devices,
}

impl Harness {
    /// Makes a bus with so many nodes, on which nobody is yet, and gives its number: they count from 0. `None` if a bus has not
    /// so many.
    pub fn add_bus(&mut self, settings: Settings, nodes: usize) -> Option<usize> {
        let number = self.segments.len();
        self.segments.push(Segment::new(number, settings, nodes)?);
        self.devices.add_bus();
        Some(number)
    }

    /// How many buses there are.
    #[must_use]
    pub const fn buses(&self) -> usize {
        self.segments.len()
    }

    /// Plugs an adapter in, each of its channels at its place. `None` if there are not as many places as channels, if one does not
    /// exist, or if it is taken.
    pub fn plug(&mut self, model: AnyModel, places: &[Place]) -> Option<DeviceId> {
        let is_free = |place: &Place| self.segments.get(place.bus).is_some_and(|segment| segment.is_free(place.node));
        let is_once = places.iter().enumerate().all(|(at, place)| !places[..at].contains(place));
        if places.len() != usize::from(model.channels()) || !is_once || !places.iter().all(is_free) {
            return None;
        }
        let device = self.devices.next_id();
        for (place, channel) in places.iter().zip(0..) {
            if let Some(segment) = self.segments.get_mut(place.bus) {
                segment.take(place.node, device, channel);
            }
        }
        self.devices.plug(model, places);
        Some(device)
    }

    /// Takes bytes of a device's stream that were there to be read at `now`. What they ask for happens at `now`, or
    /// just before what the bus does next if that is earlier.
    ///
    /// # Errors
    /// [`DeviceError`] if the peer is no kernel. [`unplug`](Self::unplug) the device and close its stream.
    pub fn receive(&mut self, device: DeviceId, bytes: &[u8], now: BusNs) -> Result<(), DeviceError> {
        let buses = self.devices.places(device).iter().filter_map(|place| self.segments.get(place.bus));
        let at = buses.map(|segment| segment.in_time(now)).min().unwrap_or(now);
        let outcome = self.devices.receive(device, bytes, at);
        self.settle(now);
        outcome
    }

    /// Whether a device was taken off its buses. It answers what it is asked until its stream is closed, and does nothing of it.
    #[must_use]
    pub fn is_unplugged(&self, device: DeviceId) -> bool {
        self.devices.is_unplugged(device)
    }

    /// Takes a device off its buses. Its stream is to be closed.
    pub fn unplug(&mut self, device: DeviceId, now: BusNs) {
        self.devices.unplug(device);
        self.settle(now);
    }

    /// When a bus wants to be looked at, if nobody writes anything before.
    #[must_use]
    pub fn next_event(&self, bus: usize) -> Option<BusNs> {
        self.segments.get(bus)?.next_event()
    }

    /// Lets time pass on a bus up to `now`, and appends what happened there to the story, in the order of time.
    pub fn advance(&mut self, bus: usize, now: BusNs, story: &mut Vec<Happening>) {
        let Some(segment) = self.segments.get_mut(bus) else { return };
        segment.advance(now, &mut self.devices);
        self.settle(now);
        if let Some(segment) = self.segments.get_mut(bus) {
            segment.tell_story(story);
        }
    }

    /// Has something done to a bus: at its moment, or now if it has none. Gives the moment if that is still to come;
    /// otherwise the story tells what came of it.
    pub fn order(&mut self, bus: usize, order: FaultOrder, now: BusNs) -> Option<BusNs> {
        let planned = self.segments.get_mut(bus)?.order(order, now, &mut self.devices);
        self.settle(now);
        planned
    }

    /// What a device has to say, to be written to its stream and drained by the caller. `None` if there is no such device.
    pub fn output(&mut self, device: DeviceId) -> Option<&mut Vec<u8>> {
        self.devices.output(device)
    }

    /// What the messages of a device had to wait and suffer.
    #[must_use]
    pub fn statistics(&self, device: DeviceId) -> Option<Statistics> {
        self.devices.statistics(device)
    }

    /// Where the channels of a device are.
    #[must_use]
    pub fn places(&self, device: DeviceId) -> &[Place] {
        self.devices.places(device)
    }

    /// A bus itself, to look at.
    #[must_use]
    pub fn bus(&self, bus: usize) -> Option<&Bus> {
        self.segments.get(bus).map(Segment::bus)
    }

    /// Does what devices want of their buses, until none wants anything more.
    fn settle(&mut self, now: BusNs) {
        for (device, by) in self.devices.take_renewed() {
            let others = (0..).zip(&mut self.segments).filter(|&(bus, _)| bus != by);
            others.for_each(|(_, segment)| segment.thaw_all_of(device));
        }
        while let Some(segment) = self.devices.wanted_of().and_then(|bus| self.segments.get_mut(bus)) {
            segment.settle(segment.in_time(now), &mut self.devices);
        }
    }
}

#[cfg(test)]
mod tests;
