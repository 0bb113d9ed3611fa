//! Amplification: the number of frames that one frame becomes over all paths, and frames that reach a bus repeatedly.

use std::collections::{HashMap, HashSet};

use super::change::Change;
use super::cube::{Cube, ERR, WELL_FORMED};
use super::depth::depth;
use super::edges::Edges;
use super::index::{Budget, Index};
use super::overlap::can_meet;
use super::ways::{Place, Ways};
use super::{Hazard, Kind};
use crate::plan::{BusIndex, Plan, RouteIndex};

/// Ways of more steps than this are rings, or as bad.
const MOST_STEPS: usize = 16;

/// The most frames that one frame becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amplification {
    /// Number of frames sent.
    pub frames: usize,
    /// For a frame that comes in on this bus.
    pub bus: BusIndex,
    /// Such a frame.
    pub example: Kind,
    /// True if this is an upper bound. `false` if the analysis was cut short, or if frames loop.
    pub is_exact: bool,
}

/// One frame sent: which frames lead to it, and where it goes.
#[derive(Clone, Debug)]
struct Way {
    /// As they came in.
    frames: Cube,
    change: Change,
    /// In the order of the way.
    routes: Vec<RouteIndex>,
    to: BusIndex,
}

/// The most frames that one frame becomes in this gateway; `None` if no frame is sent at all. Where it would take too long
/// to know that, 0 frames that are not exact.
///
/// Counted are the frames that the routes send for it, over all ways: through vxcan pairs, and where routes have a
/// `hop-limit` above 1, through echo.
#[must_use]
pub fn amplification(plan: &Plan) -> Option<Amplification> {
    let (edges, mut budget) = (Edges::of(plan), Budget::new(Budget::USUAL));
    let all = Everywhere::of(plan, &edges, &HashSet::new(), &mut budget);
    let mut most: Option<Amplification> = None;
    for (bus, ways) in &all.by_origin {
        let cubes: Vec<_> = ways.iter().map(|way| way.frames).collect();
        let deepest = depth(&cubes, &mut budget);
        let is_exact = most.is_none_or(|most| most.is_exact) && deepest.is_exact && all.is_complete;
        let found =
            Amplification { frames: deepest.count, bus: *bus, example: Kind::from_bits(deepest.kind), is_exact };
        let best = most.filter(|most| most.frames >= found.frames).unwrap_or(found);
        most = Some(Amplification { is_exact, ..best });
    }
    most.filter(|most| most.frames > 0 || !most.is_exact)
}

/// Frames that come to a bus a second time, or back, but for two routes between the same two buses: those have been told,
/// and so has what comes in rings.
pub(super) fn look(
    plan: &Plan,
    edges: &Edges,
    ways: &Ways<'_>,
    in_rings: &HashSet<RouteIndex>,
    budget: &mut Budget,
    hazards: &mut Vec<Hazard>,
) {
    let goes_back = plan.routes().iter().any(|route| route.from == route.to);
    if !goes_back && !ways.lead_on() {
        return;
    }
    let mut told = HashSet::new();
    for (origin, ways) in Everywhere::of(plan, edges, in_rings, budget).by_origin {
        let mut by_bus: HashMap<_, Index> = HashMap::new();
        for (number, way) in ways.iter().enumerate() {
            // Error message frames tell of one controller; how often is the smaller of their hazards.
            if way.frames.lowest() & ERR != 0 {
                continue;
            }
            let index = by_bus.entry(way.to).or_default();
            let unchanged = || way.change.agrees(Change::NONE)?.intersect(way.frames);
            let again = if way.to == origin { unchanged().map(|cube| (Vec::new(), cube)) } else { None };
            let again = again.or_else(|| {
                index.find(way.frames, budget, |cube, other| {
                    let other: &Way = &ways[other];
                    let common = cube.intersect(way.frames)?.intersect(way.change.agrees(other.change)?)?;
                    let first = |way: &Way| way.routes.first().map(|&route| plan.route(route));
                    let (this, that) = (first(way)?, first(other)?);
                    // Two routes between the same two buses have been told. From the two ends of a pair they have not.
                    let is_told = way.routes.len() == 1 && other.routes.len() == 1 && this.from == that.from;
                    // Both see the frame as it came in.
                    (!is_told && can_meet(this, that)).then(|| (other.routes.clone(), common))
                })
            });
            if let Some((other, common)) = again {
                let (routes, bus) = (way.routes.clone(), way.to);
                // One way and the other are the same two the other way round, for the frames of the other end of a pair.
                let both =
                    if routes < other { (routes.clone(), other.clone()) } else { (other.clone(), routes.clone()) };
                if told.insert(both) {
                    hazards.push(Hazard::ArrivesAgain { routes, other, bus, example: Kind::of(common) });
                }
            }
            index.insert(way.frames, number, budget);
        }
    }
}

