//! Amplification: the number of frames that one frame becomes over all paths, and frames that reach a bus repeatedly.

use std::collections::{HashMap, HashSet};

use super::change::Change;
use super::cube::{Cube, ERR, WELL_FORMED};
use super::depth::depth;
use super::edges::Edges;
use super::index::{Budget, Index};
use super::overlap::can_meet;
use super::paths::{FrameState, Paths};
use super::{Hazard, Kind};
use crate::plan::{BusIndex, Plan, RouteIndex};

/// Longer paths are loops, or as bad.
const MOST_STEPS: usize = 16;

/// The maximum number of frames sent for one received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amplification {
    pub frames: usize,
    /// The bus of the received frame.
    pub bus: BusIndex,
    pub example: Kind,
    /// True if this is an upper bound; `false` if the analysis was cut short, or if frames loop.
    pub is_exact: bool,
}

/// A sequence of routes that ends in one sent frame.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The received frames that become it.
    pub(super) frames: Cube,
    pub(super) change: Change,
    /// Routes in the order in which they forward the frame.
    pub(super) routes: Vec<RouteIndex>,
    pub(super) to: BusIndex,
}

/// The maximum number of frames that this gateway sends for one received frame, over all paths: through vxcan pairs, and
/// with a `hop-limit` above 1 through echo. `None` if it sends no frame at all; if that would take too long to determine,
/// 0 frames that are not exact.
pub fn amplification(plan: &Plan) -> Option<Amplification> {
    let (edges, mut budget) = (Edges::of(plan), Budget::new(Budget::USUAL));
    let all = AllPaths::of(plan, &edges, &HashSet::new(), &mut budget);
    let mut most: Option<Amplification> = None;
    for (bus, paths) in &all.by_origin {
        let cubes: Vec<_> = paths.iter().map(|path| path.frames).collect();
        let deepest = depth(&cubes, &mut budget);
        let is_exact = most.is_none_or(|most| most.is_exact) && deepest.is_exact && all.is_complete;
        let found =
            Amplification { frames: deepest.count, bus: *bus, example: Kind::from_bits(deepest.kind), is_exact };
        let best = most.filter(|most| most.frames >= found.frames).unwrap_or(found);
        most = Some(Amplification { is_exact, ..best });
    }
    most.filter(|most| most.frames > 0 || !most.is_exact)
}

/// Finds frames that reach a bus twice or return, except by two routes between the same buses and in loops, which other
/// analyses report.
pub(super) fn find(
    plan: &Plan,
    edges: &Edges,
    paths: &Paths<'_>,
    in_rings: &HashSet<RouteIndex>,
    budget: &mut Budget,
    hazards: &mut Vec<Hazard>,
) {
    let goes_back = plan.routes().iter().any(|route| route.from == route.to);
    if !goes_back && !paths.can_chain() {
        return;
    }
    let mut reported = HashSet::new();
    for (origin, paths) in AllPaths::of(plan, edges, in_rings, budget).by_origin {
        let mut by_bus: HashMap<_, Index> = HashMap::new();
        for (number, path) in paths.iter().enumerate() {
            // Forwarding error message frames is the greater hazard.
            if path.frames.lowest() & ERR != 0 {
                continue;
            }
            let index = by_bus.entry(path.to).or_default();
            let unchanged = || path.change.agrees(Change::NONE)?.intersect(path.frames);
            let again = if path.to == origin { unchanged().map(|cube| (Vec::new(), cube)) } else { None };
            let again = again.or_else(|| {
                index.find(path.frames, budget, |cube, other| {
                    let other: &Path = &paths[other];
                    let common = cube.intersect(path.frames)?.intersect(path.change.agrees(other.change)?)?;
                    let first = |path: &Path| path.routes.first().map(|&route| plan.route(route));
                    let (this, that) = (first(path)?, first(other)?);
                    // Two routes between the same buses are reported already; from the two ends of a pair they are not.
                    let is_told = path.routes.len() == 1 && other.routes.len() == 1 && this.from == that.from;
                    (!is_told && can_meet(this, that)).then(|| (other.routes.clone(), common))
                })
            });
            if let Some((other, common)) = again {
                let (routes, bus) = (path.routes.clone(), path.to);
                // The same two paths are found for the other end of a pair.
                let both =
                    if routes < other { (routes.clone(), other.clone()) } else { (other.clone(), routes.clone()) };
                if reported.insert(both) {
                    hazards.push(Hazard::ArrivesAgain { routes, other, bus, example: Kind::of(common) });
                }
            }
            index.insert(path.frames, number, budget);
        }
    }
}

#[derive(Debug)]
pub(super) struct AllPaths {
    /// By the bus on which a frame enters, in the order of the plan.
    pub(super) by_origin: Vec<(BusIndex, Vec<Path>)>,
    /// All paths were followed.
    pub(super) is_complete: bool,
}

impl AllPaths {
    /// All paths without the routes in `avoid`.
    pub(super) fn of(plan: &Plan, edges: &Edges, avoid: &HashSet<RouteIndex>, budget: &mut Budget) -> Self {
        let rules = Paths::of(plan);
        let mut takes: HashMap<BusIndex, Index> = HashMap::new();
        for (number, edge) in edges.all().iter().enumerate().filter(|(_, edge)| !avoid.contains(&edge.route)) {
            let index = takes.entry(edge.from).or_default();
            edge.takes.iter().for_each(|cube| index.insert(*cube, number, budget));
        }
        let mut all = Self { by_origin: Vec::new(), is_complete: true };
        for bus in (0..plan.buses().len()).map(BusIndex) {
            let states: Vec<_> = rules.entries_at(bus).collect();
            let mut paths: Vec<Path> = Vec::new();
            for state in states {
                all.follow(state, &rules, edges, &mut takes, budget, &mut paths);
            }
            all.by_origin.push((bus, paths));
        }
        all
    }

    /// Adds all paths of the frames that enter in a state.
    fn follow(
        &mut self,
        start: FrameState,
        rules: &Paths<'_>,
        edges: &Edges,
        takes: &mut HashMap<BusIndex, Index>,
        budget: &mut Budget,
        paths: &mut Vec<Path>,
    ) {
        // The last one is tried first: 11-bit data frames, which are the best examples.
        let mut waiting: Vec<(FrameState, Cube, Change, Vec<RouteIndex>)> =
            WELL_FORMED.into_iter().rev().map(|cube| (start, cube, Change::NONE, Vec::new())).collect();
        while let Some((state, frames, change, routes)) = waiting.pop() {
            if routes.len() >= MOST_STEPS || budget.is_spent() {
                self.is_complete = false;
                continue;
            }
            let Some(index) = takes.get_mut(&state.bus) else { continue };
            let mut steps = 0;
            index.find(change.image(frames), budget, |cube, number| {
                let edge = &edges.all()[number];
                let frames = change.preimage(cube)?.intersect(frames)?;
                if rules.sends(state, edge) {
                    let change = change.then(edge.change);
                    let routes: Vec<_> = routes.iter().copied().chain([edge.route]).collect();
                    steps += routes.len();
                    waiting.extend(rules.after(state, edge).map(|state| (state, frames, change, routes.clone())));
                    paths.push(Path { frames, change, routes, to: edge.to });
                }
                None::<()>
            });
            // Paths are kept, so they count too.
            budget.steps(steps);
            self.is_complete &= !budget.is_spent();
        }
    }
}

#[cfg(test)]
mod tests;
