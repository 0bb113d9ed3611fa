//! Identifiers that a route matches: `match`, `errors`, and `allow` and `deny` of the route and of its bus.

use std::rc::Rc;

use crate::config::check::identifiers::Identifiers;
use crate::config::check::{conflict, value};
use crate::config::code;
use crate::config::spec::{BusSpec, ListSpec, RouteSpec, Spec};
use crate::plan::{Plan, RouteIndex};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Text;
use candor_core::document::keys::Table;
use candor_core::filter::{Filter, ReceiveList};
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, RawId};
use candor_core::ids::{IdRange, IdSet};

/// `allow` and `deny` of a bus or a route.
#[derive(Debug, Default)]
pub(super) struct Limits {
    allow: Option<Rc<IdSet>>,
    deny: Option<Rc<IdSet>>,
}

impl Limits {
    pub(super) fn of_bus(spec: &Table<BusSpec>, ids: &mut Identifiers<'_>, findings: &mut Findings) -> Option<Self> {
        let is_broken = ["allow", "deny"].iter().any(|key| spec.broken.contains(key));
        Self::of(&spec.allow, &spec.deny, ids, findings).filter(|_| !is_broken)
    }

    /// `None` after an error.
    fn of(
        allow: &Option<ListSpec>,
        deny: &Option<ListSpec>,
        ids: &mut Identifiers<'_>,
        findings: &mut Findings,
    ) -> Option<Self> {
        let errors = findings.errors();
        let mut set = |list: &Option<ListSpec>| ids.set(list.as_ref()?, findings);
        let limits = Self { allow: set(allow), deny: set(deny) };
        let has_both = (allow.is_some(), deny.is_some()) == (limits.allow.is_some(), limits.deny.is_some());
        (has_both && findings.errors() == errors).then_some(limits)
    }

    /// The lists that exclude a frame.
    fn against(&self, id: RawId) -> Vec<ListKind> {
        let is_not_allowed = self.allow.as_ref().is_some_and(|allow| !allow.contains(id));
        let is_denied = self.deny.as_ref().is_some_and(|deny| deny.contains(id));
        let against = [(ListKind::Allow, is_not_allowed), (ListKind::Deny, is_denied)];
        against.into_iter().filter(|(_, is_against)| *is_against).map(|(list, _)| list).collect()
    }

    const fn is_none(&self) -> bool {
        self.allow.is_none() && self.deny.is_none()
    }
}

/// `match` or `errors`, before `allow` and `deny`.
#[derive(Debug)]
pub(super) enum Taken {
    /// One filter, used as written.
    Filter(Filter),
    Set(Rc<IdSet>),
}

impl Taken {
    /// The identifiers; `None` for error message frames, which have none.
    pub(super) fn set(&self) -> Option<Rc<IdSet>> {
        match self {
            Self::Filter(filter) => IdSet::of_filter(*filter).map(Rc::new),
            Self::Set(set) => Some(Rc::clone(set)),
        }
    }
}

/// `match` or `errors`, and `allow` and `deny`, of a route.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) taken: Taken,
    limits: Limits,
}

impl Wanted {
    pub(super) fn of(spec: &Table<RouteSpec>, ids: &mut Identifiers<'_>, findings: &mut Findings) -> Option<Self> {
        let taken = taken(spec, ids, findings);
        let limits = Limits::of(&spec.allow, &spec.deny, ids, findings);
        let is_broken = ["match", "errors", "allow", "deny"].iter().any(|key| spec.broken.contains(key));
        let wanted = Self { taken: taken?, limits: limits? };
        if let (true, Some(list)) = (wanted.is_errors(), spec.allow.as_ref().or(spec.deny.as_ref())) {
            let why = "Error message frames have no identifier that could be allowed or denied";
            let other = (&place(spec), "matches error message frames");
            conflict(&list.span, why, other, "write a separate route for them", findings);
            return None;
        }
        (!is_broken).then_some(wanted)
    }

    /// Applies the lists of the source bus; `None` if nothing is left, which is reported.
    pub(super) fn left(
        &self,
        route: &Table<RouteSpec>,
        of_bus: &Limits,
        ids: &mut Identifiers<'_>,
        findings: &mut Findings,
    ) -> Option<Left> {
        let limits = [of_bus, &self.limits];
        let all = match self.taken {
            Taken::Filter(filter) if self.is_errors() || limits.iter().all(|limits| limits.is_none()) => {
                return Some(Left::AsWritten(filter));
            }
            Taken::Filter(filter) if IdRange::of_exact(filter).is_some() => {
                let id = RawId(filter.normalise().id);
                let is_left = limits.iter().all(|limits| limits.against(id).is_empty());
                if !is_left {
                    nothing_left(route, false, findings);
                }
                return is_left.then_some(Left::AsWritten(filter));
            }
            _ => self.taken.set()?,
        };
        let left = ids.within_effort(&place(route), findings, |effort| {
            let mut left = Rc::clone(&all);
            for limits in limits {
                if let Some(allow) = &limits.allow {
                    left = Rc::new(left.intersection(allow, effort)?);
                }
                if let Some(deny) = &limits.deny {
                    left = Rc::new(left.difference(deny, effort)?);
                }
            }
            Ok(match self.taken {
                Taken::Filter(filter) if all.difference(&left, effort)?.is_empty() => Left::AsWritten(filter),
                _ => Left::Set(left),
            })
        })?;
        if matches!(&left, Left::Set(set) if set.is_empty()) {
            nothing_left(route, all.is_empty(), findings);
            return None;
        }
        Some(left)
    }

    fn takes(&self, id: RawId) -> bool {
        match &self.taken {
            Taken::Filter(filter) => filter.normalise().matches(id) && !self.is_errors(),
            Taken::Set(set) => set.contains(id),
        }
    }

