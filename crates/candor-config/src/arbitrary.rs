//! Strategies for property tests: gateways of arbitrary jobs.

use candor_core::filter::Filter;
use candor_core::job::Job;
use candor_core::realtime::Realtime;

use crate::plan::{Bus, Engine, Modes, Plan, Route, Selection};

/// A gateway with one route per job, between buses on these interfaces. Jobs are not checked: some have no equivalent in a
/// file.
///
/// # Panics
/// If a job has an unknown bus.
pub fn plan(interfaces: &[&str], jobs: &[Job], engine: Engine) -> Plan {
    let route = |(index, job): (usize, &Job)| {
        assert!(job.from.0 < interfaces.len() && job.to.0 < interfaces.len(), "job {index} names a missing bus");
        Route::of_job(job.clone(), format!("job-{index}"))
    };
    let plan = Plan {
        engine,
        realtime: Realtime::default(),
        databases: Vec::new(),
        buses: interfaces.iter().map(|interface| Bus::on(interface)).collect(),
        routes: jobs.iter().enumerate().map(route).collect(),
        frames: Vec::new(),
        watched: Vec::new(),
        egress: Vec::new(),
        modes: Modes::default(),
        traffic: Vec::new(),
        links: Vec::new(),
    };
    debug_assert!(crate::lower(&plan).iter().zip(jobs).enumerate().all(|(index, (lowered, job))| {
        *lowered == Job { route: candor_core::job::RouteIndex(index), ..job.clone() }
    }));
    plan
}

/// With these routes exclusive.
#[must_use]
pub fn exclusive(mut plan: Plan, routes: &[bool]) -> Plan {
    plan.routes.iter_mut().zip(routes).for_each(|(route, exclusive)| route.is_exclusive = *exclusive);
    plan
}

/// With these filters for each route.
#[must_use]
pub fn lists(mut plan: Plan, filters: &[Vec<Filter>]) -> Plan {
    for (route, filters) in plan.routes.iter_mut().zip(filters) {
        route.selections = filters.iter().map(|&filter| Selection { filter, id: None }).collect();
    }
    plan
}
