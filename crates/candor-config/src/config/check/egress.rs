//! `[egress.BUS]`: bands and limits as a policy, or a tree.

mod arbitration;
mod queue;
mod selection;
mod tree;

use std::collections::HashMap;
use std::num::{NonZeroU8, NonZeroU32};

use crate::config::check::Checks;
use crate::config::code;
use crate::config::spec::{BandSpec, EgressSpec, LimitSpec, QueueSpec, Spec};
use crate::placement::{KernelAbilities, Placement, Side};
use crate::plan::{Bus, BusIndex, Egress, Plan, Queueing, RouteIndex};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::{Named, Table};
use candor_core::document::{Spanned, Text, quote};
use candor_egress::handle::Handle;
use candor_egress::policy::{Band, Limit, Policy, PolicyError};

pub(super) fn egress(spec: &Spec, buses: &[Bus], checks: &mut Checks<'_>, findings: &mut Findings) -> Vec<Egress> {
    spec.egress.iter().filter_map(|written| of_bus(written, buses, checks, findings)).collect()
}

/// `None` after an error.
fn of_bus(spec: &Named<EgressSpec>, buses: &[Bus], checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Egress> {
    let index = checks.buses.index(&spec.name, findings);
    let bus = index.and_then(|BusIndex(index)| buses.get(index));
    let name = quote(&spec.name.value);
    if let Some(tree) = &spec.tree {
        arbitration::is_absent(spec, findings)?;
        let other = spec.bands.first().map(|band| &band.span);
        let other = other.or_else(|| spec.limits.first().map(|limit| &limit.span));
        if let Some(other) = other.or_else(|| spec.queue.as_ref().map(QueueSpec::span)) {
            let message = format!("`egress` of bus {name} has both `tree` and bands, limits or a queue");
            findings.report(
                Diagnostic::error(code::EGRESS, tree.text.span.clone(), message)
                    .also(other.clone(), "conflicts with `tree`")
                    .help("keep either `tree`, or the bands and limits"),
            );
            return None;
        }
        return Some(Egress { queueing: Queueing::Tree(tree::tree(tree, bus, findings)?), bus: index? });
    }
    let (arbitration, queue) = match &spec.queue {
        Some(QueueSpec::Arbitration(span)) => {
            (Some(arbitration::arbitration(spec, span, findings)?), spec.frames.as_ref())
        }
        Some(QueueSpec::Frames(frames)) => (None, Some(frames)),
        None => (None, None),
    };
    if arbitration.is_none() {
        arbitration::is_absent(spec, findings)?;
    }
    if spec.bands.is_empty() && arbitration.is_none() {
        if !spec.is_incomplete {
            let bus = spec.name.value.escape_debug();
            let help = format!(
                "add a table [[egress.{bus}.band]] for each band, highest priority first, or write tree = '''…'''"
            );
            findings.error(code::EGRESS, &spec.name.span, format!("`egress` of bus {name} has no band"), help);
        }
        return None;
    }
    names_are_unique(&spec.bands, findings);
    let errors = findings.errors();
    let facts = Facts { bus, queue };
    let mut bands: Vec<_> = spec.bands.iter().filter_map(|written| band(written, facts, checks, findings)).collect();
    let limits = spec.limits.iter().filter_map(|written| limit(written, facts, checks, findings)).collect();
    if spec.is_incomplete || findings.errors() > errors {
        return None;
    }
    if let (Some(queue), []) = (&arbitration, &*bands) {
        bands.push(arbitration::only_band(queue)?);
    }
    match Policy::new(bands, limits) {
        Ok(policy) => {
            let queueing = match arbitration {
                Some(queue) => Queueing::Arbitration { queue, otherwise: policy },
                None => Queueing::Bands(policy),
            };
            Some(Egress { bus: index?, queueing })
        }
        Err(error) => {
            invalid_policy(spec, &error, findings);
            None
        }
    }
}

/// Known facts about the bus of a band.
#[derive(Clone, Copy)]
struct Facts<'s> {
    bus: Option<&'s Bus>,
    /// `queue` of the bus, for bands without one.
    queue: Option<&'s Spanned<u32>>,
}

fn band(spec: &Table<BandSpec>, facts: Facts<'_>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Band> {
    let take = selection::all(&spec.take, &spec.own, (&spec.span, &spec.broken), checks, findings);
    let rate = spec.rate.as_ref().and_then(|written| queue::rate(written, facts, findings));
    let queue = queue::queue(spec, rate, facts, findings);
    let share = spec.share.as_ref().and_then(|written| NonZeroU8::new(written.value));
    let name = spec.name.as_ref().filter(|name| is_name(name, findings));
    Some(Band { name: name?.value.clone(), take, queue: queue?, rate, share })
}

fn limit(spec: &Table<LimitSpec>, facts: Facts<'_>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Limit> {
    let errors = findings.errors();
    let take = selection::all(&spec.take, &spec.own, (&spec.span, &spec.broken), checks, findings);
    if take.is_empty() && !spec.is_incomplete && findings.errors() == errors {
        let help = "add match = \"123\", mark = \"7\" or another selection";
        findings.error(code::EGRESS, &spec.span, "The limit selects no frames", help);
        return None;
    }
    let burst_frames =
        spec.burst.as_ref().and_then(|written| NonZeroU32::new(written.value)).unwrap_or(NonZeroU32::MIN);
    let rate = queue::rate(spec.rate.as_ref()?, facts, findings)?;
    Some(Limit { take, rate, burst_frames })
}

