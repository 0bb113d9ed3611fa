//! The routes of a plan as edges between buses, with the frames they match and their changes.

use std::ops::Range;

use super::change::Change;
use super::cube::{Cube, ERR, FD, RTR, WELL_FORMED, XL};
use crate::plan::{BusIndex, Formats, Plan, Route, RouteIndex, SendAs};
use candor_core::filter::{Filter, ReceiveList};
use candor_core::frame::FrameFormat;
use candor_core::payload::PayloadPattern;

/// One selection of a route.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) route: RouteIndex,
    pub(super) from: BusIndex,
    pub(super) to: BusIndex,
    /// Matched frames that are sent, also malformed ones, as disjoint cubes.
    pub(super) takes: Vec<Cube>,
    pub(super) change: Change,
}

/// The edges of a plan, in the order of its routes.
#[derive(Debug)]
pub(super) struct Edges {
    list: Vec<Edge>,
    /// The first edge of each route, and the number of edges.
    starts: Vec<usize>,
}

impl Edges {
    pub(super) fn of(plan: &Plan) -> Self {
        let (mut list, mut starts) = (Vec::new(), vec![0]);
        for (index, route) in plan.routes().iter().enumerate() {
            let passing = passing(route);
            list.extend(route.selections.iter().map(|selection| Edge {
                route: RouteIndex(index),
                from: route.from,
                to: route.to,
                takes: meet(&matching(selection.filter), &passing),
                change: Change::of(route, selection),
            }));
            starts.push(list.len());
        }
        Self { list, starts }
    }

    pub(super) fn all(&self) -> &[Edge] {
        &self.list
    }

    /// The range of edges of each route.
    pub(super) fn by_route(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }

    pub(super) fn of_route(&self, route: RouteIndex) -> &[Edge] {
        &self.list[self.starts[route.0]..self.starts[route.0 + 1]]
    }
}

impl Edge {
    /// Well-formed frames in `takes`, as disjoint cubes.
    pub(super) fn well_formed(&self) -> impl Iterator<Item = Cube> + '_ {
        self.takes.iter().flat_map(|takes| WELL_FORMED.iter().filter_map(|cube| takes.intersect(*cube)))
    }
}

fn meet(ones: &[Cube], others: &[Cube]) -> Vec<Cube> {
    ones.iter().flat_map(|one| others.iter().filter_map(|other| one.intersect(*other))).collect()
}

/// Frames that a route sends if its filters match, with some content if it has payload patterns.
fn passing(route: &Route) -> Vec<Cube> {
    let bytes = route.payload.iter().map(PayloadPattern::bytes).min().unwrap_or(0);
    // Remote frames have no data that a pattern could match.
    let carrying = if bytes > 0 { Cube::new(XL | RTR, 0) } else { Cube::new(XL, 0) };
    // Frames that are too long for the other format are deleted.
    let room = route.send_as.map_or(usize::MAX, |send_as| send_as.format().max_len());
    let has_room = |format: FrameFormat| bytes <= format.max_len().min(room);
    let of_format = |format| match format {
        FrameFormat::Classic => Cube::new(FD, 0),
        FrameFormat::Fd => Cube::new(FD, FD),
    };
    let passes = |format| {
        // Frames that cannot be converted are deleted: `rule::convert`.
        let is_refused = matches!(route.send_as, Some(SendAs::Fd { .. })) && format == FrameFormat::Classic;
        let convertible = if is_refused { Cube::new(RTR | ERR, 0) } else { Cube::ALL };
        has_room(format).then(|| of_format(format).intersect(carrying)?.intersect(convertible)).flatten()
    };
    match route.formats {
        // One cube instead of two for most routes.
        Formats::Any if has_room(FrameFormat::Classic) && route.send_as.is_none() => vec![carrying],
        Formats::Any => [FrameFormat::Classic, FrameFormat::Fd].into_iter().filter_map(passes).collect(),
        Formats::Xl => vec![Cube::new(XL, XL)],
        Formats::Only(format) => passes(format).into_iter().collect(),
    }
}

fn matching(filter: Filter) -> Vec<Cube> {
    let filter = filter.normalise();
    let compared = Cube::new(u64::from(filter.mask), u64::from(filter.id));
    let no_error = Cube::new(ERR, 0);
    match filter.list {
        ReceiveList::Error => error_classes(filter.mask),
        ReceiveList::All => vec![no_error],
        ReceiveList::Masked | ReceiveList::Exact => no_error.intersect(compared).into_iter().collect(),
        ReceiveList::Inverted => no_error.without(compared),
    }
}

/// Error message frames of one of these classes: for each class, those without a lower one.
fn error_classes(classes: u32) -> Vec<Cube> {
    let bits = (0..u32::BITS).map(|bit| u64::from(classes) & 1 << bit).filter(|&bit| bit != 0);
    let mut lower = ERR;
    bits.map(|bit| {
        let cube = Cube::new(lower | bit, ERR | bit);
        lower |= bit;
        cube
    })
    .collect()
}

#[cfg(test)]
mod tests;
