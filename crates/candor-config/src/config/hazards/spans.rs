//! The keys of the file that cause a hazard.

use crate::config::check::place;
use crate::config::spec::{OperandSpec, RouteSpec, Spec};
use crate::plan::{BusIndex, Plan, RouteIndex};
use candor_core::diagnostic::Span;
use candor_core::document::keys::Table;

#[derive(Debug)]
pub(super) struct Spans<'s> {
    spec: &'s Spec,
    routes: Vec<&'s Table<RouteSpec>>,
}

impl<'s> Spans<'s> {
    pub(super) fn of(spec: &'s Spec, plan: &Plan) -> Self {
        Self { spec, routes: spec.by_route(plan) }
    }

    /// The name in `[bus.NAME]`.
    pub(super) fn bus(&self, index: BusIndex) -> Span {
        self.spec.buses.specs.get(index.0).map_or(0..0, |bus| bus.name.span.clone())
    }

    /// `[[route]]`.
    pub(super) fn header(&self, index: RouteIndex) -> Span {
        self.routes.get(index.0).map_or(0..0, |route| route.span.clone())
    }

    /// `[[frame]]`.
    pub(super) fn frame(&self, frame: usize) -> Span {
        self.spec.frames.get(frame).map_or(0..0, |frame| frame.span.clone())
    }

    /// `match` or `errors`.
    pub(super) fn taken(&self, index: RouteIndex) -> Span {
        self.routes.get(index.0).map_or(0..0, |route| place(route))
    }

    /// The key that sets the sent identifier: `to-id` or an operand, otherwise `match` or `errors`.
    pub(super) fn identifier(&self, index: RouteIndex) -> Span {
        let place = |route: &'s RouteSpec| {
            let changed = || operands(route).find_map(|operand| operand.id.as_ref().or(operand.raw_id.as_ref()));
            route.to_id.as_ref().or_else(changed).map(|written| written.span.clone())
        };
        self.routes.get(index.0).and_then(|route| place(route)).unwrap_or_else(|| self.taken(index))
    }

    /// The last operand for the length.
    pub(super) fn length(&self, index: RouteIndex) -> Span {
        self.key(index, |route| {
            let raw = |operand: &'s OperandSpec| operand.raw_len.as_ref().map(|written| &written.span);
            operands(route)
                .find_map(|operand| operand.len.as_ref().map(|written| &written.span).or_else(|| raw(operand)))
        })
    }

    /// The key that sets the sent format: `send-as`, otherwise `frames`.
    pub(super) fn send_as(&self, index: RouteIndex) -> Span {
        self.key(index, |route| route.send_as.as_ref().or(route.frames.as_ref()).map(|written| &written.span))
    }

    /// A key of a route, otherwise its header.
    pub(super) fn key(&self, index: RouteIndex, place: impl Fn(&'s RouteSpec) -> Option<&'s Span>) -> Span {
        self.routes.get(index.0).and_then(|route| place(route)).cloned().unwrap_or_else(|| self.header(index))
    }
}

/// In reverse order of execution.
fn operands(route: &RouteSpec) -> impl Iterator<Item = &OperandSpec> {
    [&route.set, &route.xor, &route.or, &route.and].into_iter().flatten().map(|operand| &operand.value)
}
