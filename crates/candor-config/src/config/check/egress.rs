//! `[egress.BUS]`: bands and limits as a policy, or a tree.

mod group;
mod queue;
mod selection;
mod source;
mod tree;

use std::collections::HashMap;
use std::num::{NonZeroU8, NonZeroU32};

use crate::config::check::Checks;
use crate::config::check::route;
use crate::config::code;
use crate::config::spec::{BandSpec, EgressSpec, LimitSpec, Spec};
use crate::plan::{Bus, BusIndex, Egress, Wish};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};
use candor_egress::policy::{Band, Limit, Policy, PolicyError};

pub(super) use source::are_forwarded;

/// Checks `[egress]` of all buses; `None` after an error.
pub(super) fn egress(
    spec: &Spec,
    buses: Option<&[Bus]>,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Option<Vec<Egress>> {
    let all: Vec<_> = spec.egress.iter().map(|written| of_bus(written, buses, checks, findings)).collect();
    all.into_iter().collect()
}

fn of_bus(
    spec: &EgressSpec,
    buses: Option<&[Bus]>,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Option<Egress> {
    let bus = route::bus(&spec.bus, &checks.buses, findings);
    let name = quote(&spec.bus.value);
    let misfit = |span: Span, message: String| Diagnostic::error(code::EGRESS, span, message);
    if let Some(tree) = &spec.tree {
        let other = spec.bands.first().map(|band| &band.header);
        let other = other.or_else(|| spec.limits.first().map(|limit| &limit.header));
        if let Some(other) = other.or_else(|| spec.queue.as_ref().map(|queue| &queue.span)) {
            let message = format!("`egress` of bus {name} has both `tree` and bands, limits or a queue");
            let diagnostic = misfit(tree.text.span.clone(), message).also(other.clone(), "conflicts with `tree`");
            findings.report(diagnostic.help("keep either `tree`, or the bands and limits"));
            return None;
        }
        let bus_of_tree = bus.and_then(|BusIndex(index)| buses?.get(index));
        let wish = Wish::Tree(tree::tree(tree, bus_of_tree, findings)?);
        return Some(Egress { bus: bus?, wish }).filter(|_| !spec.is_torn);
    }
    if spec.bands.is_empty() {
        if !spec.is_torn {
            let help = format!(
                "add a table [[egress.{}.band]] for each band, highest priority first, or write tree = '''…'''",
                spec.bus.value.escape_debug()
            );
            findings.report(misfit(spec.bus.span.clone(), format!("`egress` of bus {name} has no band")).help(help));
        }
        return None;
    }
    let facts = Facts { bus: bus.and_then(|BusIndex(index)| buses?.get(index)), queue: spec.queue.as_ref() };
    // Said once, and not for each band.
    if let Some(written) = &spec.queue {
        queue::of_all(written, findings)?;
    }
    names_are_unique(&spec.bands, findings);
    let bands: Vec<_> = spec.bands.iter().map(|written| band(written, facts, checks, findings)).collect();
    let limits: Vec<_> = spec.limits.iter().map(|written| limit(written, facts, checks, findings)).collect();
    let bands = bands.into_iter().collect::<Option<Vec<_>>>()?;
    let limits = limits.into_iter().collect::<Option<Vec<_>>>()?;
    match Policy::new(bands, limits) {
        Ok(policy) => Some(Egress { bus: bus?, wish: Wish::Bands(policy) }).filter(|_| !spec.is_torn),
        Err(error) => {
            findings.report(no_policy(spec, &error));
            None
        }
    }
}

/// The bus of a band.
#[derive(Clone, Copy)]
struct Facts<'s> {
    bus: Option<&'s Bus>,
    /// `queue` of the bus, for bands that have none.
    queue: Option<&'s Spanned<i64>>,
}

fn band(spec: &BandSpec, facts: Facts<'_>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Band> {
    let take = selection::all(&spec.take, &spec.own, checks, findings);
    let rate = spec.rate.as_ref().map(|written| queue::rate(written, facts, findings));
    let rate = rate.map_or(Some(None), |rate| rate.map(Some));
    let queue = queue::queue(spec, rate.flatten(), facts, findings);
    let share = spec.share.as_ref().map(|written| share(written, findings));
    let share = share.map_or(Some(None), |share| share.map(Some));
    let name = spec.name.as_ref().filter(|name| is_name(name, findings));
    let band = Band { name: name?.value.clone(), take: take?, queue: queue?, rate: rate?, share: share? };
    (!spec.is_torn).then_some(band)
}

fn share(written: &Spanned<i64>, findings: &mut Findings) -> Option<NonZeroU8> {
    let share = u8::try_from(written.value).ok().and_then(NonZeroU8::new).filter(|share| share.get() <= 100);
    if share.is_none() {
        let message = format!("A share must be 1 to 100, not {}", written.value);
        let help = "shares are relative weights: 3 and 1 are 75 % and 25 %";
        findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
    }
    share
}

fn limit(spec: &LimitSpec, facts: Facts<'_>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Limit> {
    let take = selection::all(&spec.take, &spec.own, checks, findings)?;
    if take.is_empty() && !spec.is_torn {
        let diagnostic = Diagnostic::error(code::EGRESS, spec.header.clone(), "The limit selects no frames");
        findings.report(diagnostic.help("add match = \"123\", mark = \"7\" or another selection"));
        return None;
    }
    let burst = spec.burst.as_ref().map_or(Some(NonZeroU32::MIN), |written| {
        let burst = u32::try_from(written.value).ok().and_then(NonZeroU32::new).filter(|burst| burst.get() <= 1 << 16);
        if burst.is_none() {
            let message = format!("A burst must be 1 to 65536 frames, not {}", written.value);
            let help = "this many frames may be sent at once; 1 enforces the rate most strictly";
            findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
        }
        burst
    });
    let rate = spec.rate.as_ref().and_then(|written| queue::rate(written, facts, findings));
    let limit = Limit { take, rate: rate?, burst_frames: burst? };
    (!spec.is_torn).then_some(limit)
}

fn is_name(name: &Spanned<String>, findings: &mut Findings) -> bool {
    let is_name = crate::wire::is_bus_name(&name.value);
    if !is_name {
        let message = format!("{} is not a valid name for a band", quote(&name.value));
        let help = "write letters, digits, - and _, such as \"control\"";
        findings.report(Diagnostic::error(code::NAME, name.span.clone(), message).help(help));
    }
    is_name
}

fn names_are_unique(bands: &[BandSpec], findings: &mut Findings) {
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
fn no_policy(spec: &EgressSpec, error: &PolicyError) -> Diagnostic {
    let of_band = |at: usize| spec.bands.get(at).map_or(&spec.bus.span, |band| &band.header).clone();
    let last = of_band(spec.bands.len().saturating_sub(1));
    let (span, help) = match error {
        PolicyError::EmptyBand(at) => {
            (of_band(*at), "add match = \"080..0FF\" or another selection; only the last band has none")
        }
        PolicyError::LargeLimit(at) => {
            let span = spec.limits.get(*at).map_or_else(|| spec.bus.span.clone(), |limit| limit.header.clone());
            (span, "write ranges in place of single identifiers, or set a mark in the sending programs and match that")
        }
        PolicyError::MixedLimit(at) => {
            let span = spec.limits.get(*at).map_or_else(|| spec.bus.span.clone(), |limit| limit.header.clone());
            (span, "write one limit for the cgroups and one for the rest; they are counted separately")
        }
        PolicyError::LastChooses => (last, "remove its selection, or add a last band for the rest"),
        PolicyError::LonelyShare(at) => (of_band(*at), "bands with a `share` must be the last ones, and two or more"),
        PolicyError::ShareAndRate(at) => (
            of_band(*at),
            "remove one of them: while the rate holds this band back, the bands that share with it would wait, too",
        ),
        PolicyError::NoBand | PolicyError::TooManyBands(_) => (last, "merge bands"),
        PolicyError::TooManyRules(_) => (spec.bus.span.clone(), "write ranges in place of single identifiers"),
        PolicyError::MixedSelection => (spec.bus.span.clone(), "write two selections in `take`"),
    };
    let message = match error {
        PolicyError::EmptyBand(_) => "This band selects no frames".to_owned(),
        PolicyError::LonelyShare(_) => "This band has a share, but no neighbour to share with".to_owned(),
        PolicyError::ShareAndRate(_) => "This band has both a share and a rate".to_owned(),
        PolicyError::MixedLimit(_) => "This limit selects frames both by cgroup and by other criteria".to_owned(),
        PolicyError::LargeLimit(_) => "This limit selects more than one kernel filter can express".to_owned(),
        other => other.to_string(),
    };
    Diagnostic::error(code::EGRESS, span, message).help(help)
}

/// One of some words.
fn one_of<T: Copy>(written: &Spanned<String>, what: &str, known: &[(&str, T)], findings: &mut Findings) -> Option<T> {
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == written.value) {
        return Some(*value);
    }
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    let list: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let message = format!("Unknown {what} {}", quote(&written.value));
    let diagnostic = Diagnostic::error(code::EGRESS_WORD, written.span.clone(), message);
    let diagnostic = diagnostic.help(format!("write {}", list.join(" or ")));
    findings.report(match closest(&written.value, &names) {
        Some(name) => diagnostic.label(format!("did you mean \"{name}\"?")),
        None => diagnostic,
    });
    None
}
