//! `from`: only what the kernel forwards is known by where it came from, because candor sends frames of its own.

use crate::config::code;
use crate::config::spec::{EgressSpec, Spec};
use crate::placement::{KernelAbilities, Placement, Side};
use crate::plan::{BusIndex, Egress, Plan, Wish};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_egress::handle::Handle;

/// Reports each `from` of which no frame would be known.
pub(in crate::config::check) fn are_forwarded(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    if spec.egress.is_empty() {
        return;
    }
    let placement = Placement::of(plan, KernelAbilities::EVERY).ok();
    for (written, egress) in spec.egress.iter().zip(plan.egress()) {
        for from in sources(written) {
            let Some(bus) = plan.buses().iter().position(|bus| bus.name == from.value).map(BusIndex) else { continue };
            if let Some((why, help)) = why_not(plan, placement.as_ref(), bus, egress) {
                let message = format!("Frames from {} cannot be matched here: {why}", quote(&from.value));
                findings.report(Diagnostic::error(code::SOURCE, from.span.clone(), message).help(help));
            }
        }
    }
}

fn sources(spec: &EgressSpec) -> impl Iterator<Item = &Spanned<String>> {
    let of_bands = spec.bands.iter().flat_map(|band| std::iter::once(&band.own).chain(&band.take));
    let of_limits = spec.limits.iter().flat_map(|limit| std::iter::once(&limit.own).chain(&limit.take));
    of_bands.chain(of_limits).filter_map(|selection| selection.from.as_ref()).flatten()
}

fn why_not(
    plan: &Plan,
    placement: Option<&Placement>,
    from: BusIndex,
    egress: &Egress,
) -> Option<(&'static str, &'static str)> {
    let mut routes = plan.routes().iter().enumerate().filter(|(_, route)| route.from == from && route.to == egress.bus);
    if routes.clone().next().is_none() {
        return Some(("no route leads from that bus", "add a route, or select by match, mark or socket-priority"));
    }
    let in_kernel = |at| placement.is_none_or(|placement| placement.side(crate::plan::RouteIndex(at)) == Side::Kernel);
    if !routes.all(|(at, _)| in_kernel(at)) {
        let help = "candor sends them from a socket of its own: run the route in the kernel, or select by `match`";
        return Some(("a route from that bus runs in user space", help));
    }
    let has_own_ingress = plan.egress().iter().filter(|other| other.bus == from).any(|other| match &other.wish {
        Wish::Tree(tree) => tree.filters.iter().any(|filter| filter.parent == Handle::INGRESS),
        Wish::Bands(_) => false,
    });
    has_own_ingress.then_some((
        "the tree of that bus has its own filters for received frames",
        "set the mark in one of them, with skbedit mark 7, and write mark = \"7\" here",
    ))
}
