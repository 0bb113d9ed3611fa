//! Frames that a route would match if `allow` and `deny` did not exclude them.

use std::rc::Rc;

use crate::config::check::identifiers::Identifiers;
use crate::config::check::selection::{Limits, Wanted};
use crate::config::spec::Spec;
use crate::plan::{Plan, RouteIndex};
use candor_core::diagnostic::Findings;
use candor_core::frame::RawId;

/// `match` of every route of a file, and the lists that take something of it away.
#[derive(Debug)]
pub struct Lists {
    /// In the order of the plan; the limits are those of the bus.
    routes: Vec<Option<(Wanted, Rc<Limits>)>>,
}

/// A list that keeps a frame from a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Withheld {
    /// Whose list it is.
    pub by: ListOf,
    pub list: ListKind,
}

/// Owner of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListOf {
    /// The bus that the route comes from.
    Bus,
    /// The route.
    Route,
}

/// Kind of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `allow`: no others.
    Allow,
    /// `deny`: not these.
    Deny,
}

impl Lists {
    /// Those of a file of which this plan was made.
    pub(in crate::config) fn of(spec: &Spec, plan: &Plan) -> Self {
        // Everything that is wrong has been said when the plan was made.
        let said = &mut Findings::default();
        let mut ids = Identifiers::new(spec, said);
        let of_buses: Vec<_> = spec.buses.iter().map(|bus| Limits::of_bus(bus, &mut ids, said).map(Rc::new)).collect();
        let written = spec.by_route().into_iter().zip(plan.routes());
        let routes = written.map(|(written, route)| {
            let of_bus = of_buses.get(route.from.0).cloned().flatten();
            Wanted::of(written, &mut ids, said).zip(of_bus)
        });
        Self { routes: routes.collect() }
    }

    /// The lists that keep a frame from a route whose `match` takes it; none if no list does.
    #[must_use]
    pub fn withhold(&self, route: RouteIndex, id: RawId) -> Vec<Withheld> {
        let Some(Some((wanted, of_bus))) = self.routes.get(route.0) else { return Vec::new() };
        let lists = [(ListOf::Bus, &**of_bus), (ListOf::Route, wanted.limits())];
        let withheld = lists.into_iter().flat_map(|(by, limits)| {
            let lists = limits.against(id).into_iter();
            lists.map(move |list| Withheld { by, list })
        });
        if wanted.takes(id) { withheld.collect() } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
