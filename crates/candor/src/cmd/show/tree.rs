//! The gateway as a text tree: each bus with the routes from it.

use candor_config::placement::{KernelAbilities, Placement};
use candor_config::plan::{Bus, BusIndex, Engine, Mode, ModeFrame, Plan, RouteIndex};

use crate::cmd::show::{frames, labels};

/// `realtime` is the text below the engine.
pub(super) fn plan(plan: &Plan, realtime: &str) -> String {
    let engine = match plan.engine() {
        Engine::Auto => {
            "auto engine: each route runs where it costs least: in can-gw, in an eBPF program, or in user space"
                .to_owned()
        }
        Engine::Bpf => "bpf engine: eBPF programs at the interfaces forward the frames".to_owned(),
        Engine::Kernel => "kernel engine: can-gw jobs forward the frames in the kernel".to_owned(),
        Engine::User(engine) => format!("{engine} engine: candor receives each frame and sends it again"),
    };
    let engine = if plan.only_composes() { "no route".to_owned() } else { engine };
    let mut text = format!("{engine}\n{realtime}");
    let placement = placement(plan);
    for (index, bus) in plan.buses().iter().enumerate() {
        text.push_str(&format!("\n{}\n", describe(plan, BusIndex(index), bus)));
        let routes = (0..plan.routes().len()).map(RouteIndex);
        let is_here =
            |route: &RouteIndex| plan.route(*route).from == BusIndex(index) && plan.route(*route).mode.is_none();
        let from_here: Vec<_> = routes.filter(is_here).collect();
        for (position, &route) in from_here.iter().enumerate() {
            branch(&mut text, plan, route, placement.as_ref(), position + 1 == from_here.len());
        }
        if from_here.is_empty() && !plan.only_composes() {
            text.push_str("└── no route from this bus\n");
        }
    }
    plan.modes().iter().for_each(|mode| self::mode(&mut text, plan, mode));
    text + &frames::tree(plan)
}

/// A mode, and the routes that exist only there.
fn mode(text: &mut String, plan: &Plan, mode: &Mode) {
    let state = if plan.mode() == Some(mode) { ", shown here" } else { "" };
    text.push_str(&format!("\nmode {}{state}: left after {:?}\n", mode.name, mode.lasts));
    let frame = |frame: &ModeFrame| format!("{} from {}", frame.frame, plan.bus(frame.from).name);
    let enter = mode.enter.as_ref().map(|enter| format!(", or by {}", frame(enter))).unwrap_or_default();
    let mut lines = vec![("entered", format!("by candor mode{enter}"))];
    lines.extend(mode.leave.as_ref().map(|leave| ("left", format!("by {}", frame(leave)))));
    lines.extend(mode.announce.as_ref().map(|announce| {
        let to: Vec<_> = announce.to.iter().map(|bus| plan.bus(*bus).name.as_str()).collect();
        let at_end = announce.at_end.as_ref().map_or_else(String::new, |frame| format!(", and {frame} at the end"));
        ("announced", format!("to {} by {} every {:?}{at_end}", to.join(", "), announce.frame, announce.every))
    }));
    for (label, meaning) in lines {
        text.push_str(&format!("        {label:<9} {meaning}\n"));
    }
    let Some(plan) = plan.in_mode(&mode.name) else { return };
    let placement = placement(&plan);
    let routes = (0..plan.routes().len()).map(RouteIndex);
    let only_here: Vec<_> = routes.filter(|&route| plan.route(route).mode.as_ref() == Some(&mode.name)).collect();
    for (position, &route) in only_here.iter().enumerate() {
        branch(text, &plan, route, placement.as_ref(), position + 1 == only_here.len());
    }
}

/// Other engines have no placement.
fn placement(plan: &Plan) -> Option<Placement> {
    (plan.engine() == Engine::Auto).then(|| Placement::of(plan, KernelAbilities::EVERY).ok()).flatten()
}

fn describe(plan: &Plan, index: BusIndex, bus: &Bus) -> String {
    let mut text = format!("{} ({}", bus.name, bus.interface);
    if let Some(rate) = bus.bitrate {
        text.push_str(&format!(", {rate}"));
    }
    if let Some(rate) = bus.data_bitrate {
        text.push_str(&format!(", data phase {rate}"));
    }
    if let Some(wait) = bus.restart_after {
        text.push_str(&format!(", restarted {wait:?} after bus-off"));
    }
    if let Some(peer) = bus.vxcan_peer {
        text.push_str(&format!(", vxcan pair with {}", plan.bus(peer).interface));
    }
    if let Some(link) = plan.link(index) {
        let tls = if link.tls.is_some() { " with TLS" } else { "" };
        text.push_str(&format!(", link: {}{tls} {}", link.protocol.name(), link.address()));
    }
    text.push(')');
    text
}

fn branch(text: &mut String, plan: &Plan, index: RouteIndex, placement: Option<&Placement>, is_last: bool) {
    let (fork, rail) = if is_last { ("└", " ") } else { ("├", "│") };
    let route = plan.route(index);
    let to = plan.bus(route.to);
    // Below the name of a mode, the bus is not the heading.
    let from = route.mode.as_ref().map_or_else(String::new, |_| format!("{} ", plan.bus(route.from).name));
    text.push_str(&format!("{fork}──{from}▶ {} ({}): route {}\n", to.name, to.interface, route.name));
    for (label, meaning) in labels::route(plan, index, placement) {
        text.push_str(&format!("{rail}       {label:<9} {meaning}\n"));
    }
}
