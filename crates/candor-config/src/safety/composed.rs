//! Composed frames: routes that send their identifiers, and ways by which they come back as what they are composed of.

use std::collections::HashSet;

use super::Hazard;
use super::cube::{BITS, Cube, FD, IDENTIFIER};
use super::edges::{Edge, Edges};
use super::index::Budget;
use super::paths::{FrameState, Paths};
use crate::plan::{BusIndex, ComposedFrame, Echo, Plan, RouteIndex};
use candor_core::frame::FrameFormat;

pub(super) fn find(plan: &Plan, edges: &Edges, paths: &Paths<'_>, budget: &mut Budget, hazards: &mut Vec<Hazard>) {
    // Other frames that a route sends are received by nobody here.
    let can_return = plan.buses().iter().any(|bus| bus.vxcan_peer.is_some())
        || plan.routes().iter().any(|route| route.echo == Echo::On);
    for (frame, composed) in plan.frames().iter().enumerate() {
        if let Some((route, is_meant)) = beside(edges, composed, budget) {
            hazards.push(Hazard::SentBesideComposed { route, frame, is_meant });
        }
        let mut way = Way { plan, edges, paths, start: frame, composed: HashSet::new(), waiting: Vec::new() };
        if can_return && let Some(routes) = way.back(budget) {
            hazards.push(Hazard::ComposedOfItself { frame, routes });
        }
    }
}

/// A route that may send the identifier of a composed frame to its bus, preferably one that names or makes it; and whether it
/// does.
fn beside(edges: &Edges, frame: &ComposedFrame, budget: &mut Budget) -> Option<(RouteIndex, bool)> {
    let sent = Cube::new(BITS & !FD, u64::from(frame.id.0));
    let mut first = None;
    for edge in edges.all().iter().filter(|edge| edge.to == frame.to) {
        if !budget.steps(1 + edge.takes.len()) {
            break;
        }
        let Some(leads_there) = edge.change.preimage(sent) else { continue };
        for takes in edge.well_formed() {
            let Some(taken) = takes.intersect(leads_there) else { continue };
            let is_named = takes.mask() & IDENTIFIER == IDENTIFIER;
            if is_named || !edge.change.keeps_identifiers(taken) {
                return Some((edge.route, true));
            }
            first = first.or(Some((edge.route, false)));
        }
    }
    first
}

/// The search for a way from a composed frame to one that it is composed of.
struct Way<'p> {
    plan: &'p Plan,
    edges: &'p Edges,
    paths: &'p Paths<'p>,
    /// The composed frame.
    start: usize,
    /// Composed frames that follow from it.
    composed: HashSet<usize>,
    /// Frames that are received, with the routes that led to them.
    waiting: Vec<(FrameState, u64, Vec<RouteIndex>)>,
}

impl Way<'_> {
    fn back(&mut self, budget: &mut Budget) -> Option<Vec<RouteIndex>> {
        if self.compose(self.start, &[]) {
            return Some(Vec::new());
        }
        let mut known = HashSet::new();
        while let Some((state, kind, routes)) = self.waiting.pop() {
            if !known.insert((state, kind)) {
                continue;
            }
            if !budget.steps(self.edges.all().len()) {
                return None;
            }
            let edges = self.edges;
            let taking = |edge: &&Edge| edge.takes.iter().any(|takes| takes.intersect(Cube::one(kind)).is_some());
            for edge in edges.all().iter().filter(|edge| self.paths.sends(state, edge)).filter(taking) {
                let (sent, mut routes) = (edge.change.on(kind), routes.clone());
                routes.push(edge.route);
                let peer = self.plan.bus(edge.to).vxcan_peer;
                // A socket receives what is sent with echo, whatever its hops.
                let echo = (self.plan.route(edge.route).echo == Echo::On).then_some(edge.to);
                for bus in peer.into_iter().chain(echo) {
                    if self.receive(bus, sent, &routes) {
                        return Some(routes);
                    }
                }
                self.waiting.extend(self.paths.after(state, edge).map(|state| (state, sent, routes.clone())));
            }
        }
        None
    }

    /// A composed frame is sent. True if it is one that the first one is composed of.
    fn compose(&mut self, frame: usize, routes: &[RouteIndex]) -> bool {
        let ComposedFrame { to, id, format, .. } = self.plan.frames()[frame];
        let kind = u64::from(id.0) | if format == FrameFormat::Fd { FD } else { 0 };
        let states: Vec<_> = self.paths.entries_at(to).collect();
        states.into_iter().any(|state| {
            self.waiting.push((state, kind, routes.to_vec()));
            self.receive(state.bus, kind, routes)
        })
    }

    /// The frames that are composed of this one are sent. True if the first one is among them.
    fn receive(&mut self, bus: BusIndex, kind: u64, routes: &[RouteIndex]) -> bool {
        for (index, frame) in self.plan.frames().iter().enumerate() {
            let is_source =
                frame.sources.iter().any(|source| source.bus == bus && u64::from(source.id.0) == kind & !FD);
            if is_source && (index == self.start || self.composed.insert(index) && self.compose(index, routes)) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
