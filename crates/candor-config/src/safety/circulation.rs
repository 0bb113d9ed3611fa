//! Frames that loop forever: through a vxcan pair, where the kernel clears the hop count.

use std::collections::{HashMap, HashSet};

use super::cube::{Cube, WELL_FORMED};
use super::edges::{Edge, Edges};
use super::index::{Budget, Index};
use super::paths::{FrameState, Paths};
use super::{Hazard, Kind};
use crate::plan::{Plan, Route, RouteIndex};

/// An edge sends a frame in one state, and it is received in another.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: FrameState,
    edge: usize,
    to: FrameState,
}

type Stop = (FrameState, u64);

/// A stop of a path.
#[derive(Debug)]
struct Step {
    stop: Stop,
    /// The edge followed last.
    edge: usize,
    /// The remaining moves, with the frames each matches.
    next: Vec<(usize, Cube)>,
}

/// Returns the routes by which frames loop or may enter a loop.
pub(super) fn find(
    plan: &Plan,
    edges: &Edges,
    paths: &Paths<'_>,
    budget: &mut Budget,
    hazards: &mut Vec<Hazard>,
) -> HashSet<RouteIndex> {
    if plan.buses().iter().all(|bus| bus.vxcan_peer.is_none()) {
        return HashSet::new();
    }
    let moves = moves_of_rings(edges, paths, budget);
    if moves.is_empty() {
        return HashSet::new();
    }
    let always_sends = |step: &&Move| sends_all(plan.route(edges.all()[step.edge].route));
    let certain: Vec<_> = moves.iter().filter(always_sends).copied().collect();
    let mut reported = HashSet::new();
    for (moves, is_certain) in [(certain, true), (moves.clone(), false)] {
        let map = Map::of(edges, &moves, budget);
        for (start, ring) in map.rings(paths, budget) {
            let routes = in_order(ring.iter().map(|&edge| edges.all()[edge].route));
            if routes.iter().all(|&route| !reported.contains(&route)) {
                reported.extend(routes.iter().copied());
                let frame = Kind::from_bits(start.1);
                hazards.push(Hazard::Circulates { routes, frame, is_certain });
            }
        }
    }
    let routes = || in_order(moves.iter().map(|step| edges.all()[step.edge].route));
    // Finding no loop is not a proof.
    if reported.is_empty() {
        if none_survives(edges, &moves, budget) {
            return HashSet::new();
        }
        hazards.push(Hazard::MayCirculate { routes: routes() });
    }
    routes().into_iter().collect()
}

/// Each route once, in order.
fn in_order(routes: impl Iterator<Item = RouteIndex>) -> Vec<RouteIndex> {
    let mut seen = HashSet::new();
    routes.filter(|&route| seen.insert(route)).collect()
}

/// Returns true if a route sends every frame that its filters match, independent of length and content.
fn sends_all(route: &Route) -> bool {
    let changes_length = route.modifications.operands().iter().any(|(_, operand)| operand.len.is_some());
    route.payload.is_empty() && !changes_length
}

