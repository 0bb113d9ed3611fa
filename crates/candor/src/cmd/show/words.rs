//! What a gateway does, in words.

mod change;
mod filter;
mod selection;

pub(crate) use selection::{payloads, takes};

use candor_config::placement::{Because, Placement};
use candor_config::plan::{Echo, Formats, Incoming, Plan, Route, RouteIndex, Timestamp, WhenFull};
use candor_core::frame::CAN_SFF_MASK;

/// Pairs of a key word and its meaning.
type Lines = Vec<(&'static str, String)>;

/// What a route does, as pairs of a key word and its meaning; with a placement, also where it runs.
pub(super) fn route(plan: &Plan, index: RouteIndex, placement: Option<&Placement>) -> Lines {
    let route = plan.route(index);
    let mut lines: Lines = Vec::new();
    lines.extend(placement.map(|placement| ("runs", runs(plan, placement, index))));
    lines.extend(takes(&route.selections, route.formats).into_iter().map(|taken| ("takes", taken)));
    lines.extend(payloads(&route.payload).map(|payloads| ("carrying", payloads)));
    lines.extend(route.send_as.map(|send_as| ("format", selection::converted(send_as))));
    lines.extend(selection::becomes(&route.selections).into_iter().map(|moved| ("to-id", moved)));
    // Frames are modified after they have been converted.
    let outgoing = route.send_as.map_or(route.formats, |send_as| Formats::Only(send_as.format()));
    for (operation, operand) in route.modifications.operands() {
        let fields = change::fields(operation, operand, outgoing);
        lines.extend(fields.into_iter().map(|field| (operation.name(), field)));
    }
    lines.extend(change::checksums(&route.checksums));
    lines.extend(handling(plan, route));
    lines
}

/// The side that runs a route, and why it is user space.
///
/// Kernels differ: those before the fix of March 2026 are meant, loaded as the file wants them.
fn runs(plan: &Plan, placement: &Placement, index: RouteIndex) -> String {
    match placement.because(index) {
        None => "in the kernel".to_owned(),
        Some(because) => format!("in user space, because {}", why(plan, because)),
    }
}

/// Why a route is in user space.
pub(super) fn why(plan: &Plan, because: Because) -> String {
    if because == Because::RelativeCrc8 {
        return "kernels before the fix of March 2026 compute a CRC8 with positions from the end outside the frame"
            .into();
    }
    because.in_words(plan)
}

fn handling(plan: &Plan, route: &Route) -> Lines {
    let mut lines: Lines = Vec::new();
    if route.echo == Echo::On {
        lines.push(("echo", format!("programs on {} see the frames too", plan.bus(route.to).interface)));
    }
    if let Some(age) = route.max_age {
        lines.push(("age", format!("frames that are older than {age:?} when they leave are dropped")));
    }
    match route.when_full {
        WhenFull::DropNewest => {}
        WhenFull::DropOldest => {
            lines.push(("full", "up to 64 frames wait for room, then the oldest is dropped".into()))
        }
        WhenFull::Block { limit } => {
            let from = &plan.bus(route.from).interface;
            lines.push(("full", format!("everything from {from} waits for room, at most {limit:?}")));
        }
    }
    if let Some(hops) = route.hop_limit {
        let further = match hops {
            1 => "no further gateway of this machine forwards the frame".to_owned(),
            2 => "at most 1 further gateway of this machine forwards the frame".to_owned(),
            hops => format!("at most {} further gateways of this machine forward the frame", hops - 1),
        };
        lines.push(("hops", further));
    }
    if route.timestamp == Timestamp::Kept {
        lines.push(("time", "frames keep the time stamp of their arrival".to_owned()));
    }
    if route.incoming == Incoming::Allowed {
        lines.push(("back", "frames may leave through the interface by which they came in".to_owned()));
    }
    lines.extend(route.uid.map(|uid| ("uid", format!("can-gw finds this job by the number {uid:08X}"))));
    lines.extend(route.comment.clone().map(|comment| ("comment", comment)));
    lines
}

/// Three digits where 11 bits are enough, otherwise eight.
fn number(value: u32, widest: u32) -> String {
    if widest <= CAN_SFF_MASK { format!("{value:03X}") } else { format!("{value:08X}") }
}
