//! The explanation, for text and JSON.

use candor_config::config::{Lists, Withheld};
use candor_config::explain::{Counter, Explanation, Gateway, Machine, Miss, Reason, Visit, explain};
use candor_config::placement::{Placement, Side};
use candor_config::plan::{Bus, BusIndex, Plan, Route, RouteIndex};
use candor_core::frame::Frame;
use candor_core::job::Job;

/// A gateway and the bus that receives the frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) plan: &'a Plan,
    /// `allow` and `deny` of the file; the plan has their result only.
    pub(super) lists: &'a Option<Lists>,
    pub(super) jobs: &'a [Job],
    /// Indexed by job.
    /// By job: its side, and whether its route is exclusive.
    pub(super) sides: (&'a [Side], &'a [bool]),
    pub(super) placement: &'a Placement,
    pub(super) machine: &'a Machine,
    pub(super) on: BusIndex,
}

/// A route that does not match a frame.
#[derive(Clone, Debug)]
pub(super) struct NotTaken<'a> {
    pub(super) route: RouteIndex,
    /// The nearest of its jobs.
    pub(super) nearest: &'a Miss,
    /// The lists that exclude a frame which its `match` includes.
    pub(super) withheld: Vec<Withheld>,
    pub(super) reasons: Vec<&'a Reason>,
    pub(super) jobs: usize,
}

/// Increments of the counters of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) handled: u64,
    pub(super) dropped: u64,
    pub(super) deleted: u64,
}

impl<'a> View<'a> {
    pub(super) fn explain(&self, frame: &Frame) -> Explanation {
        let (sides, exclusive) = self.sides;
        let gateway = Gateway { jobs: self.jobs, sides, exclusive, machine: self.machine };
        explain(&gateway, self.on, frame)
    }

    pub(super) fn job(&self, at: usize) -> &'a Job {
        &self.jobs[at]
    }

    pub(super) fn route_of(&self, job: usize) -> &'a Route {
        self.plan.route(self.jobs[job].route)
    }

    pub(super) fn bus(&self, bus: BusIndex) -> &'a Bus {
        self.plan.bus(bus)
    }

    /// The routes that do not match: first those where only a list excludes the frame, then the nearest.
    pub(super) fn not_taken<'e>(&self, frame: &Frame, explanation: &'e Explanation) -> Vec<NotTaken<'e>> {
        let is_matched = |route| explanation.visits.iter().any(|visit| self.jobs[visit.job].route == route);
        let mut seen = vec![false; self.plan.routes().len()];
        let mut routes = Vec::new();
        for miss in &explanation.misses {
            let route = self.jobs[miss.job].route;
            if std::mem::replace(&mut seen[route.0], true) || is_matched(route) {
                continue;
            }
            let jobs = self.jobs.iter().filter(|job| job.route == route).count();
            let withheld = self.lists.as_ref().map_or_else(Vec::new, |lists| lists.withhold(route, frame.id));
            // The lists have already removed the identifier from the filters.
            let is_reason = |reason: &&Reason| withheld.is_empty() || !reason.is_of_identifiers();
            let reasons = miss.reasons.iter().filter(is_reason).collect();
            routes.push(NotTaken { route, nearest: miss, withheld, reasons, jobs });
        }
        candor_core::order::sort_by_key(&mut routes, |missed| {
            (missed.withheld.is_empty(), !missed.withheld.is_empty() && !missed.reasons.is_empty())
        });
        routes
    }

    /// The routes that would match the frame if their own bus received it.
    pub(super) fn elsewhere(&self, explanation: &Explanation) -> Vec<RouteIndex> {
        let mut routes: Vec<_> = explanation.elsewhere.iter().map(|&job| self.jobs[job].route).collect();
        routes.dedup();
        routes
    }

    /// The routes whose counters change, also by echoes and vxcan pairs, in the order of the file.
    pub(super) fn counters(&self, explanation: &Explanation) -> Vec<(&'a Route, Moved)> {
        let mut moved = vec![Moved::default(); self.plan.routes().len()];
        let mut visits: Vec<&Visit> = explanation.visits.iter().collect();
        while let Some(visit) = visits.pop() {
            let of_route = &mut moved[self.jobs[visit.job].route.0];
            match visit.outcome.counter() {
                Some(Counter::Handled) => of_route.handled += 1,
                Some(Counter::Dropped) => of_route.dropped += 1,
                Some(Counter::Deleted) => of_route.deleted += 1,
                None => {}
            }
            visits.extend(visit.next.iter().flat_map(|next| &next.visits));
        }
        let routes = self.plan.routes().iter().zip(moved);
        routes.filter(|(_, moved)| *moved != Moved::default()).collect()
    }
}
