//! The paths of a frame through the buses of one machine.
//!
//! A sent frame is received again in two cases. At the other end of a vxcan pair, the driver clears its hop count, but not
//! the interface that first received it. With echo, can-gw receives it on the bus where it was sent, but counts its hops,
//! and deletes it when they reach `max_hops`, normally 1.
//!
//! # Source
//! Linux 6.1: [`can_can_gw_rcv()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L457),
//! [`vxcan_xmit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/vxcan.c#L37).

use super::edges::Edge;
use crate::placement::{KernelAbilities, Placement, Side};
use crate::plan::{BusIndex, Echo, Engine, Incoming, Plan, RouteIndex};

/// The state of a frame on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameState {
    pub(super) bus: BusIndex,
    /// Routes since the counter was last cleared.
    hops: u8,
    /// The bus on which this machine first received it.
    origin: BusIndex,
}

#[derive(Debug)]
pub(super) struct Paths<'p> {
    plan: &'p Plan,
    /// `max_hops` of can-gw: the largest hop limit of the routes, otherwise the default of the kernel.
    max_hops: u8,
    /// `None` for plans that no kernel can run, which are not made from files.
    placement: Option<Placement>,
}

impl<'p> Paths<'p> {
    pub(super) fn of(plan: &'p Plan) -> Self {
        let max_hops = plan.routes().iter().filter_map(|route| route.hop_limit).max().unwrap_or(1).max(1);
        // Some routes have a place only on kernels that compute checksums correctly.
        let on = |kernel| Placement::of(plan, kernel);
        let placement = on(KernelAbilities::EVERY).or_else(|_| on(KernelAbilities::NEWEST)).ok();
        Self { plan, max_hops, placement }
    }

    /// Returns true if can-gw runs the route. User-space engines and programs count no hops and do not receive their own frames.
    fn is_in_kernel(&self, route: RouteIndex) -> bool {
        match &self.placement {
            Some(placement) => placement.side(route) == Side::Kernel,
            None => !matches!(self.plan.engine(), Engine::User(_) | Engine::Bpf),
        }
    }

    /// With `auto`, the default is one hop, as in user space.
    fn hop_limit(&self, route: RouteIndex) -> Option<u8> {
        let one = (self.plan.engine() == Engine::Auto).then_some(1);
        self.plan.route(route).hop_limit.or(one)
    }

    /// All states in which a frame can enter the machine.
    pub(super) fn entries(&self) -> impl Iterator<Item = FrameState> + '_ {
        (0..self.plan.buses().len()).flat_map(|bus| self.entries_at(BusIndex(bus)))
    }

    /// The states of a frame that enters on this bus. A frame that a program sends on one end of a vxcan pair is received on
    /// both: by the sockets of that end (`can_send()`), and through the driver at the other end.
    pub(super) fn entries_at(&self, bus: BusIndex) -> impl Iterator<Item = FrameState> + use<> {
        let fresh = move |seen| FrameState { bus: seen, hops: 0, origin: bus };
        std::iter::once(bus).chain(self.plan.bus(bus).vxcan_peer).map(fresh)
    }

    /// Returns true if any frame can pass from one route to another.
    pub(super) fn can_chain(&self) -> bool {
        self.max_hops > 1 || self.plan.buses().iter().any(|bus| bus.vxcan_peer.is_some())
    }

    /// Returns true if the edge sends a frame that is in this state.
    pub(super) fn sends(&self, state: FrameState, edge: &Edge) -> bool {
        let route = self.plan.route(edge.route);
        let goes_back = state.origin == edge.to && self.is_in_kernel(edge.route);
        state.bus == edge.from && (!goes_back || route.incoming == Incoming::Allowed)
    }

    /// States in which the machine receives a frame again after this edge sent it.
    pub(super) fn after(&self, state: FrameState, edge: &Edge) -> impl Iterator<Item = FrameState> + use<> {
        let route = self.plan.route(edge.route);
        let is_in_kernel = self.is_in_kernel(edge.route);
        let (hops, origin) = match self.hop_limit(edge.route) {
            _ if !is_in_kernel => (0, edge.to),
            Some(limit) if state.hops == 0 => (self.max_hops - limit.min(self.max_hops) + 1, state.origin),
            _ => (state.hops + 1, state.origin),
        };
        let peer = self.plan.bus(edge.to).vxcan_peer.map(|bus| FrameState { bus, hops: 0, origin });
        let is_seen = route.echo == Echo::On && is_in_kernel && hops < self.max_hops;
        let echo = is_seen.then_some(FrameState { bus: edge.to, hops, origin });
        peer.into_iter().chain(echo)
    }
}
