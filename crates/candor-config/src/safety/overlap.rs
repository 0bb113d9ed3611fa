//! Two routes that send one frame, or one identifier, to a bus: there is no first match.

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher as _};
use std::ops::Range;

use super::cube::{Cube, IDENTIFIER};
use super::edges::{Edge, Edges};
use super::effect::Effect;
use super::index::{Budget, Index, Mixer, Table, Values};
use super::{Hazard, Kind, Share};
use crate::plan::{BusIndex, Plan, Route, RouteIndex};

/// With more cubes, routes are not tested for inclusion.
const MOST_CUBES: usize = 64;

/// A set of frames of one edge.
#[derive(Clone, Copy, Debug)]
struct Piece {
    edge: usize,
    cube: Cube,
    origin: Origin,
}

/// Origin of a sent identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Created by the route.
    Made,
    /// Matched by the route without its neighbours.
    Named,
    /// Any sender on the source bus.
    PassedOn,
}

/// Finds for each route the first earlier one that sends the same frames to the same bus, otherwise one that sends the same
/// identifiers there, preferably named ones.
pub(super) fn find(plan: &Plan, edges: &Edges, budget: &mut Budget, hazards: &mut Vec<Hazard>) {
    let mut search = Search { plan, edges, pieces: Vec::new(), taken: Table::default(), sent: Table::default() };
    let mut meetings: Vec<Meeting> = Vec::new();
    let mut firsts: Table<u64, RouteIndex> = Table::default();
    for (index, range) in edges.by_route().enumerate() {
        let route = RouteIndex(index);
        let first = *firsts.entry(hash_of(plan.route(route))).or_insert(route);
        if first != route && say_the_same(plan.route(route), plan.route(first)) {
            hazards.push(Hazard::Repeated { route, first });
            // Overlaps of this route are overlaps of the first.
            continue;
        }
        let pieces = pieces(edges, range);
        if let Some(hazard) = pieces.iter().find_map(|piece| search.twice(*piece, budget)) {
            hazards.push(hazard);
        } else if let Some(meeting) = search.meeting(&pieces, budget) {
            meetings.push(meeting);
        }
        pieces.into_iter().for_each(|piece| search.insert(piece, budget));
        if budget.is_spent() {
            break;
        }
    }
    report(plan, meetings, hazards);
}

/// Hashes the buses and selections of a route.
fn hash_of(route: &Route) -> u64 {
    let mut hasher = Mixer::default();
    (route.from, route.to, &route.selections).hash(&mut hasher);
    hasher.finish()
}

/// Returns true if two routes are written alike. Others may still have the same effect.
fn say_the_same(one: &Route, other: &Route) -> bool {
    (one.from, one.to, one.formats, one.send_as) == (other.from, other.to, other.formats, other.send_as)
        && one.selections == other.selections
        && one.payload == other.payload
        && (one.modifications, one.checksums) == (other.modifications, other.checksums)
        && (&one.checked, &one.computed, &one.protected) == (&other.checked, &other.computed, &other.protected)
}

/// The pieces of a route. An identifier is named unless it is part of a range, with neighbours that match too.
fn pieces(edges: &Edges, range: Range<usize>) -> Vec<Piece> {
    let in_edge = |edge: usize| edges.all()[edge].well_formed().map(move |cube| (edge, cube));
    let pieces: Vec<_> = range.flat_map(in_edge).collect();
    let ends = |cube: Cube| {
        let free = IDENTIFIER & !cube.mask();
        (free & (free + 1) == 0).then(|| (cube.lowest(), cube.lowest() | free))
    };
    let is_one = |cube: Cube| cube.mask() & IDENTIFIER == IDENTIFIER;
    let has_neighbours = pieces.len() > 1 && pieces.iter().any(|(_, cube)| is_one(*cube));
    let ends = pieces.iter().filter(|_| has_neighbours).filter_map(|(_, cube)| ends(*cube));
    let (first, last): (Values, Values) = ends.unzip();
    let is_alone = |cube: Cube| {
        let id = cube.lowest();
        is_one(cube) && !first.contains(&(id + 1)) && !last.contains(&id.wrapping_sub(1))
    };
    let origin = |edge: usize, cube| match edges.all()[edge].change.keeps_identifiers(cube) {
        false => Origin::Made,
        true if is_alone(cube) => Origin::Named,
        true => Origin::PassedOn,
    };
    pieces.into_iter().map(|(edge, cube)| Piece { edge, cube, origin: origin(edge, cube) }).collect()
}

/// Two routes that may send one identifier to one bus.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    route: RouteIndex,
    first: RouteIndex,
    sent: Kind,
    /// The file names the identifier of both messages.
    is_meant: bool,
}

/// Named identifiers are one hazard each, others one hazard per bus.
fn report(plan: &Plan, meetings: Vec<Meeting>, hazards: &mut Vec<Hazard>) {
    let mut by_bus: BTreeMap<BusIndex, (Meeting, Vec<RouteIndex>)> = BTreeMap::new();
    for meeting in meetings {
        let Meeting { route, first, sent, is_meant } = meeting;
        if is_meant {
            hazards.push(Hazard::SameIdentifier { route, first, sent });
        } else {
            by_bus.entry(plan.route(route).to).or_insert_with(|| (meeting, Vec::new())).1.push(route);
        }
    }
    let meet = |(Meeting { first, sent, .. }, routes)| Hazard::IdentifiersMeet { routes, first, sent };
    hazards.extend(by_bus.into_values().map(meet));
}

