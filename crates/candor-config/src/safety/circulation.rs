//! Frames that go round for ever: through a vxcan pair, where the kernel forgets how many routes they took.

mod survivors;

use std::collections::{HashMap, HashSet};

use super::cube::{Cube, WELL_FORMED};
use super::edges::{Edge, Edges};
use super::index::{Budget, Index};
use super::ways::{Place, Ways};
use super::{Hazard, Kind};
use crate::plan::{Plan, Route, RouteIndex};
use survivors::{Survivors, survivors};

/// One step: an edge sends a frame that is in one place, and it shows up in another.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: Place,
    edge: usize,
    to: Place,
}

/// A frame and where it is.
type Stop = (Place, u64);

/// A stop of a way, with what was done there.
#[derive(Debug)]
struct Step {
    stop: Stop,
    /// The edge that was taken last.
    edge: usize,
    /// The moves still to be tried, each with what it takes.
    next: Vec<(usize, Cube)>,
}

/// Gives the routes by which frames circulate or may come into a ring; none if there is none.
pub(super) fn look(
    plan: &Plan,
    edges: &Edges,
    ways: &Ways<'_>,
    budget: &mut Budget,
    hazards: &mut Vec<Hazard>,
) -> HashSet<RouteIndex> {
    if plan.buses().iter().all(|bus| bus.vxcan_peer.is_none()) {
        return HashSet::new();
    }
    let moves = moves_of_rings(edges, ways, budget);
    if moves.is_empty() {
        return HashSet::new();
    }
    let always_sends = |step: &&Move| sends_all(plan.route(edges.all()[step.edge].route));
    let certain: Vec<_> = moves.iter().filter(always_sends).copied().collect();
    let mut told = HashSet::new();
    for (moves, is_certain) in [(certain, true), (moves.clone(), false)] {
        let map = Map::of(edges, &moves, budget);
        for (start, ring) in map.rings(ways, budget) {
            let routes = in_order(ring.iter().map(|&edge| edges.all()[edge].route));
            if routes.iter().all(|&route| !told.contains(&route)) {
                told.extend(routes.iter().copied());
                let frame = Kind::from_bits(start.1);
                hazards.push(Hazard::Circulates { routes, frame, is_certain });
            }
        }
    }
    let routes = || in_order(moves.iter().map(|step| edges.all()[step.edge].route));
    // No ring was met, which proves nothing yet.
    if told.is_empty() {
        if survivors(edges, &moves, budget) == Survivors::None {
            return HashSet::new();
        }
        hazards.push(Hazard::MayCirculate { routes: routes() });
    }
    routes().into_iter().collect()
}

/// Each route once, in the order of the way.
fn in_order(routes: impl Iterator<Item = RouteIndex>) -> Vec<RouteIndex> {
    let mut seen = HashSet::new();
    routes.filter(|&route| seen.insert(route)).collect()
}

/// Returns true if a route sends every frame that its filters match, whatever its length and content.
fn sends_all(route: &Route) -> bool {
    let changes_length = route.modifications.operands().iter().any(|(_, operand)| operand.len.is_some());
    route.payload.is_empty() && !changes_length
}

/// The steps that lead from ring to ring or stay in one, as far as that can be told without looking at the frames.
fn moves_of_rings(edges: &Edges, ways: &Ways<'_>, budget: &mut Budget) -> Vec<Move> {
    let mut moves = Vec::new();
    let mut places: Vec<_> = ways.entrances().collect();
    let mut known: HashSet<_> = places.iter().copied().collect();
    while let Some(from) = places.pop() {
        if !budget.steps(edges.all().len()) {
            break;
        }
        for (number, edge) in edges.all().iter().enumerate().filter(|(_, edge)| ways.sends(from, edge)) {
            for to in ways.after(from, edge) {
                moves.push(Move { from, edge: number, to });
                if known.insert(to) {
                    places.push(to);
                }
            }
        }
    }
    loop {
        let starts: HashSet<_> = moves.iter().map(|step| step.from).collect();
        let before = moves.len();
        moves.retain(|step| starts.contains(&step.to));
        if moves.len() == before {
            return moves;
        }
    }
}

/// The moves, found by what they take.
#[derive(Debug)]
struct Map<'e> {
    edges: &'e Edges,
    moves: &'e [Move],
    /// By place, with the number of the move.
    takes: HashMap<Place, Index>,
}

impl<'e> Map<'e> {
    fn of(edges: &'e Edges, moves: &'e [Move], budget: &mut Budget) -> Self {
        let mut takes: HashMap<_, Index> = HashMap::new();
        for (number, step) in moves.iter().enumerate() {
            let index = takes.entry(step.from).or_default();
            edges.all()[step.edge].takes.iter().for_each(|cube| index.insert(*cube, number, budget));
        }
        Self { edges, moves, takes }
    }

    /// Frames that go round, with the edges of their way: from every place that frames reach, one of each set that
    /// a move takes there is followed.
    fn rings(mut self, ways: &Ways<'_>, budget: &mut Budget) -> Vec<(Stop, Vec<usize>)> {
        let mut rings = Vec::new();
        let mut done = HashSet::new();
        let mut reached: HashMap<Place, Vec<Cube>> = HashMap::new();
        // The last is the first: 11-bit data frames, which make the best examples.
        let kinds = || WELL_FORMED.into_iter().rev();
        let mut waiting: Vec<_> = kinds().flat_map(|cube| ways.entrances().map(move |place| (place, cube))).collect();
        while let Some((place, cube)) = waiting.pop() {
            let known = reached.entry(place).or_default();
            if budget.is_spent() || !budget.steps(known.len()) {
                break;
            }
            if known.iter().any(|other| cube.is_within(*other)) {
                continue;
            }
            known.push(cube);
            for (number, taken) in self.leaving(place, cube, budget) {
                let step = self.moves[number];
                waiting.push((step.to, self.edge(step).change.image(taken)));
                rings.extend(self.follow((place, taken.lowest()), &mut done, budget));
            }
        }
        rings
    }

    fn edge(&self, step: Move) -> &'e Edge {
        &self.edges.all()[step.edge]
    }

    /// The moves that take some of these frames, and which.
    fn leaving(&mut self, place: Place, cube: Cube, budget: &mut Budget) -> Vec<(usize, Cube)> {
        let mut leaving = Vec::new();
        let Some(index) = self.takes.get_mut(&place) else { return leaving };
        index.find(cube, budget, |other, number| {
            leaving.extend(other.intersect(cube).map(|taken| (number, taken)));
            None::<()>
        });
        leaving
    }

    /// Follows one frame and all its copies until one is where it was before, depth first.
    fn follow(&mut self, start: Stop, done: &mut HashSet<Stop>, budget: &mut Budget) -> Option<(Stop, Vec<usize>)> {
        let mut way: Vec<Step> = Vec::new();
        let mut at = start;
        loop {
            budget.steps(way.len());
            if let Some(ring) = way.iter().position(|step| step.stop == at) {
                return Some((at, way[ring..].iter().map(|step| step.edge).collect()));
            }
            if done.insert(at) {
                let next = self.leaving(at.0, Cube::one(at.1), budget);
                way.push(Step { stop: at, edge: usize::MAX, next });
            }
            loop {
                let Step { stop, edge, next } = way.last_mut()?;
                if let Some((number, _)) = next.pop() {
                    let step = self.moves[number];
                    *edge = step.edge;
                    at = (step.to, self.edges.all()[step.edge].change.on(stop.1));
                    break;
                }
                way.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