    fn is_errors(&self) -> bool {
        matches!(self.taken, Taken::Filter(filter) if filter.normalise().list == ReceiveList::Error)
    }
}

/// The identifiers of a route after `allow` and `deny`.
pub(super) enum Left {
    /// All identifiers of the only filter.
    AsWritten(Filter),
    Set(Rc<IdSet>),
}

impl Left {
    /// The identifiers; `None` for error message frames, which have none.
    pub(super) fn set(&self) -> Option<Rc<IdSet>> {
        match self {
            Self::AsWritten(filter) => IdSet::of_filter(*filter).map(Rc::new),
            Self::Set(set) => Some(Rc::clone(set)),
        }
    }

    /// The filters, or their number if it is above `most`.
    pub(super) fn filters(&self, most: u64) -> Result<Vec<Filter>, u64> {
        match self {
            Self::AsWritten(filter) => Ok(vec![*filter]),
            Self::Set(set) => set.filters(most),
        }
    }
}

/// The span of `match` or `errors`, otherwise the header of the route.
pub(in crate::config) fn place(spec: &Table<RouteSpec>) -> Span {
    let filter = spec.filter.as_ref().map(|list| &list.span);
    filter.or_else(|| spec.errors.as_ref().map(|errors| &errors.span)).unwrap_or(&spec.span).clone()
}

fn taken(spec: &RouteSpec, ids: &mut Identifiers<'_>, findings: &mut Findings) -> Option<Taken> {
    match (&spec.filter, &spec.errors) {
        (None, None) => Some(Taken::Filter(Filter::ALL)),
        (Some(list), None) => {
            let Some(filter) = ids.only_filter(list, findings) else {
                return ids.set(list, findings).map(Taken::Set);
            };
            let filter = filter?;
            if filter.normalise().list == ReceiveList::Error {
                error_frames(&list.span, findings);
            }
            Some(Taken::Filter(filter))
        }
        (None, Some(written)) => errors(written, findings),
        (Some(list), Some(written)) => {
            let why = "A route matches data and remote frames, or error message frames, but not both";
            let other = (&list.span, "matches data and remote frames");
            conflict(&written.span, why, other, "write a second route", findings);
            None
        }
    }
}

fn errors(written: &Text, findings: &mut Findings) -> Option<Taken> {
    let classes = value::hex(written, findings)?;
    if classes == 0 || classes > CAN_EFF_MASK {
        let message = "The mask of error classes must be 1 to 1FFFFFFF";
        let help = "1FFFFFFF matches all classes, 40 only bus-off; see the table in docs/config.md";
        findings.error(code::RANGE, &written.span, message, help);
        return None;
    }
    error_frames(&written.span, findings);
    Some(Taken::Filter(Filter { id: 0, mask: CAN_ERR_FLAG | classes }))
}

/// Drivers report events on a bus with these frames, so they are misleading on another bus.
fn error_frames(place: &Span, findings: &mut Findings) {
    let message = "Error message frames are forwarded unchanged";
    findings.report(
        Diagnostic::warning(code::ERROR_FRAMES, place.clone(), message)
            .label("drivers use them to report events on their own bus")
            .help("on the other bus they look like errors of that bus; forward them to virtual buses only"),
    );
}

fn nothing_left(spec: &Table<RouteSpec>, is_always_empty: bool, findings: &mut Findings) {
    let diagnostic = Diagnostic::error(code::NOTHING_LEFT, place(spec), "The route matches no frame");
    findings.report(if is_always_empty {
        diagnostic
            .label("this matches no identifier")
            .help("write identifiers that frames can have, or remove the route")
    } else {
        diagnostic.label("nothing is left of this").help(
            "`allow` and `deny` of the route and of its source bus remove everything; change them, or remove the route",
        )
    });
}

/// `match` of every route of a file, and the `allow` and `deny` lists that restrict it.
#[derive(Debug)]
pub struct Lists {
    /// In the order of the plan; the limits are those of the bus.
    routes: Vec<Option<(Wanted, Rc<Limits>)>>,
}

/// A list that excludes a frame from a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Withheld {
    pub by: ListOf,
    pub list: ListKind,
}

/// Owner of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListOf {
    /// The source bus of the route.
    Bus,
    Route,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    Allow,
    Deny,
}

impl Lists {
    pub(in crate::config) fn of(spec: &Spec, plan: &Plan) -> Self {
        // Errors were reported when the plan was made.
        let reported = &mut Findings::default();
        let mut ids = Identifiers::new(spec, reported);
        let of_buses: Vec<_> =
            spec.buses.specs.iter().map(|bus| Limits::of_bus(bus, &mut ids, reported).map(Rc::new)).collect();
        let written = spec.by_route(plan).into_iter().zip(plan.routes());
        let routes = written.map(|(written, route)| {
            let of_bus = of_buses.get(route.from.0).cloned().flatten();
            Wanted::of(written, &mut ids, reported).zip(of_bus)
        });
        Self { routes: routes.collect() }
    }

    /// The lists that exclude a frame that `match` of the route includes.
    pub fn withhold(&self, route: RouteIndex, id: RawId) -> Vec<Withheld> {
        let Some(Some((wanted, of_bus))) = self.routes.get(route.0) else { return Vec::new() };
        let lists = [(ListOf::Bus, &**of_bus), (ListOf::Route, &wanted.limits)];
        let withheld = lists.into_iter().flat_map(|(by, limits)| {
            let lists = limits.against(id).into_iter();
            lists.map(move |list| Withheld { by, list })
        });
        if wanted.takes(id) { withheld.collect() } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
