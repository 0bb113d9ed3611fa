//! `both-ways`: the same route once more, the other way.

use crate::config::check::conflict;
use crate::config::spec::{OperandSpec, RouteSpec};
use candor_core::diagnostic::{Findings, Span};

/// Behind the name of a route that goes both ways.
pub(super) const BACK: &str = "/back";

/// Returns true if the route is bidirectional. A modification is not its own inverse, so such a route has none.
pub(super) fn goes_back(spec: &RouteSpec, findings: &mut Findings) -> bool {
    let Some(both_ways) = spec.both_ways.as_ref().filter(|both_ways| both_ways.value) else { return false };
    let change = changes(spec).next();
    if let Some((key, place)) = &change {
        let why = "A route that modifies frames cannot be bidirectional";
        let help = format!("write a second route for the opposite direction, or remove `{key}`");
        conflict(&both_ways.span, why, place.clone(), "modifies frames", &help, findings);
    }
    if let (Some(from), Some(to)) = (&spec.from, &spec.to)
        && from.value == to.value
    {
        conflict(
            &both_ways.span,
            "Both directions of this route are the same",
            to.span.clone(),
            "the same bus as `from`",
            "remove `both-ways`",
            findings,
        );
        return false;
    }
    change.is_none()
}

fn changes(spec: &RouteSpec) -> impl Iterator<Item = (&'static str, Span)> {
    let operand = |key, operand: &Option<Box<OperandSpec>>| Some((key, operand.as_ref()?.span.clone()));
    [
        spec.to_id.as_ref().map(|to_id| ("to-id", to_id.span.clone())),
        spec.send_as.as_ref().map(|send_as| ("send-as", send_as.span.clone())),
        operand("and", &spec.and),
        operand("or", &spec.or),
        operand("xor", &spec.xor),
        operand("set", &spec.set),
        spec.checksum_crc8.as_ref().map(|checksum| ("checksum-crc8", checksum.span.clone())),
        spec.checksum_xor.as_ref().map(|checksum| ("checksum-xor", checksum.span.clone())),
    ]
    .into_iter()
    .flatten()
}
