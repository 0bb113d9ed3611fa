//! Where the parts of a valid file are written, for findings of others than [`crate::config::load`].

use super::check::place;
use super::spec::{self, RouteSpec};
use crate::bounds::{NoBounds, Place};
use crate::plan::{BusIndex, Plan, RouteIndex};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Text, limits};

/// A part of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `guard`.
    Guard,
    /// `[[route]]`.
    Header,
    /// The key that selects its frames: `match` or `errors`.
    Match,
    MaxAge,
    WhenFull,
}

impl NoBounds {
    /// What and where, of a file with this name.
    #[must_use]
    pub fn in_file(&self, name: &str, text: &str, plan: &Plan) -> String {
        let spec = limits::text(text.as_bytes()).ok().and_then(|text| spec::parse(text, &mut Findings::default()));
        let place = spec.and_then(|spec| {
            let is = |written: &Option<Text>, name: &str| written.as_ref().is_some_and(|text| text.value == name);
            let bus_name = |bus: &BusIndex| plan.bus(*bus).name.as_str();
            match &self.place {
                Place::Bus(bus) => spec.buses.specs.get(bus.0).map(|bus| bus.name.span.clone()),
                Place::Egress(bus) => {
                    let found = spec.egress.iter().find(|one| one.name.value == bus_name(bus));
                    found.map(|one| one.name.span.clone())
                }
                Place::File => None,
                Place::Message(bus, id) => {
                    let at = plan.traffic().iter().position(|one| (one.bus, one.id) == (*bus, *id))?;
                    spec.traffic.get(at).map(|one| one.span.clone())
                }
                Place::Route(name) => {
                    spec.routes.iter().find(|route| is(&route.name, name)).map(|route| route.span.clone())
                }
            }
        });
        match place {
            Some(place) => {
                let line =
                    1 + text.as_bytes()[..place.start.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
                format!("{name}:{line}: {}", self.text)
            }
            None => format!("{name}: {}", self.text),
        }
    }
}

/// The places of a file.
#[derive(Clone, Debug)]
pub struct Places {
    buses: Vec<Span>,
    routes: Vec<Route>,
    frames: Vec<Span>,
    modes: Vec<(String, Span)>,
    egress: Vec<(String, Span)>,
}

#[derive(Clone, Debug)]
struct Route {
    header: Span,
    selection: Span,
    guard: Option<Span>,
    max_age: Option<Span>,
    when_full: Option<Span>,
}

impl Route {
    fn of(written: &Table<RouteSpec>) -> Self {
        Self {
            header: written.span.clone(),
            selection: place(written),
            guard: written.guard.as_ref().map(|table| table.span.clone()),
            max_age: written.max_age.as_ref().map(|text| text.span.clone()),
            when_full: written.when_full.as_ref().map(|text| text.span.clone()),
        }
    }
}

impl Places {
    /// The places in the file of a plan; `None` if it cannot be parsed.
    pub fn of(bytes: &[u8], plan: &Plan) -> Option<Self> {
        let spec = spec::parse(limits::text(bytes).ok()?, &mut Findings::default())?;
        Some(Self {
            buses: spec.buses.specs.iter().map(|bus| bus.name.span.clone()).collect(),
            routes: spec.by_route(plan).into_iter().map(Route::of).collect(),
            frames: spec.frames.iter().map(|frame| frame.span.clone()).collect(),
            modes: spec.modes.iter().map(|mode| (mode.name.value.clone(), mode.name.span.clone())).collect(),
            egress: spec.egress.iter().map(|one| (one.name.value.clone(), one.name.span.clone())).collect(),
        })
    }

    /// The name in `[bus.NAME]`.
    pub fn bus(&self, bus: BusIndex) -> Span {
        self.buses.get(bus.0).cloned().unwrap_or_default()
    }

    /// A part of a route; its header if it has no such part.
    pub fn route(&self, route: RouteIndex, part: Part) -> Span {
        let Some(route) = self.routes.get(route.0) else { return Span::default() };
        let found = match part {
            Part::Guard => &route.guard,
            Part::Header => &None,
            Part::Match => return route.selection.clone(),
            Part::MaxAge => &route.max_age,
            Part::WhenFull => &route.when_full,
        };
        found.as_ref().unwrap_or(&route.header).clone()
    }

    /// `[[frame]]`, by its place in the plan.
    pub fn frame(&self, frame: usize) -> Span {
        self.frames.get(frame).cloned().unwrap_or_default()
    }

    /// The name in `[mode.NAME]`.
    pub fn mode(&self, mode: &str) -> Span {
        self.modes.iter().find(|(name, _)| name == mode).map(|(_, span)| span.clone()).unwrap_or_default()
    }

    /// The name in `[egress.BUS]`; `None` if the bus has none.
    pub fn egress(&self, bus: &str) -> Option<Span> {
        self.egress.iter().find(|(name, _)| name == bus).map(|(_, span)| span.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BUSES, loaded, with_route};

    #[test]
    fn parts_of_routes_are_found_also_of_those_with_two_directions() {
        let text = format!(
            "{BUSES}[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nboth-ways = true\nmatch = \"123\"\n\
             [[route]]\nname = \"s\"\nfrom = \"a\"\nto = \"b\"\nguard = {{ len = 8 }}\n\
             [egress.b]\n"
        );
        let places = Places::of(text.as_bytes(), &loaded(&with_route(""))).unwrap();
        let at = |route, part| &text[places.route(RouteIndex(route), part)];
        assert_eq!([at(0, Part::Match), at(1, Part::Match)], ["\"123\""; 2]);
        assert_eq!(at(2, Part::Guard), "{ len = 8 }");
        assert_eq!([at(2, Part::MaxAge), at(1, Part::Guard)], [at(2, Part::Header), at(0, Part::Header)]);
        assert_eq!([&text[places.bus(BusIndex(1))], &text[places.egress("b").unwrap()]], ["b"; 2]);
        assert_eq!(places.egress("a"), None);
    }
}