/// All ways of a plan.
#[derive(Debug)]
struct Everywhere {
    /// By the bus where the frame comes into the machine, in the order of the plan.
    by_origin: Vec<(BusIndex, Vec<Way>)>,
    /// Returns true if all paths were followed.
    is_complete: bool,
}

impl Everywhere {
    /// All but those along the routes that are to be avoided.
    fn of(plan: &Plan, edges: &Edges, avoid: &HashSet<RouteIndex>, budget: &mut Budget) -> Self {
        let rules = Ways::of(plan);
        let mut takes: HashMap<BusIndex, Index> = HashMap::new();
        for (number, edge) in edges.all().iter().enumerate().filter(|(_, edge)| !avoid.contains(&edge.route)) {
            let index = takes.entry(edge.from).or_default();
            edge.takes.iter().for_each(|cube| index.insert(*cube, number, budget));
        }
        let mut all = Self { by_origin: Vec::new(), is_complete: true };
        for bus in (0..plan.buses().len()).map(BusIndex) {
            let places: Vec<_> = rules.entrances_at(bus).collect();
            let mut ways: Vec<Way> = Vec::new();
            for place in places {
                all.follow(place, &rules, edges, &mut takes, budget, &mut ways);
            }
            all.by_origin.push((bus, ways));
        }
        all
    }

    /// Adds all ways of the frames that come in at a place.
    fn follow(
        &mut self,
        start: Place,
        rules: &Ways<'_>,
        edges: &Edges,
        takes: &mut HashMap<BusIndex, Index>,
        budget: &mut Budget,
        ways: &mut Vec<Way>,
    ) {
        // The last is the first: 11-bit data frames, which make the best examples.
        let mut waiting: Vec<(Place, Cube, Change, Vec<RouteIndex>)> =
            WELL_FORMED.into_iter().rev().map(|cube| (start, cube, Change::NONE, Vec::new())).collect();
        while let Some((place, frames, change, routes)) = waiting.pop() {
            if routes.len() >= MOST_STEPS || budget.is_spent() {
                self.is_complete = false;
                continue;
            }
            let Some(index) = takes.get_mut(&place.bus) else { continue };
            let mut steps = 0;
            index.find(change.image(frames), budget, |cube, number| {
                let edge = &edges.all()[number];
                let frames = change.preimage(cube)?.intersect(frames)?;
                if rules.sends(place, edge) {
                    let change = change.then(edge.change);
                    let routes: Vec<_> = routes.iter().copied().chain([edge.route]).collect();
                    steps += routes.len();
                    waiting.extend(rules.after(place, edge).map(|place| (place, frames, change, routes.clone())));
                    ways.push(Way { frames, change, routes, to: edge.to });
                }
                None::<()>
            });
            // Each way found is kept, so that they have to be few as well.
            budget.steps(steps);
            self.is_complete &= !budget.is_spent();
        }
    }
}

#[cfg(test)]
mod tests;
