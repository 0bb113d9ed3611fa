//! Text for the settings of a route.

mod change;
mod filter;
mod selection;

pub(crate) use selection::{matches, payloads};

use candor_config::placement::{Because, InBpf, KernelAbilities, Placement, Side};
use candor_config::plan::{Echo, Formats, Incoming, Plan, Route, RouteIndex, Timestamp, WhenFull};
use candor_core::frame::CAN_SFF_MASK;

/// Pairs of label and text.
type Lines = Vec<(&'static str, String)>;

/// Describes a route; with a placement, also its side.
pub(super) fn route(plan: &Plan, index: RouteIndex, placement: Option<&Placement>) -> Lines {
    let route = plan.route(index);
    let mut lines: Lines = Vec::new();
    lines.extend(placement.map(|placement| ("runs", runs(plan, placement, index))));
    lines.extend(matches(&route.selections, route.formats).into_iter().map(|matched| ("matches", matched)));
    match &route.condition {
        Some(condition) => lines.push(("signals", condition.clone())),
        None => lines.extend(payloads(&route.payload).map(|payloads| ("payload", payloads))),
    }
    lines.extend(route.told.iter().filter(|(key, _)| *key != "protect").cloned());
    lines.extend(route.send_as.map(|send_as| ("format", selection::converted(send_as))));
    lines.extend(selection::becomes(&route.selections).into_iter().map(|moved| ("to-id", moved)));
    let changes = route.signals.iter().map(|(signal, expression)| ("change", format!("{signal} = {expression}")));
    lines.extend(changes);
    // Modifications apply to the converted frame.
    let outgoing = route.send_as.map_or(route.formats, |send_as| Formats::Only(send_as.format()));
    for (operation, operand) in route.modifications.operands() {
        let fields = change::fields(operation, operand, outgoing);
        lines.extend(fields.into_iter().map(|field| (operation.name(), field)));
    }
    lines.extend(change::checksums(&route.checksums));
    lines.extend(route.told.iter().filter(|(key, _)| *key == "protect").cloned());
    lines.extend(handling(plan, route));
    lines
}

/// The side of a route, for kernels before the fix of March 2026 with can-gw loaded as the file requires.
fn runs(plan: &Plan, placement: &Placement, index: RouteIndex) -> String {
    let newest = Placement::of(plan, KernelAbilities::NEWEST).ok();
    let elsewhere = newest.and_then(|newest| newest.in_bpf(index));
    let place = match (placement.side(index), reason(plan, placement, index)) {
        (Side::User, Some(why)) => format!("in user space, because {why}"),
        (Side::Bpf, Some(why)) => format!("in an eBPF program, because {why}"),
        (Side::Kernel, Some(why)) if elsewhere.is_none() => format!("in the kernel, because {why}"),
        _ => "in the kernel".to_owned(),
    };
    match elsewhere {
        Some(InBpf::Exclusive) if placement.side(index) != Side::Bpf => {
            format!("{place}; on Linux 7.0 and later in an eBPF program, because it is exclusive")
        }
        Some(_) if placement.side(index) != Side::Bpf => format!("{place}; on Linux 7.0 and later in an eBPF program"),
        _ => place,
    }
}

/// The reason why a route is not in can-gw.
pub(super) fn reason(plan: &Plan, placement: &Placement, index: RouteIndex) -> Option<String> {
    if placement.because(index) == Some(Because::RelativeCrc8) {
        let why = "kernels before the fix of March 2026 read and write outside the frame for a CRC8 with positions from the end";
        return Some(why.to_owned());
    }
    placement.reason(plan, index)
}

fn handling(plan: &Plan, route: &Route) -> Lines {
    let mut lines: Lines = Vec::new();
    if route.echo == Echo::On {
        lines.push(("echo", format!("programs on {} see the frames", plan.bus(route.to).interface)));
    }
    if route.is_exclusive {
        let from = &plan.bus(route.from).interface;
        lines.push(("exclusive", format!("in an eBPF program, no other program receives the frames on {from}")));
    }
    if let Some(age) = route.max_age {
        lines.push(("age", format!("frames older than {age:?} when sent are dropped")));
    }
    lines.extend(route.timing.as_ref().map(|timing| ("timing", super::frames::timing(timing))));
    match route.when_full {
        WhenFull::DropNewest => {}
        WhenFull::DropOldest => lines.push(("full", "up to 64 frames are queued, then the oldest is dropped".into())),
        WhenFull::Block { limit } => {
            let from = &plan.bus(route.from).interface;
            lines.push(("full", format!("frames from {from} wait until the queue has room, at most {limit:?}")));
        }
    }
    if let Some(hops) = route.hop_limit {
        let others = match hops {
            1 => "no other gateway on this machine forwards the frame".to_owned(),
            2 => "at most 1 other gateway on this machine forwards the frame".to_owned(),
            hops => format!("at most {} other gateways on this machine forward the frame", hops - 1),
        };
        lines.push(("hops", others));
    }
    if route.timestamp == Timestamp::Kept {
        lines.push(("time", "frames keep their receive timestamp".to_owned()));
    }
    if route.incoming == Incoming::Allowed {
        lines.push(("back", "frames may be sent on the interface that received them".to_owned()));
    }
    lines.extend(route.uid.map(|uid| ("uid", format!("can-gw identifies the job by {uid:08X}"))));
    lines.extend(route.notes.clone());
    lines
}

/// Three digits for 11 bits, otherwise eight.
fn number(value: u32, widest: u32) -> String {
    if widest <= CAN_SFF_MASK { format!("{value:03X}") } else { format!("{value:08X}") }
}
