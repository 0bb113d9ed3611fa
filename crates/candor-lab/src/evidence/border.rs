//! The buses on both sides of a border, and what crosses it.

use candor_config::plan::{BusIndex, ComposedFrame, Plan, Route, RouteIndex};
use candor_config::safety::border::{Crossing, crossings};

/// A gateway between untrusted buses and the others.
#[derive(Debug)]
pub struct Border<'p> {
    pub plan: &'p Plan,
    untrusted: Vec<BusIndex>,
    /// With the bus that the frames come from.
    inward: Vec<(BusIndex, Crossing)>,
    outward: Vec<(BusIndex, Crossing)>,
    /// Routes from trusted buses, to whatever bus.
    of_trusted: Vec<(BusIndex, Crossing)>,
    /// All paths are known.
    pub(super) is_complete: bool,
}

/// There is no border.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BorderError {
    #[error("all buses are untrusted: {}; a border needs a bus that is not", .0.join(", "))]
    NoTrusted(Vec<String>),
    #[error(
        "no frame from {} gets to another bus, so there is nothing to judge; frames cross from {}", .untrusted.join(", "), or_none(.sources)
    )]
    NothingCrosses { untrusted: Vec<String>, sources: Vec<String> },
    #[error("there is no bus {name}; the file has {}", .buses.join(", "))]
    UnknownBus { name: String, buses: Vec<String> },
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() { "no bus".to_owned() } else { names.join(", ") }
}

impl<'p> Border<'p> {
    /// The border between these buses and all others.
    ///
    /// # Errors
    /// [`BorderError`] if a bus is unknown, or nothing can cross.
    pub fn of(plan: &'p Plan, names: &[String]) -> Result<Self, BorderError> {
        let name = |bus: BusIndex| plan.bus(bus).name.clone();
        let all: Vec<BusIndex> = (0..plan.buses().len()).map(BusIndex).collect();
        let named = |wanted: &String| {
            let found = all.iter().copied().find(|bus| plan.bus(*bus).name == *wanted);
            let buses = || all.iter().map(|bus| name(*bus)).collect();
            found.ok_or_else(|| BorderError::UnknownBus { name: wanted.clone(), buses: buses() })
        };
        let untrusted = names.iter().map(named).collect::<Result<Vec<_>, _>>()?;
        let is_untrusted = |bus: BusIndex| untrusted.contains(&bus);
        if all.iter().all(|bus| is_untrusted(*bus)) {
            return Err(BorderError::NoTrusted(all.into_iter().map(name).collect()));
        }
        let [mut inward, mut outward, mut of_trusted] = [const { Vec::new() }; 3];
        let mut is_complete = true;
        for from in all.iter().copied() {
            let found = crossings(plan, from);
            is_complete &= found.is_complete;
            for crossing in found.list {
                match (is_untrusted(from), is_untrusted(crossing.to)) {
                    (true, false) => inward.push((from, crossing)),
                    (true, true) => {}
                    (false, is_outward) => {
                        if is_outward {
                            outward.push((from, crossing.clone()));
                        }
                        of_trusted.push((from, crossing));
                    }
                }
            }
        }
        let border = Self { plan, untrusted, inward, outward, of_trusted, is_complete };
        if border.inward.is_empty() && border.translations().next().is_none() {
            let sources = all.iter().copied().filter(|bus| plan.routes().iter().any(|route| route.from == *bus));
            let sources = sources.map(name).collect();
            return Err(BorderError::NothingCrosses { untrusted: names.to_vec(), sources });
        }
        Ok(border)
    }

    pub fn is_untrusted(&self, bus: BusIndex) -> bool {
        self.untrusted.contains(&bus)
    }

    /// What gets from untrusted buses to trusted ones.
    pub fn inward(&self) -> impl Iterator<Item = &Crossing> {
        self.inward.iter().map(|(_, crossing)| crossing)
    }

    /// True if something gets from trusted buses to untrusted ones.
    pub(super) fn has_outward(&self) -> bool {
        !self.outward.is_empty()
    }

    /// What crosses in either direction, with the bus that it comes from.
    pub(super) fn both_ways(&self) -> impl Iterator<Item = (BusIndex, &Crossing)> {
        self.inward.iter().chain(&self.outward).map(|(from, crossing)| (*from, crossing))
    }

    /// Frames that a route takes from this trusted bus.
    pub(super) fn taken_from(&self, bus: BusIndex) -> impl Iterator<Item = &Crossing> {
        let direct = move |(from, crossing): &&(BusIndex, Crossing)| *from == bus && crossing.routes.len() == 1;
        self.of_trusted.iter().filter(direct).map(|(_, crossing)| crossing)
    }

    /// Composed frames to trusted buses with signals of untrusted ones, by their place in the plan.
    pub(super) fn translations(&self) -> impl Iterator<Item = (usize, &'p ComposedFrame)> {
        let crosses = |frame: &ComposedFrame| {
            !self.is_untrusted(frame.to) && frame.sources.iter().any(|source| self.is_untrusted(source.bus))
        };
        self.plan.frames().iter().enumerate().filter(move |(_, frame)| crosses(frame))
    }

    /// The untrusted buses, and those that exchange frames with them, in the order of the file.
    pub(super) fn networks(&self) -> Vec<BusIndex> {
        let crosses = |bus: BusIndex| self.both_ways().any(|(from, crossing)| from == bus || crossing.to == bus);
        (0..self.plan.buses().len()).map(BusIndex).filter(|bus| self.is_untrusted(*bus) || crosses(*bus)).collect()
    }

    /// Buses to which frames are sent across the border, in the order of the file.
    pub(super) fn targets(&self) -> Vec<BusIndex> {
        let is_target = |bus: &BusIndex| self.both_ways().any(|(_, crossing)| crossing.to == *bus);
        (0..self.plan.buses().len()).map(BusIndex).filter(is_target).collect()
    }

    pub(super) fn route(&self, index: RouteIndex) -> &'p Route {
        self.plan.route(index)
    }

    /// In quotes.
    pub(super) fn bus(&self, bus: BusIndex) -> String {
        format!("\"{}\"", self.plan.bus(bus).name)
    }

    /// `route "requests"`, or all routes of the way.
    pub(super) fn way(&self, crossing: &Crossing) -> String {
        let names: Vec<_> = crossing.routes.iter().map(|route| format!("\"{}\"", self.route(*route).name)).collect();
        let noun = if names.len() == 1 { "route" } else { "routes" };
        format!("{noun} {}", names.join(" → "))
    }

    /// The route that decides what is sent: the last one.
    pub(super) fn last(crossing: &Crossing) -> RouteIndex {
        crossing.routes.last().copied().unwrap_or(RouteIndex(0))
    }
}
