//! The gateway under test, and what it counts.

use std::path::Path;

use candor_lab::device::{Device, Gateway};
use serde::Deserialize;

use super::super::method::Failed;

/// What a gateway counted of a route.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Counted {
    pub(super) dropped: u64,
    /// Refused by its rules.
    pub(super) deleted: u64,
}

#[derive(Deserialize)]
struct OfRoute {
    route: String,
    #[serde(flatten)]
    counted: Counted,
}

#[derive(Deserialize)]
struct FinalCounters {
    event: String,
    routes: Vec<OfRoute>,
}

/// Runs `work` while a new gateway runs. Returns what the gateway counted of the route meanwhile.
pub(super) fn during<T>(
    file: &Path,
    route: &str,
    work: impl FnOnce() -> Result<T, Failed>,
) -> Result<(T, Counted), Failed> {
    let running = Device::start(&std::env::current_exe()?, &Gateway::of_file(file).with_json())?;
    let result = work()?;
    let events = running.stop()?;
    let mut counters = events.iter().filter_map(|line| serde_json::from_str::<FinalCounters>(line).ok());
    let last = counters.rfind(|counters| counters.event == "final-counters");
    let routes = last.ok_or("The gateway printed no counters at its end")?.routes;
    let of_route = routes.into_iter().find(|of| of.route == route);
    Ok((result, of_route.ok_or_else(|| format!("The gateway counted nothing of the route {route}"))?.counted))
}
