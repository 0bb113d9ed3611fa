//! Routes for CAN XL frames, which eBPF programs forward unchanged.

use crate::config::check::selection::place;
use crate::config::check::{conflict, value};
use crate::config::code;
use crate::config::spec::RouteSpec;
use crate::plan::{Formats, Selection};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::Table;
use candor_core::filter::{CAN_INV_FILTER, Filter, ReceiveList};
use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, CANXL_VCID, CANXL_VCID_OFFSET};

/// `frames = "xl"` by itself, or `None` if the route has keys that such a route cannot have.
pub(super) fn formats(
    spec: &RouteSpec,
    change: Option<(&'static str, &Span)>,
    formats: Formats,
    findings: &mut Findings,
) -> Option<Formats> {
    let Some(frames) = spec.frames.as_ref().filter(|_| formats == Formats::Xl) else {
        if let Some(network) = &spec.vcid {
            let message = "Only CAN XL frames have a virtual network";
            findings.error(code::NOT_IN_FORMAT, &network.span, message, "write frames = \"xl\", or remove `vcid`");
        }
        return Some(formats);
    };
    let Some((key, place)) = change.or_else(|| beyond(spec)) else { return Some(formats) };
    let help = format!("remove `{key}`, or write frames = \"any\" for a route of CAN CC and CAN FD frames");
    let why = "CAN XL frames are only forwarded, as they are, by eBPF programs";
    conflict(place, why, (&frames.span, "selects CAN XL frames"), &help, findings);
    None
}

/// A key, besides those that change frames, that a route for CAN XL frames cannot have.
fn beyond(spec: &RouteSpec) -> Option<(&'static str, &Span)> {
    let others = [
        ("errors", spec.errors.as_ref().map(|errors| &errors.span)),
        ("payload", spec.payload.as_ref().and_then(|texts| texts.first()).map(|text| &text.span)),
        ("mux", spec.mux.as_ref().map(|mux| &mux.span)),
        ("echo", spec.echo.as_ref().filter(|echo| echo.value).map(|echo| &echo.span)),
        ("keep-timestamp", spec.keep_timestamp.as_ref().filter(|keep| keep.value).map(|keep| &keep.span)),
        ("hop-limit", spec.hop_limit.as_ref().filter(|limit| limit.value > 1).map(|limit| &limit.span)),
        ("max-age", spec.max_age.as_ref().map(|age| &age.span)),
        (
            "when-full",
            spec.when_full.as_ref().filter(|policy| policy.value != "drop-newest").map(|policy| &policy.span),
        ),
        ("uid", spec.uid.as_ref().map(|uid| &uid.span)),
    ];
    let mut others = others.into_iter().filter_map(|(key, span)| Some((key, span?)));
    others.next()
}

/// The selections as far as they match CAN XL frames, of one virtual network if the route names one.
pub(super) fn selections(
    spec: &Table<RouteSpec>,
    all: Vec<Selection>,
    findings: &mut Findings,
) -> Option<Vec<Selection>> {
    let network = match &spec.vcid {
        Some(written) => Some(value::byte(written, findings)?),
        None => None,
    };
    let mut fitting = Vec::with_capacity(all.len());
    for selection in all.into_iter().filter(|selection| can_match(selection.filter)) {
        match network {
            None => fitting.push(selection),
            Some(_) if selection.filter.id & CAN_INV_FILTER != 0 => {
                let message = "An inverted filter cannot be combined with a virtual network";
                findings.error(
                    code::CONFLICT,
                    &place(spec),
                    message,
                    "write the identifiers that are wanted, or use `deny`",
                );
                return None;
            }
            Some(network) => {
                let Filter { id, mask } = selection.filter;
                // Without EFF in the mask, the kernel's rule for identifiers of 11 bits keeps the bits of the network.
                let filter = Filter {
                    id: id & mask & CAN_SFF_MASK | u32::from(network) << CANXL_VCID_OFFSET,
                    mask: mask & CAN_SFF_MASK | CANXL_VCID,
                };
                fitting.push(Selection { filter, ..selection });
            }
        }
    }
    if fitting.is_empty() {
        let help = "write the priorities of CAN XL frames with 3 digits, such as \"123\" or \"100..1FF\"";
        findings.error(
            code::NOT_IN_FORMAT,
            &place(spec),
            "CAN XL frames have a priority of 11 bits, and no remote frames",
            help,
        );
        return None;
    }
    Some(fitting)
}

/// True if the first word of some CAN XL frame matches.
fn can_match(filter: Filter) -> bool {
    let normalised = filter.normalise();
    let flags = normalised.id & normalised.mask & (CAN_EFF_FLAG | CAN_RTR_FLAG);
    match normalised.list {
        ReceiveList::Error => false,
        ReceiveList::All | ReceiveList::Inverted => true,
        ReceiveList::Masked | ReceiveList::Exact => flags == 0,
    }
}
