//! The ways that a frame can take through the buses of one machine.
//!
//! A frame that a route sends shows up again in two places. At the other end of a vxcan pair it comes in once more: the
//! driver has forgotten its hops, but not where it first came into the machine. And with echo can-gw sees it again on
//! the bus where it was sent, but counts its hops, and deletes it when there are as many as `max_hops`, normally 1.
//!
//! # Source
//! Linux 6.1: [`can_can_gw_rcv()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L457),
//! [`vxcan_xmit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/vxcan.c#L37).

use super::edges::Edge;
use crate::placement::{KernelAbilities, Placement, Side};
use crate::plan::{BusIndex, Echo, Engine, Incoming, Plan, RouteIndex};

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
    /// `None` for plans that no kernel can run, which no file makes.
    placement: Option<Placement>,
}

impl<'p> Ways<'p> {
    pub(super) fn of(plan: &'p Plan) -> Self {
        let max_hops = plan.routes().iter().filter_map(|route| route.hop_limit).max().unwrap_or(1).max(1);
        // A checksum that old kernels get wrong can leave a route without a place on them, and with one on others.
        let newest = KernelAbilities { relative_crc8: true, ..KernelAbilities::EVERY };
        let placement = Placement::of(plan, KernelAbilities::EVERY).or_else(|_| Placement::of(plan, newest)).ok();
        Self { plan, max_hops, placement }
    }

    /// Returns true if can-gw runs the route. The user-space engines count no hops and do not receive their own frames.
    fn is_in_kernel(&self, route: RouteIndex) -> bool {
        match &self.placement {
            Some(placement) => placement.side(route) == Side::Kernel,
            None => !matches!(self.plan.engine(), Engine::User(_)),
        }
    }

    /// With `auto` a frame makes one hop unless its route says something else, because it makes one in user space.
    fn hop_limit(&self, route: RouteIndex) -> Option<u8> {
        let one = (self.plan.engine() == Engine::Auto).then_some(1);
        self.plan.route(route).hop_limit.or(one)
    }

    /// Where a frame can come into the machine.
    pub(super) fn entrances(&self) -> impl Iterator<Item = Place> + '_ {
        (0..self.plan.buses().len()).flat_map(|bus| self.entrances_at(BusIndex(bus)))
    }

    /// Where a frame is that comes in on this bus. What a program sends on one end of a vxcan pair is seen on both: the
    /// network layer shows it to all sockets there (`can_send()`), and the driver has it come in at the other end.
    pub(super) fn entrances_at(&self, bus: BusIndex) -> impl Iterator<Item = Place> + use<> {
        let fresh = move |seen| Place { bus: seen, hops: 0, origin: bus };
        std::iter::once(bus).chain(self.plan.bus(bus).vxcan_peer).map(fresh)
    }

    /// Returns true if any frame can pass from one route to another.
    pub(super) fn lead_on(&self) -> bool {
        self.max_hops > 1 || self.plan.buses().iter().any(|bus| bus.vxcan_peer.is_some())
    }

    /// Returns true if the edge sends a frame that is in this state.
    pub(super) fn sends(&self, place: Place, edge: &Edge) -> bool {
        let route = self.plan.route(edge.route);
        let goes_back = place.origin == edge.to && self.is_in_kernel(edge.route);
        place.bus == edge.from && (!goes_back || route.incoming == Incoming::Allowed)
    }

    /// Where a frame shows up again after this edge has sent it.
    pub(super) fn after(&self, place: Place, edge: &Edge) -> impl Iterator<Item = Place> + use<> {
        let route = self.plan.route(edge.route);
        let is_in_kernel = self.is_in_kernel(edge.route);
        let (hops, origin) = match self.hop_limit(edge.route) {
            // A frame that candor sends is a new one.
            _ if !is_in_kernel => (0, edge.to),
            Some(limit) if place.hops == 0 => (self.max_hops - limit.min(self.max_hops) + 1, place.origin),
            _ => (place.hops + 1, place.origin),
        };
        let peer = self.plan.bus(edge.to).vxcan_peer.map(|bus| Place { bus, hops: 0, origin });
        let is_seen = route.echo == Echo::On && is_in_kernel && hops < self.max_hops;
        let echo = is_seen.then_some(Place { bus: edge.to, hops, origin });
        peer.into_iter().chain(echo)
    }
}