#[derive(Debug)]
struct Search<'p> {
    plan: &'p Plan,
    edges: &'p Edges,
    pieces: Vec<Piece>,
    /// By source and destination bus.
    taken: Table<(BusIndex, BusIndex), Index>,
    /// Sent identifiers of each destination bus.
    sent: Table<BusIndex, Sent>,
}

/// Frames sent to one bus.
#[derive(Debug)]
enum Sent {
    /// Indices of the pieces so far, which all forward identifiers from this bus: such pieces do not overlap.
    PassedOnFrom(BusIndex, Vec<usize>),
    /// By sent identifiers.
    Any(Index),
}

impl Search<'_> {
    fn insert(&mut self, piece: Piece, budget: &mut Budget) {
        let (number, edge) = (self.pieces.len(), &self.edges.all()[piece.edge]);
        self.pieces.push(piece);
        self.taken.entry((edge.from, edge.to)).or_default().insert(piece.cube, number, budget);
        let sent = self.sent.entry(edge.to).or_insert_with(|| Sent::PassedOnFrom(edge.from, Vec::new()));
        match sent {
            Sent::PassedOnFrom(from, numbers) if piece.is_passed_on_from(*from, self.edges) => numbers.push(number),
            sent => {
                let image = edge.change.image(piece.cube);
                sent.index(&self.pieces, self.edges, budget).insert(image, number, budget);
            }
        }
    }

    /// An earlier route that sends some of the same frames with the same identifier to the same bus.
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

    /// An earlier route that sends other frames with one of the same identifiers to the same bus.
    fn meeting(&mut self, pieces: &[Piece], budget: &mut Budget) -> Option<Meeting> {
        let mut first = None;
        let meant = pieces.iter().find_map(|piece| self.meeting_of(*piece, &mut first, budget));
        meant.or(first)
    }

    /// A named one, if any; sets `first` to the first one of all.
    fn meeting_of(&mut self, piece: Piece, first: &mut Option<Meeting>, budget: &mut Budget) -> Option<Meeting> {
        let edge = &self.edges.all()[piece.edge];
        let (edges, pieces) = (self.edges, &self.pieces);
        let index = match self.sent.get_mut(&edge.to)? {
            Sent::PassedOnFrom(from, _) if piece.is_passed_on_from(*from, edges) => return None,
            sent => sent.index(pieces, edges, budget),
        };
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
            let is_made = piece.origin == Origin::Made || other_piece.origin == Origin::Made;
            // From one bus, two routes for the same frames send parts of one message, which differ in payload or format.
            if edge.from == other.from && (!is_made || is_one_message() == Some(true)) {
                return None;
            }
            let is_meant = is_made || (piece.origin, other_piece.origin) == (Origin::Named, Origin::Named);
            let meeting = Meeting { route: edge.route, first: other.route, sent: Kind::of(sent), is_meant };
            first.get_or_insert(meeting);
            is_meant.then_some(meeting)
        })
    }
}

impl Piece {
    /// Returns true for frames from this bus that keep their identifiers.
    fn is_passed_on_from(&self, bus: BusIndex, edges: &Edges) -> bool {
        edges.all()[self.edge].from == bus && self.origin != Origin::Made
    }
}

impl Sent {
    /// The index, built on first use.
    fn index(&mut self, pieces: &[Piece], edges: &Edges, budget: &mut Budget) -> &mut Index {
        if let Self::PassedOnFrom(_, numbers) = self {
            let mut index = Index::default();
            for &number in &*numbers {
                let piece = &pieces[number];
                index.insert(edges.all()[piece.edge].change.image(piece.cube), number, budget);
            }
            *self = Self::Any(index);
        }
        match self {
            Self::Any(index) => index,
            Self::PassedOnFrom(..) => unreachable!("it was made above"),
        }
    }
}

/// Returns true if some payload matches both routes.
pub(super) fn can_meet(one: &Route, other: &Route) -> bool {
    one.payload.is_empty()
        || other.payload.is_empty()
        || one.payload.iter().any(|one| other.payload.iter().any(|other| one.and(other).is_some()))
}

/// Returns true if route `by` sends every frame of route `of`, with the same identifiers; `false` if unknown.
fn is_all(plan: &Plan, edges: &Edges, of: RouteIndex, by: RouteIndex) -> bool {
    let (one, other) = (plan.route(of), plan.route(by));
    if !other.payload.is_empty() && one.payload != other.payload {
        return false;
    }
    let (of, by) = (edges.of_route(of), edges.of_route(by));
    let are_selections_equal = (&one.selections, one.formats) == (&other.selections, other.formats);
    if are_selections_equal && of.iter().zip(by).all(|(one, other)| one.change == other.change) {
        return true;
    }
    let cubes = |edges: &[Edge]| edges.iter().map(|edge| edge.well_formed().count()).sum::<usize>();
    if cubes(of) > MOST_CUBES || cubes(by) > MOST_CUBES {
        return false;
    }
    // The cubes of a route are disjoint, so they cover another cube if the sizes of the intersections add up.
    of.iter().all(|edge| {
        edge.well_formed().all(|cube| {
            let alike = by.iter().filter_map(|other| Some((other, edge.change.agrees(other.change)?.intersect(cube)?)));
            let common =
                alike.flat_map(|(other, alike)| other.well_formed().filter_map(move |cube| cube.intersect(alike)));
            common.map(Cube::count).sum::<u64>() == cube.count()
        })
    })
}

#[cfg(test)]
mod tests;