fn is_name(name: &Text, findings: &mut Findings) -> bool {
    let is_name = crate::wire::is_bus_name(&name.value);
    if !is_name {
        let message = format!("{} is not a valid name for a band", quote(&name.value));
        findings.error(code::NAME, &name.span, message, "write letters, digits, - and _, such as \"control\"");
    }
    is_name
}

fn names_are_unique(bands: &[Table<BandSpec>], findings: &mut Findings) {
    let mut owners = HashMap::new();
    for name in bands.iter().filter_map(|band| band.name.as_ref()) {
        if let Some(first) = owners.insert(&name.value, &name.span) {
            let message = format!("Two bands have the name {}", quote(&name.value));
            findings.report(
                Diagnostic::error(code::EGRESS, name.span.clone(), message)
                    .also(first.clone(), "first used here")
                    .help("give this band another name"),
            );
        }
    }
}

/// Converts an error of the policy to a finding.
fn invalid_policy(spec: &Named<EgressSpec>, error: &PolicyError, findings: &mut Findings) {
    let bus = &spec.name.span;
    let band = |at: usize| spec.bands.get(at).map_or(bus, |band| &band.span);
    let limit = |at: usize| spec.limits.get(at).map_or(bus, |limit| &limit.span);
    let last = band(spec.bands.len().saturating_sub(1));
    let (span, message, help) = match error {
        PolicyError::EmptyBand(at) => (
            band(*at),
            "This band selects no frames",
            "add match = \"080..0FF\" or another selection; only the last band has none",
        ),
        PolicyError::LargeLimit(at) => (
            limit(*at),
            "This limit selects more than one kernel filter can express",
            "write ranges in place of single identifiers, or set a mark in the sending programs and match that",
        ),
        PolicyError::MixedLimit(at) => (
            limit(*at),
            "This limit selects frames both by cgroup and by other criteria",
            "write one limit for the cgroups and one for the rest; they are counted separately",
        ),
        PolicyError::LonelyShare(at) => (
            band(*at),
            "This band has a share, but no other band to share with",
            "bands with a `share` must be the last ones, and two or more",
        ),
        PolicyError::ShareAndRate(at) => (
            band(*at),
            "This band has both a share and a rate",
            "remove one of them: while the rate limits this band, the bands that share with it would wait, too",
        ),
        PolicyError::LastChooses => (last, "", "remove its selection, or add a last band for the rest"),
        PolicyError::NoBand | PolicyError::TooManyBands(_) => (last, "", "merge bands"),
        PolicyError::TooManyRules(_) => (bus, "", "write ranges in place of single identifiers"),
        PolicyError::MixedSelection => (bus, "", "write two selections in `take`"),
    };
    let message = if message.is_empty() { error.to_string() } else { message.to_owned() };
    findings.error(code::EGRESS, span, message, help);
}

/// Reports each `from` that cannot match: only frames that the kernel forwards have a known source, because candor sends
/// its frames from a socket.
pub(super) fn are_forwarded(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    if spec.egress.is_empty() {
        return;
    }
    let placement = Placement::of(plan, KernelAbilities::EVERY).ok();
    for (written, egress) in spec.egress.iter().zip(plan.egress()) {
        for from in sources(written) {
            let Some(bus) = plan.buses().iter().position(|bus| bus.name == from.value).map(BusIndex) else { continue };
            if let Some((why, help)) = why_not(plan, placement.as_ref(), bus, egress) {
                let message = format!("Frames from {} cannot be matched here: {why}", quote(&from.value));
                findings.error(code::SOURCE, &from.span, message, help);
            }
        }
    }
}

fn sources(spec: &EgressSpec) -> impl Iterator<Item = &Text> {
    let of_bands = spec.bands.iter().map(|band| (&band.own, &band.take));
    let of_limits = spec.limits.iter().map(|limit| (&limit.own, &limit.take));
    let all = of_bands.chain(of_limits);
    let selections =
        all.flat_map(|(own, take)| std::iter::once(own).chain(take.iter().map(|selection| &selection.value)));
    selections.filter_map(|selection| selection.from.as_ref()).flatten()
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
    let in_kernel = |at| placement.is_none_or(|placement| placement.side(RouteIndex(at)) == Side::Kernel);
    if !routes.all(|(at, _)| in_kernel(at)) {
        let help = "candor sends them from a socket of its own: run the route in the kernel, or select by `match`";
        return Some(("a route from that bus runs in user space", help));
    }
    let has_own_ingress = plan.egress().iter().filter(|other| other.bus == from).any(|other| match &other.queueing {
        Queueing::Tree(tree) => tree.filters.iter().any(|filter| filter.parent == Handle::INGRESS),
        Queueing::Arbitration { .. } | Queueing::Bands(_) => false,
    });
    has_own_ingress.then_some((
        "the tree of that bus has its own filters for received frames",
        "set the mark in one of them, with skbedit mark 7, and write mark = \"7\" here",
    ))
}
