//! Two routes and one frame, or one identifier: what reaches a bus twice because there is no first match.

use std::collections::HashMap;

use super::cube::Cube;
use super::edges::{Edge, Edges};
use super::effect::Effect;
use super::index::{Budget, Index};
use super::{Hazard, Kind, Share};
use crate::payload::PayloadPattern;
use crate::plan::{BusIndex, Plan, Route, RouteIndex};

/// More cubes than this on a side and it is not said whether one route carries all that the other does.
const MOST_CUBES: usize = 64;

/// A set of frames of one edge.
#[derive(Clone, Copy, Debug)]
struct Piece {
    edge: usize,
    cube: Cube,
}

/// For each route the first earlier one that sends the same frames to the same bus, or else the first that sends the
/// same identifiers there.
pub(super) fn look(plan: &Plan, edges: &Edges, budget: &mut Budget, hazards: &mut Vec<Hazard>) {
    let mut search = Search { plan, edges, pieces: Vec::new(), taken: HashMap::new(), sent: HashMap::new() };
    for range in edges.by_route() {
        let in_edge = |edge: usize| edges.all()[edge].well_formed().map(move |cube| Piece { edge, cube });
        let pieces = || range.clone().flat_map(in_edge);
        let twice = pieces().find_map(|piece| search.twice(piece, budget));
        let hazard = twice.or_else(|| pieces().find_map(|piece| search.same_identifier(piece, budget)));
        hazards.extend(hazard);
        pieces().for_each(|piece| search.insert(piece, budget));
        if budget.is_spent() {
            return;
        }
    }
}

#[derive(Debug)]
struct Search<'p> {
    plan: &'p Plan,
    edges: &'p Edges,
    pieces: Vec<Piece>,
    /// What is taken, by both ends.
    taken: HashMap<(BusIndex, BusIndex), Index>,
    /// What is sent, by the bus where it goes.
    sent: HashMap<BusIndex, Index>,
}

impl Search<'_> {
    fn insert(&mut self, piece: Piece, budget: &mut Budget) {
        let (number, edge) = (self.pieces.len(), &self.edges.all()[piece.edge]);
        let (ends, to, image) = ((edge.from, edge.to), edge.to, edge.change.image(piece.cube));
        self.pieces.push(piece);
        self.taken.entry(ends).or_default().insert(piece.cube, number, budget);
        self.sent.entry(to).or_default().insert(image, number, budget);
    }

    /// An earlier route of which some frames leave with the same identifier for the same bus.
    fn twice(&mut self, piece: Piece, budget: &mut Budget) -> Option<Hazard> {
        let edge = &self.edges.all()[piece.edge];
        let index = self.taken.get_mut(&(edge.from, edge.to))?;
        let (plan, edges, pieces) = (self.plan, self.edges, &self.pieces);
        let (first, common) = index.find(piece.cube, budget, |cube, number| {
            let other = &edges.all()[pieces[number].edge];
            let common = cube.intersect(piece.cube)?.intersect(edge.change.agrees(other.change)?)?;
            can_meet(plan.route(edge.route), plan.route(other.route)).then_some((other.route, common))
        })?;
        let (this, that) = (plan.route(edge.route), plan.route(first));
        let (route, example) = (edge.route, Kind::of(common));
        if Effect::of(this) != Effect::of(that) {
            return Some(Hazard::SentInTwoForms { route, first, example });
        }
        let share = match (is_all(plan, edges, route, first), is_all(plan, edges, first, route)) {
            (true, true) => return Some(Hazard::Repeated { route, first }),
            (true, false) => Share::AllOfThis,
            (false, true) => Share::AllOfFirst,
            (false, false) => Share::Some,
        };
        Some(Hazard::SentTwice { route, first, share, example })
    }

    /// An earlier route that makes the same identifier, on the same bus, of other frames.
    fn same_identifier(&mut self, piece: Piece, budget: &mut Budget) -> Option<Hazard> {
        let edge = &self.edges.all()[piece.edge];
        let index = self.sent.get_mut(&edge.to)?;
        let (edges, pieces) = (self.edges, &self.pieces);
        let image = edge.change.image(piece.cube);
        index.find(image, budget, |other_image, number| {
            let other_piece = pieces[number];
            let other = &edges.all()[other_piece.edge];
            let sent = image.intersect(other_image)?;
            let is_one_message = || {
                let here = edge.change.preimage(sent)?.intersect(piece.cube)?;
                let there = other.change.preimage(sent)?.intersect(other_piece.cube)?;
                let agreed = edge.change.agrees(other.change)?;
                Some(here == there && here.is_within(agreed))
            };
            // From one bus, the same frames on two routes are parts of one message, told apart by their payload.
            let is_same = edge.from == other.from && is_one_message() == Some(true);
            (!is_same).then(|| Hazard::SameIdentifier { route: edge.route, first: other.route, sent: Kind::of(sent) })
        })
    }
}

/// Whether some payload is for both routes.
fn can_meet(one: &Route, other: &Route) -> bool {
    let agree = |one: &PayloadPattern, other: &PayloadPattern| {
        let bytes = one.mask.iter().zip(&other.mask).zip(one.value.iter().zip(&other.value));
        bytes.into_iter().all(|((one_mask, other_mask), (one, other))| (one ^ other) & one_mask & other_mask == 0)
    };
    one.payload.is_empty()
        || other.payload.is_empty()
        || one.payload.iter().any(|one| other.payload.iter().any(|other| agree(one, other)))
}

/// Whether all that one route sends the other sends too, with the same identifiers. `false` where that is not known.
fn is_all(plan: &Plan, edges: &Edges, of: RouteIndex, by: RouteIndex) -> bool {
    let (one, other) = (plan.route(of), plan.route(by));
    if !other.payload.is_empty() && one.payload != other.payload {
        return false;
    }
    if (&one.selections, one.formats) == (&other.selections, other.formats) {
        return true;
    }
    let (of, by) = (edges.of_route(of), edges.of_route(by));
    let cubes = |edges: &[Edge]| edges.iter().map(|edge| edge.well_formed().count()).sum::<usize>();
    if cubes(of) > MOST_CUBES || cubes(by) > MOST_CUBES {
        return false;
    }
    let alike = |edge: &Edge| -> Vec<Cube> {
        let by = by.iter().filter_map(|other| Some((other, edge.change.agrees(other.change)?)));
        by.flat_map(|(other, agreed)| other.well_formed().filter_map(move |cube| cube.intersect(agreed))).collect()
    };
    of.iter().all(|edge| {
        let alike = alike(edge);
        edge.well_formed().all(|cube| {
            let left = |rest: Vec<Cube>, other: &Cube| rest.into_iter().flat_map(|cube| cube.without(*other)).collect();
            alike.iter().fold(vec![cube], left).is_empty()
        })
    })
}

#[cfg(test)]
mod tests;
