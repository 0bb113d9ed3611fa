//! The ways that a frame can take through the buses of one machine.
//!
//! A frame that a route sends shows up again in two places. At the other end of a vxcan pair it comes in once more: the
//! driver has forgotten its hops, but not where it first came into the machine. And with echo can-gw sees it again on
//! the bus where it was sent, but counts its hops, and deletes it when there are as many as `max_hops`, normally 1.
//!
//! # Source
//! `can_can_gw_rcv()` in `net/can/gw.c`, `vxcan_xmit()` in `drivers/net/can/vxcan.c`.

use super::edges::Edge;
use crate::placement::{self, KernelAbilities};
use crate::plan::{BusIndex, Echo, Engine, Incoming, Plan, Route};

/// Where a frame is, and what is known of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) bus: BusIndex,
    /// Routes that it took since the counter was last cleared.
    hops: u8,
    /// Where it first came into the machine.
    origin: BusIndex,
}

/// The rules of the way.
#[derive(Debug)]
pub(super) struct Ways<'p> {
    plan: &'p Plan,
    /// `max_hops` of can-gw: as many as the routes' own limits ask for, otherwise the kernel's default.
    max_hops: u8,
    /// By route, whether can-gw runs it. candor's own gateway knows nothing of hops, and does not see what it sends.
    is_in_kernel: Vec<bool>,
}

impl<'p> Ways<'p> {
    pub(super) fn of(plan: &'p Plan) -> Self {
        let max_hops = plan.routes().iter().filter_map(|route| route.hop_limit).max().unwrap_or(1).max(1);
        let is_in_kernel = |route: &Route| match plan.engine() {
            Engine::Kernel => true,
            Engine::Auto => placement::not_for_kernel(route, KernelAbilities::EVERY).is_none(),
            Engine::ReadWrite => false,
        };
        Self { plan, max_hops, is_in_kernel: plan.routes().iter().map(is_in_kernel).collect() }
    }

    /// Where a frame can come into the machine.
    pub(super) fn entrances(&self) -> impl Iterator<Item = Place> + '_ {
        (0..self.plan.buses().len()).flat_map(|bus| self.entrances_at(BusIndex(bus)))
    }

    /// Where a frame is that comes in on this bus. What a program sends on one end of a vxcan pair is seen on both.
    pub(super) fn entrances_at(&self, bus: BusIndex) -> impl Iterator<Item = Place> + use<> {
        let fresh = move |seen| Place { bus: seen, hops: 0, origin: bus };
        std::iter::once(bus).chain(self.plan.bus(bus).vxcan_peer).map(fresh)
    }

    /// Whether frames go from route to route at all.
    pub(super) fn lead_on(&self) -> bool {
        self.max_hops > 1 || self.plan.buses().iter().any(|bus| bus.vxcan_peer.is_some())
    }

    /// Whether the edge sends a frame that is in this place, and that it takes.
    pub(super) fn sends(&self, place: Place, edge: &Edge) -> bool {
        let route = self.plan.route(edge.route);
        let goes_back = place.origin == edge.to && self.is_in_kernel[edge.route.0];
        place.bus == edge.from && (!goes_back || route.incoming == Incoming::Allowed)
    }

    /// Where a frame shows up again after this edge has sent it.
    pub(super) fn after(&self, place: Place, edge: &Edge) -> impl Iterator<Item = Place> + use<> {
        let route = self.plan.route(edge.route);
        let (hops, origin) = match route.hop_limit {
            // A frame that candor sends is a new one.
            _ if !self.is_in_kernel[edge.route.0] => (0, edge.to),
            Some(limit) if place.hops == 0 => (self.max_hops - limit.min(self.max_hops) + 1, place.origin),
            _ => (place.hops + 1, place.origin),
        };
        let peer = self.plan.bus(edge.to).vxcan_peer.map(|bus| Place { bus, hops: 0, origin });
        let is_seen = route.echo == Echo::On && self.is_in_kernel[edge.route.0] && hops < self.max_hops;
        let echo = is_seen.then_some(Place { bus: edge.to, hops, origin });
        peer.into_iter().chain(echo)
    }
}
