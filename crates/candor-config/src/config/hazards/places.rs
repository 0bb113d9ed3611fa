//! Where in the file a hazard of the plan comes from.

use crate::config::spec::{BusSpec, OperandSpec, RouteSpec, Spec};
use crate::plan::{BusIndex, RouteIndex};
use candor_core::diagnostic::Span;

/// The keys of a file by what they became.
#[derive(Debug)]
pub(super) struct Places<'s> {
    buses: &'s [BusSpec],
    routes: Vec<&'s RouteSpec>,
}

impl<'s> Places<'s> {
    pub(super) fn of(spec: &'s Spec) -> Self {
        Self { buses: &spec.buses, routes: spec.by_route() }
    }

    /// `None` only for routes that are not in the file.
    pub(super) fn route(&self, index: RouteIndex) -> Option<&'s RouteSpec> {
        self.routes.get(index.0).copied()
    }

    /// `[[route]]`.
    pub(super) fn header(&self, index: RouteIndex) -> Span {
        self.route(index).map_or(0..0, |route| route.header.clone())
    }

    /// Span of `match` or `errors`, or else the whole route.
    pub(super) fn taken(&self, index: RouteIndex) -> Span {
        self.key(index, |route| {
            let errors = || route.errors.as_ref().map(|errors| &errors.span);
            route.filter.as_ref().map(|filter| &filter.span).or_else(errors)
        })
    }

    /// Span that sets the sent identifier: `to-id` or the operand, or else the selection.
    pub(super) fn identifier(&self, index: RouteIndex) -> Span {
        let id = |operand: &'s OperandSpec| operand.id.as_ref().or(operand.raw_id.as_ref());
        let place = |route: &'s RouteSpec| {
            let changed = || operands(route).find_map(id);
            route.to_id.as_ref().or_else(changed).map(|written| written.span.clone())
        };
        self.route(index).and_then(place).unwrap_or_else(|| self.taken(index))
    }

    /// The last operand for the length.
    pub(super) fn length(&self, index: RouteIndex) -> Span {
        let len = |operand: &'s OperandSpec| operand.len.as_ref().or(operand.raw_len.as_ref());
        self.key(index, |route| operands(route).find_map(len).map(|written| &written.span))
    }

    /// Span that sets the matched formats.
    pub(super) fn formats(&self, index: RouteIndex) -> Span {
        self.key(index, |route| route.frames.as_ref().map(|written| &written.span))
    }

    /// Span that sets the sent format: `send-as`, or else `frames`.
    pub(super) fn send_as(&self, index: RouteIndex) -> Span {
        let written = |route: &'s RouteSpec| route.send_as.as_ref().or(route.frames.as_ref());
        self.key(index, |route| written(route).map(|written| &written.span))
    }

    /// `to`.
    pub(super) fn to(&self, index: RouteIndex) -> Span {
        self.key(index, |route| route.to.as_ref().map(|written| &written.span))
    }

    /// `hop-limit`.
    pub(super) fn hop_limit(&self, index: RouteIndex) -> Span {
        self.key(index, |route| route.hop_limit.as_ref().map(|written| &written.span))
    }

    /// `keep-timestamp`.
    pub(super) fn keep_timestamp(&self, index: RouteIndex) -> Span {
        self.key(index, |route| route.keep_timestamp.as_ref().map(|written| &written.span))
    }

    /// A key of a route, or else its header.
    fn key(&self, index: RouteIndex, place: impl Fn(&'s RouteSpec) -> Option<&'s Span>) -> Span {
        self.route(index).and_then(place).cloned().unwrap_or_else(|| self.header(index))
    }

    /// The name in `[bus.NAME]`.
    pub(super) fn bus(&self, index: BusIndex) -> Span {
        self.buses.get(index.0).map_or(0..0, |bus| bus.name.span.clone())
    }
}

/// The last that runs comes first.
fn operands(route: &RouteSpec) -> impl Iterator<Item = &OperandSpec> {
    [&route.set, &route.xor, &route.or, &route.and].into_iter().filter_map(Option::as_deref)
}