/// The moves in rings or between rings, without considering the frames.
fn moves_of_rings(edges: &Edges, paths: &Paths<'_>, budget: &mut Budget) -> Vec<Move> {
    let mut moves = Vec::new();
    let mut states: Vec<_> = paths.entries().collect();
    let mut known: HashSet<_> = states.iter().copied().collect();
    while let Some(from) = states.pop() {
        if !budget.steps(edges.all().len()) {
            break;
        }
        for (number, edge) in edges.all().iter().enumerate().filter(|(_, edge)| paths.sends(from, edge)) {
            for to in paths.after(from, edge) {
                moves.push(Move { from, edge: number, to });
                if known.insert(to) {
                    states.push(to);
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

/// Returns true if no frame loops forever: repeatedly removes frames that cannot move, until none is left. `false` if some
/// remain, or if it takes too long.
fn none_survives(edges: &Edges, moves: &[Move], budget: &mut Budget) -> bool {
    let mut alive: HashMap<FrameState, Vec<Cube>> = moves.iter().map(|step| (step.from, vec![Cube::ALL])).collect();
    loop {
        let mut next: HashMap<FrameState, Vec<Cube>> = HashMap::new();
        for step in moves {
            let edge = &edges.all()[step.edge];
            for goal in alive.get(&step.to).into_iter().flatten() {
                let Some(lead_there) = edge.change.preimage(*goal) else { continue };
                let here = next.entry(step.from).or_default();
                for cube in edge.takes.iter().filter_map(|takes| takes.intersect(lead_there)) {
                    if !budget.steps(1 + here.len()) {
                        return false;
                    }
                    if !here.iter().any(|known| cube.is_within(*known)) {
                        here.push(cube);
                    }
                }
            }
        }
        if next.values().all(Vec::is_empty) {
            return true;
        }
        // The sets only shrink, so they are final when all frames are still alive.
        let still = |state: &FrameState, cube: &Cube| {
            let mut rest = vec![*cube];
            for other in next.get(state).into_iter().flatten() {
                rest = rest.into_iter().flat_map(|left| left.without(*other)).collect();
            }
            rest.is_empty()
        };
        let size: usize = alive.values().chain(next.values()).map(Vec::len).sum();
        if !budget.steps(size * size) || alive.iter().all(|(state, cubes)| cubes.iter().all(|cube| still(state, cube)))
        {
            return false;
        }
        alive = next;
    }
}

/// The moves, indexed by the frames they match.
#[derive(Debug)]
struct Map<'e> {
    edges: &'e Edges,
    moves: &'e [Move],
    /// By state; values are indices of moves.
    takes: HashMap<FrameState, Index>,
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

    /// Frames that loop, with the edges of their loop: in every state that frames reach, follows one frame of each set that a
    /// move matches.
    fn rings(mut self, paths: &Paths<'_>, budget: &mut Budget) -> Vec<(Stop, Vec<usize>)> {
        let mut rings = Vec::new();
        let mut done = HashSet::new();
        let mut reached: HashMap<FrameState, Vec<Cube>> = HashMap::new();
        // The last one is tried first: 11-bit data frames, which are the best examples.
        let kinds = || WELL_FORMED.into_iter().rev();
        let mut waiting: Vec<_> = kinds().flat_map(|cube| paths.entries().map(move |state| (state, cube))).collect();
        while let Some((state, cube)) = waiting.pop() {
            let known = reached.entry(state).or_default();
            if budget.is_spent() || !budget.steps(known.len()) {
                break;
            }
            if known.iter().any(|other| cube.is_within(*other)) {
                continue;
            }
            known.push(cube);
            for (number, taken) in self.leaving(state, cube, budget) {
                let step = self.moves[number];
                waiting.push((step.to, self.edge(step).change.image(taken)));
                rings.extend(self.follow((state, taken.lowest()), &mut done, budget));
            }
        }
        rings
    }

    fn edge(&self, step: Move) -> &'e Edge {
        &self.edges.all()[step.edge]
    }

    /// The moves that match some of these frames, and which ones.
    fn leaving(&mut self, state: FrameState, cube: Cube, budget: &mut Budget) -> Vec<(usize, Cube)> {
        let mut leaving = Vec::new();
        let Some(index) = self.takes.get_mut(&state) else { return leaving };
        index.find(cube, budget, |other, number| {
            leaving.extend(other.intersect(cube).map(|taken| (number, taken)));
            None::<()>
        });
        leaving
    }

    /// Follows one frame and all its copies, depth first, until one returns to a previous stop.
    fn follow(&mut self, start: Stop, done: &mut HashSet<Stop>, budget: &mut Budget) -> Option<(Stop, Vec<usize>)> {
        let mut path: Vec<Step> = Vec::new();
        let mut at = start;
        loop {
            budget.steps(path.len());
            if let Some(ring) = path.iter().position(|step| step.stop == at) {
                return Some((at, path[ring..].iter().map(|step| step.edge).collect()));
            }
            if done.insert(at) {
                let next = self.leaving(at.0, Cube::one(at.1), budget);
                path.push(Step { stop: at, edge: usize::MAX, next });
            }
            loop {
                let Step { stop, edge, next } = path.last_mut()?;
                if let Some((number, _)) = next.pop() {
                    let step = self.moves[number];
                    *edge = step.edge;
                    at = (step.to, self.edges.all()[step.edge].change.on(stop.1));
                    break;
                }
                path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
